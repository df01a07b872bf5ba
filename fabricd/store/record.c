/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the records that callers put into the queue of the writer thread. A record and its texts
 * are in one block of memory. This file also has the functions for batches. */
#include "fabricd/store/record.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/wire/wire.h"

/* Highest LID of a lease that is written to the database; leases with a higher LID are dropped.
 * This is far above all unicast LIDs. It limits the bitset of LIDs in leases.c to 2 MiB. When
 * leases are read from the database, read_row() in leases.c accepts any LID of 32 bits. */
#define LID_MAX 0xffffff

static struct record *record_new(enum record_kind kind, size_t texts)
{
    struct record *r = calloc(1, sizeof(*r) + texts);
    if (r != NULL)
        r->kind = kind;
    return r;
}

struct record *record_of_event(const struct event *e)
{
    static_assert(offsetof(struct record, texts) % alignof(struct event_field) == 0,
                  "the fields of an event are at the beginning of texts");
    struct record *r = record_new(RECORD_EVENT, event_room(e));
    if (r != NULL)
        event_copy(&r->event, e, r->texts);
    return r;
}

static uint32_t count_hosts(const struct fab_fabric *f)
{
    uint32_t hosts = 0;
    for (uint32_t n = f->switch_count; n < f->node_count; n++)
        hosts += f->nodes[n].type == FAB_NODE_CA && !f->nodes[n].aggregation;
    return hosts;
}

struct record *record_of_view(const struct fab_view *v, const char *reason, uint64_t duration_us)
{
    const char *engine = v->target->engine;
    size_t engine_len = strnlen(engine, sizeof(v->target->engine));
    struct record *r = record_new(RECORD_SET, engine_len + strlen(reason) + 2);
    if (r == NULL)
        return NULL;
    r->set = (struct record_set){
        .generation = v->generation,
        .duration_us = duration_us,
        .unreachable_pairs = v->verdict.unreachable_pairs,
        .time_us = v->published_us != 0 ? (int64_t)v->published_us : clock_unix_us(),
        /* calloc has zeroed the memory, so the text ends with a NUL */
        .engine = memcpy(r->texts, engine, engine_len),
        .reason = strcpy(r->texts + engine_len + 1, reason),
        .deadlock_free = v->verdict.deadlock_free,
        .switches = v->fabric->switch_count,
        .hosts = count_hosts(v->fabric),
        .links = v->fabric->link_count,
    };
    return r;
}

struct record *record_of_port(enum record_kind kind, uint64_t node_guid, uint8_t port, bool there)
{
    struct record *r = record_new(kind, 0);
    if (r != NULL)
        r->port = (struct record_port){node_guid, clock_unix_us() / 1000000, port, there};
    return r;
}

struct record *record_of_isolated(const struct store_isolated *link, bool isolated)
{
    struct record *r = record_new(RECORD_ISOLATED, 0);
    if (r != NULL)
        r->isolated = (struct record_isolated){*link, isolated};
    return r;
}

struct record *record_of_drain(const struct store_drain *drain, bool there)
{
    struct store_drain *copy = drain_copy(drain);
    struct record *r = copy != NULL ? record_new(RECORD_DRAIN, 0) : NULL;
    if (r != NULL)
        r->drain = (struct record_drain){copy, there};
    else
        free(copy);
    return r;
}

struct record *record_of_inventory(const struct store_inventory *i)
{
    struct store_inventory *copy = inventory_copy(i);
    struct record *r = copy != NULL ? record_new(RECORD_INVENTORY, 0) : NULL;
    if (r != NULL)
        r->inventory = copy;
    else
        free(copy);
    return r;
}

struct record *record_of_pin(const struct fab_pin *pin, bool there)
{
    struct record *r = record_new(RECORD_PIN, 0);
    if (r != NULL)
        r->pin = (struct record_pin){*pin, there};
    return r;
}

struct record *record_of_baseline(struct fab_baseline *baseline)
{
    struct record *r = record_new(RECORD_BASELINE, 0);
    if (r != NULL)
        r->baseline = fab_discover_baseline_ref(baseline);
    return r;
}

struct record *record_of_reroute(const struct reroute *reroute)
{
    struct record *r = record_new(RECORD_REROUTE, 0);
    if (r != NULL)
        r->reroute = *reroute;
    return r;
}

struct record *record_of_meta(const char *key, const char *value)
{
    size_t len = strlen(key) + 1;
    struct record *r = record_new(RECORD_META, len + strlen(value) + 1);
    if (r == NULL)
        return NULL;
    r->meta.key = strcpy(r->texts, key);
    r->meta.value = strcpy(r->texts + len, value);
    return r;
}

struct record *record_of_hosts(const struct record_hosts *hosts)
{
    struct record *r = record_new(RECORD_HOSTS, 0);
    if (r != NULL)
        r->hosts = *hosts;
    return r;
}

struct record *record_of_forget(const struct record_forget *forget)
{
    struct record *r = record_new(RECORD_FORGET, 0);
    if (r != NULL)
        r->forget = *forget;
    return r;
}

