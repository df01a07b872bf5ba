/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts how often each link goes down (libfabmgr/health/damping.h), and holds down links that flap
 * too often. A held-down link is removed from every new snapshot even if it is up. Tables and
 * directed routes therefore avoid the link, and its ports stay in the Init state, in which they
 * carry no data. The link returns when it has been up for long enough, or when an operator releases
 * it.
 *
 * Only ISLs are held down, and at most flapping.max_excluded_percent of the ISLs of one switch. A
 * link is never held down if a part of the fabric would be unreachable without it
 * (libfabmgr/health/isolation.h). A flapping link of a host only causes an event. Isolated links
 * (isolation.c) are in the same list, and are removed from snapshots in the same way.
 *
 * If a link goes down and comes up between two sweeps, the second sweep finds its ports in Init and
 * counts the flap. The ports of a held-down link are always in Init. So a flap of such a link
 * between two port probes is not counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

/* Maximum number of links whose flaps are remembered. */
#define FLAPS_MOST 1024
/* The setting hold_down may be 0. A flapping link is then reported as steady when it has not
 * flapped for this many seconds. */
#define STEADY_S 10
#define TOLD_AGAIN_US 1000000u

static struct fab_damping_rule rule_of(const struct sm *s)
{
    const struct config_flapping *c = &s->in.config->flapping;
    uint64_t hold_down_s = c->hold_down_s ? c->hold_down_s : STEADY_S;
    uint64_t max_hold_down_s = c->max_hold_down_s > hold_down_s ? c->max_hold_down_s : hold_down_s;
    return (struct fab_damping_rule){.flaps = c->flaps,
                                     .within_us = c->within_s * UINT64_C(1000000),
                                     .hold_down_us = hold_down_s * 1000000,
                                     .max_hold_down_us = max_hold_down_s * 1000000};
}

/* ---- the list -------------------------------------------------------------------------------- */

static bool ends_at(const struct sm_flap *e, uint64_t guid, uint8_t port)
{
    return (e->guid[0] == guid && e->port[0] == port) || (e->guid[1] == guid && e->port[1] == port);
}

struct sm_flap *sm_flap_find(const struct sm *s, uint64_t guid, uint8_t port)
{
    for (uint32_t i = 0; i < s->links->count; i++)
        if (ends_at(&s->links->list[i], guid, port))
            return &s->links->list[i];
    return NULL;
}

static struct sm_flap *flap_at(const struct sm *s, uint32_t port)
{
    const struct fab_fabric *f = s->model.fabric;
    return sm_flap_find(s, f->nodes[fab_fabric_port(f, port)->node].guid,
                        fab_fabric_port(f, port)->num);
}

/* Returns whether routes must avoid the link, even while it is up. */
static bool is_barred(const struct sm *s, const struct sm_flap *e)
{
    return e->isolated || (e->damping.held && e->isl && s->in.config->flapping.hold_down_s > 0);
}

static void drop_quiet(struct sm *s)
{
    struct fab_damping_rule rule = rule_of(s);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->links->count; i++)
        if (s->links->list[i].out || s->links->list[i].isolated ||
            !fab_health_damping_is_clear(&s->links->list[i].damping, &rule, clock_now_us()))
            s->links->list[kept++] = s->links->list[i];
    s->links->count = kept;
}

/* Adds an empty entry to the list of links. NULL: the list is full, or memory ran out. */
struct sm_flap *sm_flap_room(struct sm *s)
{
    if (s->links->count == s->links->room)
        drop_quiet(s);
    if (s->links->count < s->links->room)
        return &s->links->list[s->links->count++];
    uint32_t more = s->links->room ? s->links->room * 2 : 16;
    struct sm_flap *list =
        more <= FLAPS_MOST ? reallocarray(s->links->list, more, sizeof(*list)) : NULL;
    if (!list)
        return NULL;
    s->links->list = list;
    s->links->room = more;
    return &list[s->links->count++];
}

