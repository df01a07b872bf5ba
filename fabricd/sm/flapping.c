/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cables that bounce. Each fall that a round sees is noted here (libfabmgr/damping); a cable that
 * falls too often is held: for everything above the look it is not there, though it may be up. So
 * the tables that avoid it stay, its ports stay in the state Init, where they carry nothing, and
 * directed routes keep away from it. It comes back when it has been up long enough, or by command.
 *
 * Held are only cables between switches, never so many of one switch that less than the configured
 * share is left, and never one without which a part of the fabric cannot be reached: that stays in
 * service, as bad as it is. Cables of hosts are only told of.
 *
 * A cable that fell and rose between two looks is known by its port, which is in Init again. One
 * that is held and does so between two glances is not noticed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/private.h"

#define FLAPS_MOST 1024 /* cables whose falls are remembered */
#define STEADY_S 10     /* where nothing is held: up for so long, it flaps no more */
#define TOLD_AGAIN_US 1000000u

static struct fab_damping_rule rule_of(const struct sm *s)
{
    const struct config_flapping *c = &s->in.config->flapping;
    uint64_t hold_s = c->hold_s ? c->hold_s : STEADY_S;
    uint64_t most_s = c->most_s > hold_s ? c->most_s : hold_s;
    return (struct fab_damping_rule){.falls = c->falls,
                                     .within_us = c->within_s * UINT64_C(1000000),
                                     .hold_us = hold_s * 1000000,
                                     .most_us = most_s * 1000000};
}

/* ---- the list -------------------------------------------------------------------------------- */

static bool ends_at(const struct sm_flap *e, uint64_t guid, uint8_t port)
{
    return (e->guid[0] == guid && e->port[0] == port) || (e->guid[1] == guid && e->port[1] == port);
}

static struct sm_flap *find(const struct sm *s, uint64_t guid, uint8_t port)
{
    for (uint32_t i = 0; i < s->flaps.count; i++)
        if (ends_at(&s->flaps.list[i], guid, port))
            return &s->flaps.list[i];
    return NULL;
}

static void drop_quiet(struct sm *s)
{
    struct fab_damping_rule rule = rule_of(s);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->flaps.count; i++)
        if (s->flaps.list[i].out ||
            !fab_damping_quiet(&s->flaps.list[i].damping, &rule, clock_now_us()))
            s->flaps.list[kept++] = s->flaps.list[i];
    s->flaps.count = kept;
}

/* A place for one more, or NULL: too many bounce, or there is no memory. */
static struct sm_flap *room(struct sm *s)
{
    if (s->flaps.count == s->flaps.room)
        drop_quiet(s);
    if (s->flaps.count < s->flaps.room)
        return &s->flaps.list[s->flaps.count++];
    uint32_t more = s->flaps.room ? s->flaps.room * 2 : 16;
    struct sm_flap *list =
        more <= FLAPS_MOST ? reallocarray(s->flaps.list, more, sizeof(*list)) : NULL;
    if (!list)
        return NULL;
    s->flaps.list = list;
    s->flaps.room = more;
    return &list[s->flaps.count++];
}

static struct sm_flap *add(struct sm *s, const struct fab_fabric *f, const struct sm_cable *c)
{
    const uint32_t end[2] = {c->port, c->peer};
    struct sm_flap *e = room(s);
    if (!e)
        return NULL;
    *e = (struct sm_flap){.trunk = true};
    for (int i = 0; i < 2; i++) {
        const struct fab_port *p = &f->ports[end[i]];
        e->guid[i] = f->nodes[p->node].guid;
        e->port[i] = p->num;
        e->trunk &= fab_node_is_switch(f, p->node);
        sm_port_name(f, end[i], e->place[i]);
    }
    return e;
}

/* ---- falling --------------------------------------------------------------------------------- */

static void tell_flapping(struct sm *s, const struct sm_flap *e)
{
    const struct config_flapping *c = &s->in.config->flapping;
    uint64_t now = clock_now_us(), seconds = e->damping.hold_us / 1000000;
    if (now - s->flaps.told_us > TOLD_AGAIN_US) {
        s->flaps.told = 0;
        s->flaps.told_us = now;
    }
    if (++s->flaps.told == SM_EVENTS_A_ROUND + 1)
        bus_say(s->in.bus, EVENT_WARNING, "link-flapping", "fabric", 0, 0,
                "more links fall again and again than are told of one by one");
    if (s->flaps.told > SM_EVENTS_A_ROUND)
        return;
    const char *what = e->trunk && c->hold_s ? "routes keep away from it, where others suffice, "
                                               "until it has been up for"
                                             : "it counts as steady again after being up for";
    bus_say(s->in.bus, EVENT_WARNING, "link-flapping", e->place[0], e->guid[0], e->port[0],
            "link %s - %s falls again and again, %llu times so far: %s %llu s", e->place[0],
            e->place[1], (unsigned long long)e->damping.falls, what, (unsigned long long)seconds);
}