struct record *record_of_snapshot(const struct record_snapshot *snapshot)
{
    size_t name = strlen(snapshot->name) + 1;
    struct record *r = record_new(RECORD_SNAPSHOT, name + strlen(snapshot->by) + 1);
    if (r == NULL)
        return NULL;
    r->snapshot = *snapshot;
    r->snapshot.name = strcpy(r->texts, snapshot->name);
    r->snapshot.by = strcpy(r->texts + name, snapshot->by);
    if (snapshot->fabric != NULL)
        r->snapshot.fabric = fab_fabric_ref(snapshot->fabric);
    return r;
}

struct record *record_of_audit(const struct audit_row *row)
{
    size_t room = 0;
    for (int i = 0; i < AUDIT_TEXTS; i++)
        room += row->text[i] != NULL ? strlen(row->text[i]) + 1 : 0;
    struct record *r = record_new(RECORD_AUDIT, room);
    if (r == NULL)
        return NULL;
    char *to = r->texts;
    r->audit = *row;
    for (int i = 0; i < AUDIT_TEXTS; i++)
        if (row->text[i] != NULL) {
            r->audit.text[i] = strcpy(to, row->text[i]);
            to += strlen(to) + 1;
        }
    return r;
}

struct record *record_of_policy(const struct store_policy *policy)
{
    const char *text[] = {policy->by, policy->reason, policy->hash, policy->text};
    size_t room = 0;
    for (int i = 0; i < 4; i++)
        room += strlen(text[i]) + 1;
    struct record *r = record_new(RECORD_POLICY, room);
    if (r == NULL)
        return NULL;
    char *to = r->texts;
    for (int i = 0; i < 4; i++) {
        text[i] = strcpy(to, text[i]);
        to += strlen(to) + 1;
    }
    r->policy = *policy;
    r->policy.by = text[0];
    r->policy.reason = text[1];
    r->policy.hash = text[2];
    r->policy.text = text[3];
    return r;
}

struct record *record_of_replica(const struct record_replica *request)
{
    struct record *r = calloc(1, sizeof(*r));
    if (r != NULL) {
        r->kind = RECORD_REPLICA;
        r->replica = *request;
    }
    return r;
}

/* ---- batches ---- */

void batch_init(struct batch *b)
{
    *b = (struct batch){0};
    STAILQ_INIT(&b->records);
}

void batch_clear(struct batch *b)
{
    struct record *r;
    while ((r = STAILQ_FIRST(&b->records)) != NULL) {
        STAILQ_REMOVE_HEAD(&b->records, next);
        if (r->kind == RECORD_BASELINE)
            fab_discover_baseline_unref(r->baseline);
        if (r->kind == RECORD_DRAIN)
            free(r->drain.drain);
        if (r->kind == RECORD_INVENTORY)
            free(r->inventory);
        if (r->kind == RECORD_SNAPSHOT)
            fab_fabric_unref(r->snapshot.fabric);
        if (r->kind == RECORD_REPLICA)
            store_rows_fini(&r->replica.received.rows);
        free(r);
    }
    free(b->leases);
    fab_view_unref(b->view);
    batch_init(b);
}

bool batch_is_empty(const struct batch *b)
{
    return !b->has_leases && b->view == NULL && b->record_count == 0;
}

void batch_put_leases(struct batch *b, struct fab_lease *leases, size_t count)
{
    free(b->leases);
    b->leases = leases;
    b->lease_count = count;
    b->has_leases = true;
}

void batch_put_record(struct batch *b, struct record *r)
{
    STAILQ_INSERT_TAIL(&b->records, r, next);
    b->record_count++;
    b->has_audit = b->has_audit || r->kind == RECORD_AUDIT;
}

void batch_move(struct batch *to, struct batch *from)
{
    if (from->has_leases)
        batch_put_leases(to, from->leases, from->lease_count);
    if (from->view != NULL) {
        fab_view_unref(to->view);
        to->view = from->view;
    }
    STAILQ_CONCAT(&to->records, &from->records);
    to->record_count += from->record_count;
    to->has_audit = to->has_audit || from->has_audit;
    batch_init(from);
}

void batch_move_part(struct batch *to, struct batch *from)
{
    struct record *r = STAILQ_FIRST(&from->records);
    to->leases = from->leases;
    to->lease_count = from->lease_count;
    to->has_leases = from->has_leases;
    to->view = from->view;
    from->leases = NULL;
    from->lease_count = 0;
    from->has_leases = false;
    from->view = NULL;
    if (to->has_leases || to->view != NULL || r == NULL)
        return;
    STAILQ_REMOVE_HEAD(&from->records, next);
    from->record_count--;
    batch_put_record(to, r);
}

static int compare_leases(const void *x, const void *y)
{
    const struct fab_lease *a = x, *b = y;
    return (a->port_guid > b->port_guid) - (a->port_guid < b->port_guid);
}

void batch_tidy_leases(struct batch *b)
{
    size_t kept = 0;
    if (!b->has_leases || b->lease_count == 0)
        return;
    qsort(b->leases, b->lease_count, sizeof(*b->leases), compare_leases);
    for (size_t i = 0; i < b->lease_count; i++) {
        const struct fab_lease *l = &b->leases[i];
        if (l->port_guid == 0 || l->lid == 0 || l->lid > LID_MAX || l->lmc > 7)
            continue;
        if (kept > 0 && b->leases[kept - 1].port_guid == l->port_guid)
            kept--;
        b->leases[kept++] = *l;
    }
    b->lease_count = kept;
}