struct sm_flap *sm_flap_add(struct sm *s, const struct fab_fabric *f, const struct sm_link *c)
{
    const uint32_t end[2] = {c->port, c->peer};
    struct sm_flap *e = sm_flap_room(s);
    if (!e)
        return NULL;
    *e = (struct sm_flap){.isl = true};
    for (int i = 0; i < 2; i++) {
        const struct fab_port *p = fab_fabric_port(f, end[i]);
        e->guid[i] = f->nodes[p->node].guid;
        e->port[i] = p->num;
        e->isl &= fab_fabric_node_is_switch(f, p->node);
        sm_port_name(f, end[i], e->place[i]);
    }
    return e;
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

static void fell(struct sm *s, struct sm_flap *e)
{
    struct fab_damping_rule rule = rule_of(s);
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
        fell(s, e);
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
    struct sm_flap *e = flap_at(s, port);
    if (!e || !e->out || e->offence)
        return SM_FLAP_NOT_HELD;
    if (up == (e->damping.up_us != 0))
        return SM_FLAP_HELD;
    if (up)
        fab_health_damping_up(&e->damping, clock_now_us());
    else
        fell(s, e);
    return SM_FLAP_HELD_CHANGED;
}

bool sm_flap_bars(const struct sm *s, uint32_t port)
{
    const struct sm_flap *e = flap_at(s, port);
    return e && is_barred(s, e);
}

void sm_flap_note_up(struct sm *s, const struct sm_link *c)
{
    struct sm_flap *e = flap_at(s, c->port);
    if (e)
        fab_health_damping_up(&e->damping, clock_now_us());
}

/* ---- excluding links from snapshots ---------------------------------------------------------- */

static uint32_t end_of(const struct fab_fabric *f, const struct sm_flap *e, int i)
{
    uint32_t node = fab_fabric_node_by_guid(f, e->guid[i]);
    return node != FAB_NONE && e->port[i] <= f->nodes[node].num_ports
               ? fab_fabric_port_id(f, node, e->port[i])
               : FAB_NONE;
}

uint32_t sm_flap_up_at(const struct fab_fabric *f, const struct sm_flap *e)
{
    uint32_t a = end_of(f, e, 0), b = end_of(f, e, 1);
    return a != FAB_NONE && b != FAB_NONE && fab_fabric_port(f, a)->peer == b &&
                   fab_fabric_port_is_up(f, a)
               ? a
               : FAB_NONE;
}

static bool is_in_init(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->info.port_state == FAB_STATE_INIT;
}

static bool is_in_init_again(const struct fab_fabric *was, const struct fab_fabric *now,
                             uint32_t port)
{
    return fab_fabric_port(was, port)->info.port_state == FAB_STATE_ACTIVE && is_in_init(now, port);
}

/* Counts the flaps of ISLs that went down and came up between two sweeps: such a link is up, but
 * one of its ports, which was in state Active, is in Init. Few ports are in Init, so the function
 * tests this first. It counts no flaps of a time in which the manager had no port: its host, and
 * with it all switches, may have been restarted. */
static void note_unseen_flaps(struct sm *s, const struct fab_fabric *now)
{
    const struct fab_fabric *was = s->model.fabric;
    if (!was || !s->model.view || s->links->blind || was->port_count != now->port_count)
        return;
    for (uint32_t p = 0; p < now->port_count; p++) {
        uint32_t peer = fab_fabric_port(now, p)->peer;
        if (peer == FAB_NONE || peer < p || (!is_in_init(now, p) && !is_in_init(now, peer)))
            continue;
        if (fab_fabric_port(was, p)->peer != peer ||
            was->nodes[fab_fabric_port(was, p)->node].guid !=
                now->nodes[fab_fabric_port(now, p)->node].guid ||
            !fab_fabric_isl_is_up(was, p) || !fab_fabric_isl_is_up(now, p))
            continue;
        if (is_in_init_again(was, now, p) || is_in_init_again(was, now, peer))
            sm_flap_note_down(s, now, &(struct sm_link){.port = p, .peer = peer});
    }
}

void sm_flap_set_blind(struct sm *s, bool blind)
{
    s->links->blind = blind;
}

/* Returns whether a port of the link is now connected to another port. If so, the link of this
 * entry no longer exists. */
static bool is_elsewhere(const struct fab_fabric *f, const struct sm_flap *e)
{
    uint32_t a = end_of(f, e, 0), b = end_of(f, e, 1);
    return (a != FAB_NONE && fab_fabric_port(f, a)->peer != FAB_NONE &&
            fab_fabric_port(f, a)->peer != b) ||
           (b != FAB_NONE && fab_fabric_port(f, b)->peer != FAB_NONE &&
            fab_fabric_port(f, b)->peer != a);
}

/* Returns whether the link is down and must stay excluded, because it is isolated or held down. It
 * may come up between two sweeps, and routes must not use it then. */
static bool stays_out(const struct sm_flap *e)
{
    return e->damping.up_us == 0 && (e->isolated || (e->out && e->damping.held));
}

/* Returns whether the snapshot shows the port as LinkUp and without a peer, as sm_link_exclude
 * leaves the ports of an excluded link. */
static bool is_as_excluded(const struct fab_fabric *f, uint32_t port)
{
    return port != FAB_NONE && fab_fabric_port(f, port)->peer == FAB_NONE &&
           fab_fabric_port(f, port)->info.phys_state == FAB_PHYS_LINKUP;
}

/* Returns true if the state of an excluded link that was up is not known now. Either the sweep did
 * not read both its nodes, or one of these nodes has left the fabric. */
static bool unseen(const struct fab_fabric *f, const struct sm_flap *e)
{
    uint32_t a = end_of(f, e, 0), b = end_of(f, e, 1);
    return e->out && e->damping.up_us != 0 && (is_as_excluded(f, a) || a == FAB_NONE) &&
           (is_as_excluded(f, b) || b == FAB_NONE);
}

/* Updates all entries of the list from the new snapshot. at[] has an element for each entry: a port
 * of its link, if the link is up and must be excluded; otherwise FAB_NONE. */
static void note_all(struct sm *s, const struct fab_fabric *f, uint32_t *at)
{
    for (uint32_t i = 0; i < s->links->count; i++) {
        struct sm_flap *e = &s->links->list[i];
        uint32_t port = sm_flap_up_at(f, e);
        at[i] = FAB_NONE;
        if (unseen(f, e))
            continue;
        if (e->offence)
            /* The link of an isolated host stays in the snapshot, because no route uses it and its
             * port is disabled. */
            continue;
        if (is_elsewhere(f, e)) {
            fab_health_damping_reset(&e->damping);
            sm_isolate_moved(s, e);
        }
        if (port != FAB_NONE)
            fab_health_damping_up(&e->damping, clock_now_us());
        else if (e->damping.up_us)
            fell(s, e);
        if (is_barred(s, e))
            at[i] = port;
    }
}

void sm_flap_candidates(const struct sm *s, const struct fab_fabric *f, const uint32_t *at,
                        struct fab_isolation_link *link, uint32_t *entry, size_t *ret_count)
{
    size_t n = 0;
    for (int former = 1; former >= 0; former--)
        for (uint32_t i = 0; i < s->links->count; i++) {
            const struct sm_flap *e = &s->links->list[i];
            bool away = at[i] == FAB_NONE;
            if (e->offence || e->out != (former == 1) || (away && !stays_out(e) && !unseen(f, e)))
                continue;
            link[n].port = at[i];
            for (int end = 0; end < 2; end++)
                link[n].node[end] = fab_fabric_node_by_guid(f, e->guid[end]);
            entry[n++] = i;
        }
    *ret_count = n;
}

/* Decides which of the links in at[] (see note_all) are excluded. An element becomes FAB_NONE if
 * its link must stay in use: a part of the fabric needs it, or too many links of a switch would be
 * excluded. */
static int choose(struct sm *s, const struct fab_fabric *f, uint32_t *at)
{
    size_t count = 0, room = s->links->count + 1u;
    struct fab_isolation_link *cable = calloc(room, sizeof(*cable));
    struct fab_isolation *got = calloc(room, sizeof(*got));
    uint32_t *entry = calloc(room, sizeof(*entry));
    int r = cable && got && entry ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK)
        sm_flap_candidates(s, f, at, cable, entry, &count);
    if (r == FAB_OK && count > 0)
        r = fab_health_isolation_choose(f, s->in.config->flapping.max_excluded_percent, cable,
                                        count, got);
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        if (got[i].verdict != FAB_ISOLATION_ALLOWED)
            at[entry[i]] = FAB_NONE;
    free(cable);
    free(got);
    free(entry);
    return r;
}