static void fell(struct sm *s, struct sm_flap *e)
{
    struct fab_damping_rule rule = rule_of(s);
    if (fab_damping_fell(&e->damping, &rule, clock_now_us()))
        tell_flapping(s, e);
}

void sm_flap_fell(struct sm *s, const struct fab_fabric *f, const struct sm_cable *c)
{
    const struct fab_port *p = &f->ports[c->port];
    struct sm_flap *e = find(s, f->nodes[p->node].guid, p->num);
    if (!e)
        e = add(s, f, c);
    if (e)
        fell(s, e);
}

void sm_flap_removed(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                     const struct fab_change *c)
{
    uint32_t a = fab_fabric_node_by_guid(old, c->guid_a);
    uint32_t b = fab_fabric_node_by_guid(old, c->guid_b);
    struct sm_cable cable;
    if (a == FAB_NONE || b == FAB_NONE || sm_flap_is_out(s, c->guid_a, c->port_a))
        return;
    bool gone =
        (fab_node_is_switch(old, a) && fab_fabric_node_by_guid(now, c->guid_a) == FAB_NONE) ||
        (fab_node_is_switch(old, b) && fab_fabric_node_by_guid(now, c->guid_b) == FAB_NONE);
    cable = (struct sm_cable){fab_port_id(old, a, c->port_a), fab_port_id(old, b, c->port_b)};
    if (!gone)
        sm_flap_fell(s, old, &cable);
}

bool sm_flap_is_out(const struct sm *s, uint64_t guid, uint8_t port)
{
    const struct sm_flap *e = find(s, guid, port);
    return e && e->out;
}

bool sm_flap_glanced(struct sm *s, uint32_t port, bool up)
{
    const struct fab_fabric *f = s->model.fabric;
    struct sm_flap *e = find(s, f->nodes[f->ports[port].node].guid, f->ports[port].num);
    if (!e || !e->out || up == (e->damping.up_us != 0))
        return e && e->out;
    if (up)
        fab_damping_rose(&e->damping, clock_now_us());
    else
        fell(s, e);
    s->cut.held++;
    return true;
}

/* ---- leaving out ----------------------------------------------------------------------------- */

static uint32_t end_of(const struct fab_fabric *f, const struct sm_flap *e, int i)
{
    uint32_t node = fab_fabric_node_by_guid(f, e->guid[i]);
    return node != FAB_NONE && e->port[i] <= f->nodes[node].num_ports
               ? fab_port_id(f, node, e->port[i])
               : FAB_NONE;
}

/* Its port in the snapshot where it is up, else FAB_NONE. */
static uint32_t up_at(const struct fab_fabric *f, const struct sm_flap *e)
{
    uint32_t a = end_of(f, e, 0), b = end_of(f, e, 1);
    return a != FAB_NONE && b != FAB_NONE && f->ports[a].peer == b && fab_port_is_up(f, a)
               ? a
               : FAB_NONE;
}

static bool is_trunk(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_peer_node(f, port);
    return peer != FAB_NONE && fab_node_is_switch(f, f->ports[port].node) &&
           fab_node_is_switch(f, peer) && fab_port_is_up(f, port);
}

static bool is_in_init_again(const struct fab_fabric *was, const struct fab_fabric *now,
                             uint32_t port)
{
    return was->ports[port].info.port_state == FAB_STATE_ACTIVE &&
           now->ports[port].info.port_state == FAB_STATE_INIT;
}

/* Cables that were down between two looks: up as before, but not Active any more. */
static void find_unseen(struct sm *s, const struct fab_fabric *now)
{
    const struct fab_fabric *was = s->model.fabric;
    if (!was || !s->model.view || was->port_count != now->port_count)
        return;
    for (uint32_t p = 0; p < now->port_count; p++) {
        uint32_t peer = now->ports[p].peer;
        if (peer == FAB_NONE || peer < p || was->ports[p].peer != peer ||
            was->nodes[was->ports[p].node].guid != now->nodes[now->ports[p].node].guid ||
            !is_trunk(was, p) || !is_trunk(now, p))
            continue;
        if (is_in_init_again(was, now, p) || is_in_init_again(was, now, peer))
            sm_flap_fell(s, now, &(struct sm_cable){p, peer});
    }
}

/* Another cable is at one of its ends now: what fell is nobody's. */
static bool is_elsewhere(const struct fab_fabric *f, const struct sm_flap *e)
{
    uint32_t a = end_of(f, e, 0), b = end_of(f, e, 1);
    return (a != FAB_NONE && f->ports[a].peer != FAB_NONE && f->ports[a].peer != b) ||
           (b != FAB_NONE && f->ports[b].peer != FAB_NONE && f->ports[b].peer != a);
}

