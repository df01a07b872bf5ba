/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows the progress of drains: finds over which links table entries still lead, which links of
 * ended drains are in the routes again, and which ports must carry no more traffic.
 */
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/links/drain.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/health/drain.h"
#include "libfabmgr/plan/plan.h"

/* time in us after the end of a drain at which the drain is forgotten, even if routes do not use
 * all of its links again */
#define ENDING_US 60000000u

uint64_t sm_drain_digest(const struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_target *t = s->model.target;
    uint64_t sum = 0;
    if (!f || !t || t->lft.switch_count != f->switch_count)
        return 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint64_t h = f->nodes[sw].guid;
        for (uint32_t lid = 1; lid <= t->lids.top && lid <= t->lft.top; lid++)
            h = (h ^ fab_target_lft_at(&t->lft, sw, lid)) * UINT64_C(0x100000001b3);
        sum += h * UINT64_C(0x9e3779b97f4a7c15);
    }
    return sum ? sum : 1;
}

static uint32_t links_of(const struct sm *s, const struct sm_drain *d)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->links->count; i++)
        n += sm_drain_has(&s->links->list[i], d);
    return n;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Returns true if an entry that the switch holds leads to this port, or if an LFT block of the
 * switch is not known. */
static bool has_entry(const struct sm *s, uint64_t guid, uint8_t num)
{
    const struct fab_observed *o = &s->model.observed;
    const struct fab_fabric *f = s->model.fabric;
    uint32_t sw = fab_fabric_node_by_guid(f, guid), top = s->model.target->lids.top;
    if (sw == FAB_NONE || !fab_fabric_node_is_switch(f, sw))
        return false;
    if (sw >= o->lft.switch_count || top > o->lft.top)
        return true;
    for (uint32_t lid = 1; lid <= top; lid++)
        if (!fab_plan_observed_is_known(o, sw, lid / FAB_LFT_BLOCK) ||
            fab_target_lft_at(&o->lft, sw, lid) == num)
            return true;
    return false;
}

static uint32_t count_used(const struct sm *s, const struct sm_drain *d)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < s->links->count; i++) {
        const struct sm_flap *e = &s->links->list[i];
        if (sm_drain_has(e, d) && !e->returning)
            used += !e->out || has_entry(s, e->guid[0], e->port[0]) ||
                    has_entry(s, e->guid[1], e->port[1]);
    }
    return used;
}

/* Adds to the drain the links that have come to belong to it after its start: links over new
 * cables, and links of other drains that have ended. Adds none if a part of the fabric would then
 * be cut off. */
static void extend(struct sm *s, struct sm_drain *d)
{
    struct fab_drain now = {0};
    uint32_t added = 0;
    if (d->info.kind == SM_DRAIN_LINK || d->info.kind == SM_DRAIN_HOST ||
        sm_drain_cover(s->model.view, s->model.fabric, d->node, d->nodes, NULL, &now) != FAB_OK)
        return;
    d->info.hosts = now.hosts;
    if (now.first_cut == FAB_NONE &&
        sm_drain_add_links(s, d, now.out, now.out_count, &added) != FAB_OK)
        log_error("sm", "too many links: the drain of %s %s is not complete",
                  sm_drain_kind_name[d->info.kind], d->info.name);
    if (added > 0) {
        sm_drain_keep(s, d);
        sm_drain_leave_links(s, d);
        sm_schedule(s);
    }
    fab_health_drain_fini(&now);
}

static bool is_back(const struct sm *s, const struct sm_flap *e)
{
    return sm_flap_is_barred(s, e) || sm_flap_up_at(s->model.fabric, e) != FAB_NONE;
}

/* Removes from an ended drain the links that are back in the snapshot or that routes avoid for
 * another reason; ENDING_US after the end of the drain, removes all links. Returns true if no link
 * is left. */
static bool is_over(struct sm *s, const struct sm_drain *d)
{
    bool late = clock_now_us() - d->ended_us > ENDING_US, over = true;
    for (uint32_t i = 0; i < s->links->count; i++) {
        struct sm_flap *e = &s->links->list[i];
        if (sm_drain_has(e, d) && (late || is_back(s, e)))
            e->drain = e->returning = 0;
        over &= !sm_drain_has(e, d);
    }
    return over;
}

/* Called when the last drain has ended. The tables should then be the same as before the first
 * drain. If they are not, for example because an engine has run meanwhile, requests that an engine
 * computes them again. */
static void restore(struct sm *s)
{
    uint64_t now = sm_drain_digest(s);
    if (now == 0 || now == s->links->drains.before)
        return;
    log_info("sm", "all drains have ended: an engine computes the tables again");
    sm_request(s, SM_REQUEST_REROUTE);
    sm_schedule(s);
}