int sm_link_exclude(struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    const struct fab_port_info a = fab_fabric_port(f, port)->info,
                               b = fab_fabric_port(f, peer)->info;
    int r = fab_fabric_remove_link(f, port);
    if (r == FAB_OK)
        r = fab_fabric_set_port_info(f, port, &a);
    return r == FAB_OK ? fab_fabric_set_port_info(f, peer, &b) : r;
}

static void suspect_ends(struct sm *s, const struct sm_flap *e)
{
    sm_request_target(s, e->guid[0]);
    sm_request_target(s, e->guid[1]);
}

/* If the new snapshot lacks nodes, requests a targeted sweep of the nodes at both ends of all
 * excluded links. The missing nodes may be reachable over these links. */
static void suspect_excluded(struct sm *s, const struct fab_fabric *now)
{
    const struct fab_fabric *was = s->model.fabric;
    if (!was || now->node_count >= was->node_count)
        return;
    for (uint32_t i = 0; i < s->links->count; i++)
        if (s->links->list[i].out && unseen(now, &s->links->list[i]))
            suspect_ends(s, &s->links->list[i]);
}

static int exclude(struct sm *s, struct fab_fabric *f, struct sm_flap *e, uint32_t at)
{
    bool was = e->out;
    e->out = at != FAB_NONE || stays_out(e) || unseen(f, e);
    int r = at != FAB_NONE ? sm_link_exclude(f, at) : FAB_OK;
    if (e->isolated)
        sm_isolate_taken(s, e, was);
    return r;
}

