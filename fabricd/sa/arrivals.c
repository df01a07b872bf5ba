/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects the events that subscribers receive as reports (IBA 14.4.10-12, 14.2.5.1). These are: an
 * endport comes into service (notice 64) or goes out of service (notice 65); a multicast group is
 * created (notice 66) or deleted (notice 67); a device sends a trap.
 *
 * After each new view, the manager compares the endports in service, sorted by GUID, with those of
 * the view before. The list of endports (struct sa_ends) contains copies and no reference to a
 * view, because local repairs change a view in place only if nobody else refers to it.
 *
 * When a port leaves the fabric, the manager keeps its subscriptions for at least five minutes. A
 * port that was unresponsive only for a short time must keep its subscriptions, because the manager
 * asks a port to subscribe again (ClientReregister) only after its link came up.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sa/registry.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define AWAY_US 300000000
#define LOOK_EVERY_US 60000000
/* maximum number of subscriptions that one iteration of the event loop checks */
#define LOOK_A_TURN 4096
#define FULL_MEMBER 0x8000
/* time in us (200 ms) within which an equal notice counts as a repetition of the same trap */
#define REPEAT_US 200000

enum { GID_IN_SERVICE = 64, GID_OUT_OF_SERVICE = 65, GROUP_MADE = 66, GROUP_GONE = 67 };

/* ---- endports in service --------------------------------------------------------------------- */

static bool is_in_service(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    return fab_fabric_port_has_lid(f, port) && p->guid != 0 &&
           (p->num == 0 || p->peer != FAB_NONE || port == f->self_port);
}

static void take_keys(const struct fab_view *v, uint32_t port, uint16_t key[FAB_NOTICE_KEYS])
{
    uint32_t count, kept = 0;
    const uint16_t *keys = fab_target_pkeys_table_or_default(&v->target->pkeys, port, &count);
    for (uint32_t i = 0; i < count && kept < FAB_NOTICE_KEYS; i++)
        if (keys[i] != 0)
            key[kept++] = keys[i];
}

static int compare(const void *x, const void *y)
{
    const struct sa_end *a = x, *b = y;
    return (a->guid > b->guid) - (a->guid < b->guid);
}

/* Lists the endports in service, and ports 0 of switches in service, in ascending order of
 * GUIDs. */
static int list_ends(const struct fab_view *v, struct sa_ends *ret)
{
    const struct fab_fabric *f = v->fabric;
    size_t ports = f->switch_count;
    bool sorted = true;
    for (uint32_t n = f->switch_count; n < f->node_count; n++)
        ports += f->nodes[n].num_ports;
    *ret = (struct sa_ends){.end = fab_base_alloc_array(ports, sizeof(*ret->end))};
    if (!ret->end)
        return FAB_E_NOMEM;
    for (uint32_t n = 0; n < f->node_count; n++) {
        uint32_t first = f->nodes[n].first_port;
        uint32_t last = fab_fabric_node_is_switch(f, n) ? first : first + f->nodes[n].num_ports;
        for (uint32_t p = first; p <= last; p++) {
            if (!is_in_service(f, p))
                continue;
            struct sa_end *end = &ret->end[ret->count++];
            *end = (struct sa_end){.guid = fab_fabric_port(f, p)->guid};
            take_keys(v, p, end->key);
            sorted &= ret->count == 1 || end[-1].guid <= end->guid;
        }
    }
    if (!sorted)
        qsort(ret->end, ret->count, sizeof(*ret->end), compare);
    return FAB_OK;
}

/* ---- notices --------------------------------------------------------------------------------- */

static uint16_t own_lid(const struct fab_view *v, uint64_t *ret_guid)
{
    uint32_t self = v->fabric->self_port;
    *ret_guid = self != FAB_NONE ? fab_fabric_port(v->fabric, self)->guid : 0;
    return self != FAB_NONE ? (uint16_t)v->target->lids.base[self] : 0;
}

static struct fab_event_notice notice_of(const struct fab_view *v, uint16_t trap,
                                         const uint64_t gid[2])
{
    uint64_t guid;
    uint16_t lid = own_lid(v, &guid);
    return (struct fab_event_notice){.is = fab_registry_gid_notice(trap, gid, lid),
                                     .issuer = {v->policy.subnet_prefix, guid}};
}

static void report_end(struct sa *s, const struct fab_view *v, uint16_t trap,
                       const struct sa_end *end)
{
    const uint64_t gid[2] = {v->policy.subnet_prefix, end->guid};
    struct fab_event_notice n = notice_of(v, trap, gid);
    while (n.keys < FAB_NOTICE_KEYS && end->key[n.keys] != 0) {
        n.key[n.keys] = end->key[n.keys];
        n.keys++;
    }
    sa_report(s, &n);
}