void sm_drain_settle(struct sm *s)
{
    struct sm_drains *all = &s->links->drains;
    const struct sm_model *m = &s->model;
    bool any = all->count > 0;
    if (!any || !m->fabric || !m->view || !m->target)
        return;
    for (uint32_t i = all->count; i-- > 0;) {
        struct sm_drain *d = &all->list[i];
        if (d->info.state == SM_DRAIN_ENDING) {
            if (is_over(s, d))
                sm_drain_drop(s, d);
            continue;
        }
        extend(s, d);
        d->info.links = links_of(s, d);
        d->info.used = count_used(s, d);
        if (d->info.used > 0)
            d->info.state = SM_DRAIN_MOVING;
        else if (d->info.state == SM_DRAIN_MOVING)
            d->info.state = SM_DRAIN_DRAINING;
    }
    if (all->count == 0)
        restore(s);
}

void sm_drain_round_ended(struct sm *s, int status)
{
    if (status == FAB_OK && sm_is_master(s))
        sm_drain_settle(s);
}

void sm_drain_taken(struct sm *s, const struct sm_flap *e, bool was_out)
{
    const struct sm_drain *d = sm_drain_find(s, e->drain);
    char subject[SM_DRAIN_NAME_LEN + 8];
    if (was_out && !e->out && !e->returning && d)
        event_emit(s->in.bus, drain_suspended, EVENT_LINK(e),
                   .drain = sm_drain_subject(d, subject, sizeof(subject)));
}

/* ---- readings of counters -------------------------------------------------------------------- */

static void add_port(struct sm_drain_port *ret, uint32_t max, uint32_t *n, uint64_t guid,
                     uint8_t port)
{
    if (*n < max)
        ret[*n] = (struct sm_drain_port){guid, port};
    *n += 1;
}

/* For a drained switch, adds its ports to hosts; for a drained adapter, adds the switch ports at
 * the other end of its links. */
static void add_host_ports(const struct fab_fabric *f, uint64_t guid, struct sm_drain_port *ret,
                           uint32_t max, uint32_t *n)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    for (uint32_t i = 1; node != FAB_NONE && i <= f->nodes[node].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, node, (uint8_t)i),
                 far = fab_fabric_peer_node(f, port);
        if (far == FAB_NONE)
            continue;
        if (!fab_fabric_node_is_switch(f, node))
            add_port(ret, max, n, f->nodes[far].guid,
                     fab_fabric_port(f, fab_fabric_port(f, port)->peer)->num);
        else if (!fab_fabric_node_is_switch(f, far))
            add_port(ret, max, n, guid, (uint8_t)i);
    }
}

uint32_t sm_drain_ports(const struct sm *s, uint32_t id, struct sm_drain_port *ret, uint32_t max)
{
    const struct sm_drain *d = sm_drain_find(s, id);
    const struct fab_fabric *f = s->model.fabric;
    uint32_t n = 0;
    if (!d || !f || (d->info.state != SM_DRAIN_DRAINING && d->info.state != SM_DRAIN_DRAINED))
        return 0;
    for (uint32_t i = 0; i < s->links->count; i++)
        for (int end = 0; sm_drain_has(&s->links->list[i], d) && end < 2; end++)
            if (fab_fabric_node_by_guid(f, s->links->list[i].guid[end]) != FAB_NONE)
                add_port(ret, max, &n, s->links->list[i].guid[end], s->links->list[i].port[end]);
    for (uint32_t i = 0; !d->info.force && i < d->nodes; i++)
        add_host_ports(f, d->node[i], ret, max, &n);
    return n;
}

void sm_drain_measured(struct sm *s, uint32_t id, const char *busy, uint64_t bytes_per_s)
{
    struct sm_drain *d = sm_drain_find(s, id);
    char subject[SM_DRAIN_NAME_LEN + 8];
    if (!d || d->info.state == SM_DRAIN_MOVING || d->info.state == SM_DRAIN_ENDING)
        return;
    snprintf(d->info.busy, sizeof(d->info.busy), "%s", busy);
    d->info.busy_bytes_per_s = bytes_per_s;
    if (busy[0] != '\0') {
        d->info.state = SM_DRAIN_DRAINING;
        return;
    }
    if (d->info.state == SM_DRAIN_DRAINED)
        return;
    d->info.state = SM_DRAIN_DRAINED;
    event_emit(s->in.bus, drained, .subject = sm_drain_subject(d, subject, sizeof(subject)),
               .by = d->info.by, .links = d->info.links, .forced = d->info.force);
}