/* What each entry is in the new snapshot. at[]: its port where it is up and to be held. */
static void take_in(struct sm *s, const struct fab_fabric *f, uint32_t *at)
{
    for (uint32_t i = 0; i < s->flaps.count; i++) {
        struct sm_flap *e = &s->flaps.list[i];
        uint32_t port = up_at(f, e);
        if (is_elsewhere(f, e))
            fab_damping_forgive(&e->damping);
        if (port != FAB_NONE)
            fab_damping_rose(&e->damping, clock_now_us());
        else if (e->damping.up_us)
            fell(s, e);
        bool wanted = e->damping.held && e->trunk && s->in.config->flapping.hold_s > 0;
        at[i] = wanted ? port : FAB_NONE;
    }
}

struct share { /* of a switch */
    uint32_t cables, out;
};

static bool may_lose(const struct sm *s, const struct share *of)
{
    return (of->out + 1) * 100 <= s->in.config->flapping.share * of->cables;
}

/* One that is held and down comes back without being looked at: it counts as up. */
static bool stays_out(const struct sm_flap *e)
{
    return e->out && e->damping.held && e->damping.up_us == 0;
}

static void count_waiting(const struct fab_fabric *f, const struct sm_flap *e, struct share *of)
{
    for (int i = 0; i < 2; i++) {
        uint32_t node = fab_fabric_node_by_guid(f, e->guid[i]);
        if (node == FAB_NONE || !fab_node_is_switch(f, node))
            continue;
        of[node].cables++;
        of[node].out++;
    }
}

static void keep_share(const struct sm *s, const struct fab_fabric *f, struct share *of,
                       uint32_t *at)
{
    for (uint32_t p = 0; p < f->port_count; p++)
        if (is_trunk(f, p))
            of[f->ports[p].node].cables++;
    for (uint32_t i = 0; i < s->flaps.count; i++)
        if (stays_out(&s->flaps.list[i]))
            count_waiting(f, &s->flaps.list[i], of);
    for (int former = 1; former >= 0; former--)
        for (uint32_t i = 0; i < s->flaps.count; i++) {
            if (at[i] == FAB_NONE || s->flaps.list[i].out != (former == 1))
                continue;
            struct share *a = &of[f->ports[at[i]].node], *b = &of[fab_peer_node(f, at[i])];
            if (may_lose(s, a) && may_lose(s, b)) {
                a->out++;
                b->out++;
            } else {
                at[i] = FAB_NONE;
            }
        }
}

static uint32_t root(uint32_t *up, uint32_t node)
{
    while (up[node] != node) {
        up[node] = up[up[node]];
        node = up[node];
    }
    return node;
}

static bool joins(const struct fab_fabric *f, uint32_t *up, uint32_t port)
{
    uint32_t a = root(up, f->ports[port].node), b = root(up, fab_peer_node(f, port));
    up[a] = b;
    return a != b;
}

/* out: bit of each port that is to be left out; those without which switches part stay in. */
static void keep_whole(const struct sm *s, const struct fab_fabric *f, uint32_t *up, uint64_t *out,
                       uint32_t *at)
{
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        up[sw] = sw;
    for (uint32_t i = 0; i < s->flaps.count; i++)
        if (at[i] != FAB_NONE) {
            fab_bits_set(out, at[i]);
            fab_bits_set(out, f->ports[at[i]].peer);
        }
    for (uint32_t p = 0; p < f->port_count; p++)
        if (!fab_bits_get(out, p) && is_trunk(f, p))
            (void)joins(f, up, p);
    for (uint32_t i = 0; i < s->flaps.count; i++)
        if (at[i] != FAB_NONE && joins(f, up, at[i]))
            at[i] = FAB_NONE;
}

static int choose(const struct sm *s, const struct fab_fabric *f, uint32_t *at)
{
    bool any = false;
    for (uint32_t i = 0; i < s->flaps.count; i++)
        any |= at[i] != FAB_NONE;
    if (!any)
        return FAB_OK;
    struct share *of = calloc(f->switch_count + 1u, sizeof(*of));
    uint32_t *up = calloc(f->switch_count + 1u, sizeof(*up));
    uint64_t *out = calloc(f->port_count / 64u + 1u, sizeof(*out));
    bool good = of && up && out;
    if (good) {
        keep_share(s, f, of, at);
        keep_whole(s, f, up, out, at);
    }
    free(of);
    free(up);
    free(out);
    return good ? FAB_OK : FAB_E_NOMEM;
}

/* The cable goes, what the ports say of themselves stays. */
static void leave_out(struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = f->ports[port].peer;
    const struct fab_port_info a = f->ports[port].info, b = f->ports[peer].info;
    fab_fabric_cut(f, port);
    f->ports[port].info = a;
    f->ports[peer].info = b;
}

