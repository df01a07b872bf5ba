/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes records as rows of the database: events, tables that were published, reroutes, decisions
 * of operators, and registrations of hosts (hosts.c).
 */
#include "fabricd/store/rows.h"

#include <stdlib.h>

#include "fabricd/store/fields.h"
#include "fabricd/store/hosts.h"
#include "fabricd/store/places.h"
#include "fabricd/store/snapshots.h"
#include "fabricd/store/tables.h"
#include "libfabmgr/base/status.h"

/* how many of the newest rows stay in table_set, and in the table of reroutes */
#define SETS_KEPT 10000
/* maximum size in bytes of the column event.places of all events; older events lose their places */
#define PLACES_MOST 16777216

static const char *severity_name(enum event_severity severity)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    return names[(unsigned)severity < 4 ? severity : EVENT_ERROR];
}

static int put_event(struct sql *q, const struct event *e)
{
    struct fab_text fields = {0};
    uint8_t *places = NULL;
    size_t size = 0;
    fields_write(e, &fields);
    int status = fields.status;
    if (status == FAB_OK)
        status = places_pack(e->places, e->place_count, &places, &size);
    if (status == FAB_OK)
        status = sql_run(q, SQL_EVENT_PUT, "iittttgitb", (int64_t)e->seq, e->time_us,
                         severity_name(e->severity), e->type, e->subject, e->message, e->guid,
                         (int64_t)e->port, fab_base_text_get(&fields), places, (int)size);
    if (status == FAB_OK && size > 0)
        status = sql_run(q, SQL_PLACES_TRIM, "i", (int64_t)PLACES_MOST);
    free(places);
    fab_base_text_fini(&fields);
    return status;
}

static int put_set(struct sql *q, const struct record_set *s)
{
    int status = sql_run(q, SQL_SET_PUT, "iititiiiii", (int64_t)s->generation, s->time_us,
                         s->engine, (int64_t)s->duration_us, s->reason, (int64_t)s->deadlock_free,
                         (int64_t)s->unreachable_pairs, (int64_t)s->switches, (int64_t)s->hosts,
                         (int64_t)s->links);
    if (status == FAB_OK && s->generation > SETS_KEPT)
        status = sql_run(q, SQL_SET_TRIM, "i", (int64_t)(s->generation - SETS_KEPT));
    return status;
}

static int put_port(struct sql *q, const struct record_port *p, enum sql_id put, enum sql_id delete)
{
    if (p->there)
        return sql_run(q, put, "gii", p->node_guid, (int64_t)p->port, p->since);
    return sql_run(q, delete, "gi", p->node_guid, (int64_t)p->port);
}

static int put_isolated(struct sql *q, const struct record_isolated *i)
{
    const struct store_isolated *l = &i->link;
    if (!i->isolated)
        return sql_run(q, SQL_ISOLATED_DELETE, "gi", l->guid[0], (int64_t)l->port[0]);
    return sql_run(q, SQL_ISOLATED_PUT, "gigittiit", l->guid[0], (int64_t)l->port[0], l->guid[1],
                   (int64_t)l->port[1], l->name[0], l->name[1], l->since_us,
                   (int64_t)(l->offence ? 2 : l->operated), l->cause);
}

static int put_pin(struct sql *q, const struct record_pin *p)
{
    if (!p->there)
        return sql_run(q, SQL_PIN_DELETE, "g", p->pin.guid);
    return sql_run(q, SQL_PIN_PUT, "gtit", p->pin.guid, p->pin.name, p->pin.since_us, p->pin.by);
}

/* Replaces the stored baseline, in the transaction of the batch. */
static int put_baseline(struct sql *q, const struct fab_baseline *b)
{
    size_t count;
    const struct fab_approved *a = fab_discover_baseline_list(b, &count);
    int status = sql_run(q, SQL_APPROVED_EMPTY, "");
    for (size_t i = 0; i < count && status == FAB_OK; i++)
        status =
            sql_run(q, SQL_APPROVED_PUT, "gixxiitit", a[i].place.guid, (int64_t)a[i].place.port,
                    a[i].place.port_guid, a[i].place.near_guid, (int64_t)a[i].place.near_port,
                    (int64_t)a[i].place.is_switch, a[i].name, a[i].since_us, a[i].by);
    return status == FAB_OK ? sql_run(q, SQL_META_PUT, "tt", "baseline", b != NULL ? "1" : "0")
                            : status;
}

static int put_reroute(struct sql *q, const struct reroute *r)
{
    int status =
        sql_run(q, SQL_REROUTE_PUT, "iittiiiiiiiiiiiiiii", (int64_t)r->generation, r->time_us,
                r->cause, r->engine, (int64_t)r->known_us, (int64_t)r->computed_us,
                (int64_t)r->proved_us, (int64_t)r->first_write_us, (int64_t)r->last_write_us,
                (int64_t)r->entries, (int64_t)r->blocks, (int64_t)r->switches, (int64_t)r->failed,
                (int64_t)r->links_lost, (int64_t)r->links_gained, (int64_t)r->nodes_lost,
                (int64_t)r->nodes_gained, (int64_t)r->lost_pairs, (int64_t)r->lost_us);
    if (status == FAB_OK && r->generation > SETS_KEPT)
        status = sql_run(q, SQL_REROUTE_TRIM, "i", (int64_t)(r->generation - SETS_KEPT));
    return status;
}

int rows_write(struct sql *q, const struct record *r)
{
    switch (r->kind) {
    case RECORD_EVENT:
        return put_event(q, &r->event);
    case RECORD_SET:
        return put_set(q, &r->set);
    case RECORD_DISABLED:
        return put_port(q, &r->port, SQL_DISABLED_PUT, SQL_DISABLED_DELETE);
    case RECORD_EXEMPT:
        return put_port(q, &r->port, SQL_EXEMPT_PUT, SQL_EXEMPT_DELETE);
    case RECORD_ISOLATED:
        return put_isolated(q, &r->isolated);
    case RECORD_DRAIN:
        return drain_write(q, r->drain.drain, r->drain.there);
    case RECORD_PIN:
        return put_pin(q, &r->pin);
    case RECORD_BASELINE:
        return put_baseline(q, r->baseline);
    case RECORD_REROUTE:
        return put_reroute(q, &r->reroute);
    case RECORD_HOSTS:
        return hosts_write(q, &r->hosts);
    case RECORD_FORGET:
        return registry_forget(q, &r->forget);
    case RECORD_SNAPSHOT:
        return snapshot_write(q, &r->snapshot);
    case RECORD_INVENTORY:
        return inventory_write(q, r->inventory);
    case RECORD_POLICY:
        return policy_write(q, &r->policy);
    case RECORD_META:
        return sql_run(q, SQL_META_PUT, "tt", r->meta.key, r->meta.value);
    case RECORD_AUDIT:
    case RECORD_REPLICA:
        break;
    }
    return FAB_E_INVAL;
}