int sm_flap_exclude(struct sm *s, struct fab_fabric *f)
{
    note_unseen_flaps(s, f);
    if (s->links->count == 0)
        return FAB_OK;
    uint32_t *at = calloc(s->links->count, sizeof(*at));
    if (!at)
        return FAB_E_NOMEM;
    note_all(s, f, at);
    int r = choose(s, f, at);
    if (r == FAB_OK)
        suspect_excluded(s, f);
    for (uint32_t i = 0; r == FAB_OK && i < s->links->count; i++)
        r = exclude(s, f, &s->links->list[i], at[i]);
    free(at);
    sm_flap_arm(s);
    return r;
}

/* ---- release --------------------------------------------------------------------------------- */

/* Requests a port probe or a targeted sweep of both ends of an excluded link that is released now.
 * If the probe cannot bring the link back, the targeted sweep after the probe does. */
static void read_ends_of(struct sm *s, const struct sm_flap *e)
{
    if (!e->out)
        return;
    sm_cause_set(s, "release of %.64s", e->place[0]);
    if (!sm_can_repair(s)) {
        suspect_ends(s, e);
        return;
    }
    sm_request_probe(s, e->guid[0]);
    sm_request_probe(s, e->guid[1]);
}

static void emit_released(struct sm *s, const struct sm_flap *e, const char *why)
{
    event_emit(s->in.bus, link_released, EVENT_LINK(e), .reason = why, .excluded = e->out,
               .flaps = e->damping.flaps);
}

static void on_due(void *ctx)
{
    struct sm *s = ctx;
    uint64_t now = clock_now_us();
    for (uint32_t i = 0; i < s->links->count; i++) {
        struct sm_flap *e = &s->links->list[i];
        uint64_t due = fab_health_damping_due(&e->damping);
        if (due == 0 || due > now)
            continue;
        fab_health_damping_release(&e->damping, now);
        if (e->isolated)
            continue;
        emit_released(s, e, "has been up for long enough");
        read_ends_of(s, e);
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

int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port, const char *by)
{
    char reason[128];
    struct sm_flap *e = sm_flap_find(s, node_guid, port);
    if (sm_is_standby(s))
        return FAB_E_DENIED;
    if (!e || (!e->damping.held && !e->isolated))
        return FAB_E_NOT_FOUND;
    fab_health_damping_reset(&e->damping);
    if (e->isolated)
        sm_isolate_end(s, e);
    snprintf(reason, sizeof(reason), "was released by %s", by);
    emit_released(s, e, reason);
    read_ends_of(s, e);
    e->out = false;
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
                            .held = e->out,
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
            /* This link is in the list only because it is isolated. It has never flapped. */
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
        n += s->links->list[i].out && !s->links->list[i].isolated;
    return n;
}

/* ---- init and fini --------------------------------------------------------------------------- */

int sm_links_init(struct sm *s)
{
    s->links = calloc(1, sizeof(*s->links));
    if (!s->links)
        return FAB_E_NOMEM;
    s->links->timer = loop_timer_new(s->in.loop, on_due, s);
    int r = s->links->timer ? sm_silent_init(s) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = sm_silent_checks_init(s);
    if (r == FAB_OK)
        r = sm_silent_poll_init(s);
    if (r == FAB_OK && s->in.store)
        r = store_load_disabled(s->in.store, &s->links->disabled, &s->links->disabled_count);
    return r == FAB_OK ? sm_isolate_load(s) : r;
}

void sm_links_fini(struct sm *s)
{
    struct sm_links *l = s->links;
    if (!l)
        return;
    loop_timer_free(l->timer);
    sm_silent_checks_fini(s);
    loop_timer_free(l->silent_poll);
    sm_silent_fini(s);
    free(l->silent);
    for (struct sm_port_op *op = l->waiting, *next; op; op = next) {
        next = op->next;
        free(op);
    }
    free(l->op);
    free(l->disabled);
    free(l->list);
    free(l);
    s->links = NULL;
}
