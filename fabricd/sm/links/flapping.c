/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts how often each link goes down (libfabmgr/health/damping.h), and holds down links that flap
 * too often. A held-down link is removed from every new snapshot even if it is up. Tables and
 * directed routes therefore avoid the link, and its ports stay in the Init state, in which they
 * carry no data. The link returns when it has been up for long enough, or when an operator releases
 * it.
 *
 * Only ISLs are held down, and at most flapping.max_excluded_percent of the ISLs of one switch. A
 * link is not held down if a part of the fabric would be unreachable without it, or if a leaf or
 * pod would have too few uplinks (libfabmgr/health/isolation.h). A flapping link of a host only
 * causes an event. Isolated links (isolation.c) are in the same list (list.c), and are removed from
 * snapshots in the same way (exclude.c).
 *
 * If a link goes down and comes up between two sweeps, its ports are in Init at the second sweep,
 * and the manager counts a flap. It cannot count flaps of a held-down link in this way, because the
 * ports of such a link are always in Init.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

/* If flapping links are not held down (flapping.hold_down is 0), a flapping link counts as steady
 * again when it has not flapped for this time, in seconds. */
#define STEADY_S 10
#define TOLD_AGAIN_US 1000000u

struct fab_damping_rule sm_flap_rule(const struct sm *s)
{
    const struct config_flapping *c = &s->in.config->flapping;
    uint64_t hold_down_s = c->hold_down_s ? c->hold_down_s : STEADY_S;
    uint64_t max_hold_down_s = c->max_hold_down_s > hold_down_s ? c->max_hold_down_s : hold_down_s;
    return (struct fab_damping_rule){.flaps = c->flaps,
                                     .within_us = c->within_s * UINT64_C(1000000),
                                     .hold_down_us = hold_down_s * 1000000,
                                     .max_hold_down_us = max_hold_down_s * 1000000};
}

/* ---- links that go down ---------------------------------------------------------------------- */

static void emit_flapping(struct sm *s, const struct sm_flap *e)
{
    const struct config_flapping *c = &s->in.config->flapping;
    uint64_t now = clock_now_us(), seconds = e->damping.hold_down_us / 1000000;
    if (now - s->links->reported_us > TOLD_AGAIN_US) {
        s->links->reported = 0;
        s->links->reported_us = now;
    }
    if (++s->links->reported == SM_EVENTS_A_ROUND + 1)
        event_emit(s->in.bus, links_flapping, .subject = "fabric");
    if (s->links->reported > SM_EVENTS_A_ROUND)
        return;
    event_emit(s->in.bus, link_flapping, EVENT_LINK(e), .flaps = e->damping.flaps,
               .held_down = e->isl && c->hold_down_s, .seconds = seconds);
}

void sm_flap_fell(struct sm *s, struct sm_flap *e)
{
    struct fab_damping_rule rule = sm_flap_rule(s);
    if (fab_health_damping_down(&e->damping, &rule, clock_now_us()))
        emit_flapping(s, e);
}

void sm_flap_note_down(struct sm *s, const struct fab_fabric *f, const struct sm_link *c)
{
    const struct fab_port *p = fab_fabric_port(f, c->port);
    struct sm_flap *e = sm_flap_find(s, f->nodes[p->node].guid, p->num);
    if (!e)
        e = sm_flap_add(s, f, c);
    if (e)
        sm_flap_fell(s, e);
}

static bool is_held(const struct sm *s, uint64_t guid, uint8_t port)
{
    const struct sm_flap *e = sm_flap_find(s, guid, port);
    return e && e->out;
}

void sm_flap_removed(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                     const struct fab_change *c)
{
    uint32_t a = fab_fabric_node_by_guid(old, c->guid_a);
    uint32_t b = fab_fabric_node_by_guid(old, c->guid_b);
    struct sm_link cable;
    if (a == FAB_NONE || b == FAB_NONE || is_held(s, c->guid_a, c->port_a))
        return;
    bool gone =
        (fab_fabric_node_is_switch(old, a) &&
         fab_fabric_node_by_guid(now, c->guid_a) == FAB_NONE) ||
        (fab_fabric_node_is_switch(old, b) && fab_fabric_node_by_guid(now, c->guid_b) == FAB_NONE);
    cable = (struct sm_link){.port = fab_fabric_port_id(old, a, c->port_a),
                             .peer = fab_fabric_port_id(old, b, c->port_b)};
    if (!gone)
        sm_flap_note_down(s, old, &cable);
}

enum sm_flap_probe sm_flap_probed(struct sm *s, uint32_t port, bool up)
{
    struct sm_flap *e = sm_flap_at(s, port);
    if (!e || !e->out || e->offence)
        return SM_FLAP_NOT_HELD;
    if (up == (e->damping.up_us != 0))
        return SM_FLAP_HELD;
    if (up)
        fab_health_damping_up(&e->damping, clock_now_us());
    else
        sm_flap_fell(s, e);
    return SM_FLAP_HELD_CHANGED;
}

bool sm_flap_bars(const struct sm *s, uint32_t port)
{
    const struct sm_flap *e = sm_flap_at(s, port);
    return e && sm_flap_is_barred(s, e);
}

void sm_flap_note_up(struct sm *s, const struct sm_link *c)
{
    struct sm_flap *e = sm_flap_at(s, c->port);
    if (e)
        fab_health_damping_up(&e->damping, clock_now_us());
}