static void report_changes(struct sa *s, const struct fab_view *v, const struct sa_ends *old,
                           const struct sa_ends *now)
{
    for (size_t i = 0, k = 0; i < old->count || k < now->count;) {
        uint64_t was = i < old->count ? old->end[i].guid : UINT64_MAX;
        uint64_t is = k < now->count ? now->end[k].guid : UINT64_MAX;
        if (i < old->count && (k == now->count || was < is)) {
            report_end(s, v, GID_OUT_OF_SERVICE, &old->end[i++]);
        } else if (k < now->count && (i == old->count || is < was)) {
            report_end(s, v, GID_IN_SERVICE, &now->end[k++]);
        } else {
            i++;
            k++;
        }
    }
}

void sa_arrivals_work(void *ctx)
{
    struct sa *s = ctx;
    struct sa_registry *r = s->registry;
    struct sa_ends now;
    struct fab_view *v = sm_view(s->in.sm);
    if (v == NULL || v->target == NULL || !sa_is_master(s))
        goto out;
    if (list_ends(v, &now) != FAB_OK) {
        log_warning("sa",
                    "out of memory: endports that came or left are not reported to subscribers");
        goto out;
    }
    if (r->knows_ends)
        report_changes(s, v, &r->ends, &now);
    free(r->ends.end);
    r->ends = now;
    r->knows_ends = true;
out:
    fab_view_unref(v);
}

void sa_arrivals_published(void *ctx)
{
    struct sa *s = ctx;
    if (!loop_timer_pending(s->registry->arrivals))
        loop_timer_set(s->registry->arrivals, 0);
}

/* ---- multicast groups, traps of devices ------------------------------------------------------ */

void sa_arrivals_group(void *ctx, const struct fab_wire_mc_member_record *group, bool made)
{
    struct sa *s = ctx;
    struct fab_view *v = sm_view(s->in.sm);
    if (v != NULL && v->target != NULL && sa_is_master(s)) {
        struct fab_event_notice n = notice_of(v, made ? GROUP_MADE : GROUP_GONE, group->mgid);
        /* a P_Key with the bit of full membership matches the P_Keys of full and of limited members
         */
        n.key[n.keys++] = group->pkey | FULL_MEMBER;
        sa_report(s, &n);
    }
    fab_view_unref(v);
}

static bool is_repeated(struct sa_registry *r, const struct fab_notice *n)
{
    uint64_t now = clock_now_us();
    bool repeated = r->last_us != 0 && now < r->last_us + REPEAT_US &&
                    fab_wire_attr_diff(&fab_wire_attr_notice, &r->last, n) == NULL;
    r->last = *n;
    r->last_us = now;
    return repeated;
}

bool sa_arrivals_wanted(void *ctx)
{
    const struct sa *s = ctx;
    return s->registry->subscriptions->count > 0;
}

void sa_arrivals_notice(void *ctx, const struct fab_notice *notice)
{
    struct sa *s = ctx;
    struct fab_view *v = sm_view(s->in.sm);
    const struct fab_lids *lids = v != NULL && v->target != NULL ? &v->target->lids : NULL;
    uint32_t lid = notice->issuer_lid;
    uint32_t port = lids != NULL && lid <= lids->top ? lids->owner[lid] : FAB_NONE;
    if (port != FAB_NONE && !is_repeated(s->registry, notice)) {
        struct fab_event_notice n = {
            .is = *notice,
            .issuer = {v->policy.subnet_prefix, fab_fabric_port(v->fabric, port)->guid}};
        take_keys(v, port, n.key);
        while (n.keys < FAB_NOTICE_KEYS && n.key[n.keys] != 0)
            n.keys++;
        sa_report(s, &n);
    }
    fab_view_unref(v);
}

/* ---- subscribers that left the fabric -------------------------------------------------------- */

static void look_at(struct sa *s, const struct fab_fabric *f, uint32_t slot)
{
    struct fab_subscription *x = &s->registry->subscriptions->slot[slot];
    uint64_t now = clock_now_us();
    uint32_t port = x->used ? fab_fabric_port_by_guid(f, x->record.subscriber_gid[1]) : FAB_NONE;
    if (port != FAB_NONE && is_in_service(f, port))
        x->away_us = 0;
    else if (x->used && x->away_us == 0)
        x->away_us = now;
    else if (x->used && now >= x->away_us + AWAY_US)
        sa_subscription_drop(s, slot, "the port left the fabric");
}

void sa_arrivals_absent(void *ctx)
{
    struct sa *s = ctx;
    struct sa_registry *r = s->registry;
    struct fab_view *v = sa_is_master(s) ? sm_view(s->in.sm) : NULL;
    for (uint32_t i = 0; v != NULL && i < LOOK_A_TURN && r->absent_at < r->subscriptions->slots;
         i++)
        look_at(s, v->fabric, r->absent_at++);
    bool over = v == NULL || r->absent_at >= r->subscriptions->slots;
    if (over)
        r->absent_at = 0;
    loop_timer_set(r->absent, over ? LOOK_EVERY_US : 0);
    fab_view_unref(v);
}