int sm_flap_leave_out(struct sm *s, struct fab_fabric *f)
{
    find_unseen(s, f);
    if (s->flaps.count == 0)
        return FAB_OK;
    uint32_t *at = calloc(s->flaps.count, sizeof(*at));
    if (!at)
        return FAB_E_NOMEM;
    take_in(s, f, at);
    int r = choose(s, f, at);
    for (uint32_t i = 0; r == FAB_OK && i < s->flaps.count; i++) {
        struct sm_flap *e = &s->flaps.list[i];
        e->out = at[i] != FAB_NONE || stays_out(e);
        if (at[i] != FAB_NONE)
            leave_out(f, at[i]);
    }
    free(at);
    sm_flap_arm(s);
    return r;
}

/* ---- coming back ----------------------------------------------------------------------------- */

static void look_again(struct sm *s, const struct sm_flap *e)
{
    if (!e->out)
        return;
    sm_want_cause(s, "release of %.64s", e->place[0]);
    sm_want_suspect(s, e->guid[0]);
    sm_want_suspect(s, e->guid[1]);
}

static void tell_released(struct sm *s, const struct sm_flap *e, const char *why)
{
    bus_say(s->in.bus, EVENT_INFO, "link-released", e->place[0], e->guid[0], e->port[0],
            "link %s - %s %s: it %s; it fell %llu times so far", e->place[0], e->place[1], why,
            e->out ? "is routed over again" : "counts as steady",
            (unsigned long long)e->damping.falls);
}

static void on_due(void *ctx)
{
    struct sm *s = ctx;
    uint64_t now = clock_now_us();
    for (uint32_t i = 0; i < s->flaps.count; i++) {
        struct sm_flap *e = &s->flaps.list[i];
        uint64_t due = fab_damping_due(&e->damping);
        if (due == 0 || due > now)
            continue;
        fab_damping_release(&e->damping, now);
        tell_released(s, e, "has been up for long enough");
        look_again(s, e);
        e->out = false;
    }
    sm_flap_arm(s);
    sm_schedule(s);
}

void sm_flap_arm(struct sm *s)
{
    uint64_t now = clock_now_us(), first = 0;
    for (uint32_t i = 0; i < s->flaps.count; i++) {
        uint64_t due = fab_damping_due(&s->flaps.list[i].damping);
        if (due != 0 && (first == 0 || due < first))
            first = due;
    }
    if (first == 0)
        loop_timer_cancel(s->flaps.timer);
    else
        loop_timer_set(s->flaps.timer, first > now ? first - now : 0);
}

int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port)
{
    struct sm_flap *e = find(s, node_guid, port);
    if (s->role.state == FAB_SM_STANDBY)
        return FAB_E_DENIED;
    if (!e || !e->damping.held)
        return FAB_E_NOT_FOUND;
    fab_damping_forgive(&e->damping);
    tell_released(s, e, "was released by an operator");
    look_again(s, e);
    e->out = false;
    sm_flap_arm(s);
    sm_schedule(s);
    return FAB_OK;
}

/* ---- from outside ---------------------------------------------------------------------------- */

static int64_t unix_of(uint64_t us)
{
    return clock_unix_us() - (int64_t)(clock_now_us() - us);
}

static struct sm_flapping describe(const struct sm_flap *e)
{
    const struct fab_damping *d = &e->damping;
    struct sm_flapping f = {.guid = {e->guid[0], e->guid[1]},
                            .port = {e->port[0], e->port[1]},
                            .falls = d->falls,
                            .flapping = d->held,
                            .held = e->out,
                            .up = d->up_us != 0,
                            .hold_us = d->held ? d->hold_us : 0,
                            .due_us = fab_damping_due(d) ? unix_of(fab_damping_due(d)) : 0};
    memcpy(f.place, e->place, sizeof(f.place));
    f.fall_count = fab_damping_count(d);
    for (uint32_t i = 0; i < f.fall_count; i++)
        f.fall_us[i] = unix_of(fab_damping_fall(d, i));
    return f;
}

uint32_t sm_flapping(const struct sm *s, struct sm_flapping *ret, uint32_t max)
{
    uint32_t n = s->flaps.count < max ? s->flaps.count : max;
    for (uint32_t i = 0; i < n; i++)
        ret[i] = describe(&s->flaps.list[i]);
    return s->flaps.count;
}

uint32_t sm_flap_held(const struct sm *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->flaps.count; i++)
        n += s->flaps.list[i].out;
    return n;
}

int sm_flap_init(struct sm *s)
{
    s->flaps.timer = loop_timer_new(s->in.loop, on_due, s);
    return s->flaps.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_flap_fini(struct sm *s)
{
    loop_timer_free(s->flaps.timer);
    free(s->flaps.list);
}