/* ---- release --------------------------------------------------------------------------------- */

/* If the port probe does not bring the link back, the targeted sweep after the probe does. */
void sm_flap_read_ends(struct sm *s, const struct sm_flap *e)
{
    if (!e->out)
        return;
    sm_cause_set(s, "release of %.64s", e->place[0]);
    if (!sm_can_repair(s)) {
        sm_flap_suspect_ends(s, e);
        return;
    }
    sm_request_probe(s, e->guid[0]);
    sm_request_probe(s, e->guid[1]);
}

void sm_flap_leave(struct sm *s, const struct sm_flap *e, const char *cause)
{
    if (e->out)
        return;
    sm_cause_set(s, "%s of %.64s", cause, e->place[0]);
    if (sm_can_repair(s))
        sm_request_probe(s, e->guid[0]);
    else
        sm_flap_suspect_ends(s, e);
}

static void emit_released(struct sm *s, const struct sm_flap *e, const char *why)
{
    event_emit(s->in.bus, link_released, EVENT_LINK(e), .reason = why, .excluded = e->out,
               .flaps = e->damping.flaps);
}

void sm_flap_due(void *ctx)
{
    struct sm *s = ctx;
    uint64_t now = clock_now_us();
    for (uint32_t i = 0; i < s->links->count; i++) {
        struct sm_flap *e = &s->links->list[i];
        uint64_t due = fab_health_damping_due(&e->damping);
        if (due == 0 || due > now)
            continue;
        fab_health_damping_release(&e->damping, now);
        if (e->isolated || e->drain)
            continue;
        emit_released(s, e, "has been up for long enough");
        sm_flap_read_ends(s, e);
        e->out = false;
    }
    sm_flap_arm(s);
    sm_schedule(s);
}

void sm_flap_arm(struct sm *s)
{
    uint64_t now = clock_now_us(), first = 0;
    for (uint32_t i = 0; i < s->links->count; i++) {
        uint64_t due = fab_health_damping_due(&s->links->list[i].damping);
        if (due != 0 && (first == 0 || due < first))
            first = due;
    }
    if (first == 0)
        loop_timer_cancel(s->links->timer);
    else
        loop_timer_set(s->links->timer, first > now ? first - now : 0);
}

int sm_link_release_check(const struct sm *s, uint64_t node_guid, uint8_t port)
{
    const struct sm_flap *e = sm_flap_find(s, node_guid, port);
    if (sm_is_standby(s) || (s->model.view && !sm_is_master(s)))
        return FAB_E_DENIED;
    return e && (e->damping.held || e->isolated) ? FAB_OK : FAB_E_NOT_FOUND;
}

int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port, const char *by)
{
    char reason[128];
    struct sm_flap *e = sm_flap_find(s, node_guid, port);
    int r = sm_link_release_check(s, node_guid, port);
    if (r != FAB_OK)
        return r;
    fab_health_damping_reset(&e->damping);
    if (e->isolated)
        sm_isolate_end(s, e);
    snprintf(reason, sizeof(reason), "was released by %s", by);
    emit_released(s, e, reason);
    if (!sm_flap_is_barred(s, e)) {
        sm_flap_read_ends(s, e);
        e->out = false;
    }
    sm_flap_arm(s);
    sm_schedule(s);
    return FAB_OK;
}

/* ---- queries --------------------------------------------------------------------------------- */

static int64_t unix_of(uint64_t us)
{
    return clock_unix_us() - (int64_t)(clock_now_us() - us);
}

static struct sm_flapping describe(const struct sm_flap *e)
{
    const struct fab_damping *d = &e->damping;
    struct sm_flapping f = {.guid = {e->guid[0], e->guid[1]},
                            .port = {e->port[0], e->port[1]},
                            .flaps = d->flaps,
                            .flapping = d->held,
                            .held_down = d->held && e->out,
                            .up = d->up_us != 0,
                            .hold_us = d->held ? d->hold_down_us : 0,
                            .due_us =
                                fab_health_damping_due(d) ? unix_of(fab_health_damping_due(d)) : 0};
    memcpy(f.place, e->place, sizeof(f.place));
    f.flap_time_count = fab_health_damping_flap_count(d);
    for (uint32_t i = 0; i < f.flap_time_count; i++)
        f.flap_us[i] = unix_of(fab_health_damping_flap_time(d, i));
    return f;
}

uint32_t sm_flapping(const struct sm *s, struct sm_flapping *ret, uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->links->count; i++) {
        if (s->links->list[i].damping.flaps == 0)
            /* the list also has isolated and drained links that have never flapped */
            continue;
        if (n < max)
            ret[n] = describe(&s->links->list[i]);
        n++;
    }
    return n;
}

uint32_t sm_flap_recent(const struct sm *s, uint32_t *ret, uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = s->links->count; i > 0 && n < max; i--) {
        const struct sm_flap *e = &s->links->list[i - 1];
        uint32_t port =
            e->isl && e->damping.flaps > 0 ? sm_flap_up_at(s->model.fabric, e) : FAB_NONE;
        if (port != FAB_NONE)
            ret[n++] = port;
    }
    return n;
}

uint32_t sm_flap_held(const struct sm *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->links->count; i++)
        n += s->links->list[i].out && !s->links->list[i].isolated && !s->links->list[i].drain;
    return n;
}
