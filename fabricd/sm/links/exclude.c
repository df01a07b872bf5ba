/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Removes held-down, isolated and drained links from new snapshots (flapping.c, isolation.c,
 * drain.c). libfabmgr/health/isolation.h decides which of these links must stay in use.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

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

/* Counts flaps that no sweep has seen: the link went down and came up between two sweeps, so one of
 * its ports was Active before and is in Init now. (Few ports are in Init, so the function tests
 * this first, before it reads the peers of ports.) Counts none if ports were added or removed, nor
 * after a time in which the manager had no port: all switches may have been restarted together with
 * the manager's host. */
static void note_unseen_flaps(struct sm *s, const struct fab_fabric *now)
{
    const struct fab_fabric *was = s->model.fabric;
    if (!was || !s->model.view || s->links->blind || was->port_count != now->port_count)
        return;
    for (uint32_t p = 0; p < now->port_count; p++) {
        if (!is_in_init(now, p))
            continue;
        uint32_t peer = fab_fabric_port(now, p)->peer;
        /* if both ports of a link are in Init, the link is examined at the port with the lower id
         */
        if (peer == FAB_NONE || (peer < p && is_in_init(now, peer)))
            continue;
        if (fab_fabric_port(was, p)->peer != peer ||
            was->nodes[fab_fabric_port(was, p)->node].guid !=
                now->nodes[fab_fabric_port(now, p)->node].guid ||
            !fab_fabric_isl_is_up(was, p) || !fab_fabric_isl_is_up(now, p))
            continue;
        if (is_in_init_again(was, now, p) || is_in_init_again(was, now, peer))
            sm_flap_note_down(
                s, now,
                &(struct sm_link){.port = p < peer ? p : peer, .peer = p < peer ? peer : p});
    }
}

void sm_flap_set_blind(struct sm *s, bool blind)
{
    s->links->blind = blind;
}

/* Returns true if the link no longer exists, because one of its ports is now connected to a third
 * port. */
static bool is_elsewhere(const struct fab_fabric *f, const struct sm_flap *e)
{
    uint32_t a = end_of(f, e, 0), b = end_of(f, e, 1);
    return (a != FAB_NONE && fab_fabric_port(f, a)->peer != FAB_NONE &&
            fab_fabric_port(f, a)->peer != b) ||
           (b != FAB_NONE && fab_fabric_port(f, b)->peer != FAB_NONE &&
            fab_fabric_port(f, b)->peer != a);
}

/* Returns true if the link is down and must stay excluded (it is isolated, drained or held down):
 * routes must not use it if it comes up between two sweeps. */
static bool stays_out(const struct sm_flap *e)
{
    return e->damping.up_us == 0 &&
           (e->isolated || (e->drain && !e->returning) || (e->out && e->damping.held));
}

/* Returns true if the port is LinkUp but has no peer in the snapshot, as sm_link_exclude leaves a
 * port. */
static bool is_as_excluded(const struct fab_fabric *f, uint32_t port)
{
    return port != FAB_NONE && fab_fabric_port(f, port)->peer == FAB_NONE &&
           fab_fabric_port(f, port)->info.phys_state == FAB_PHYS_LINKUP;
}

/* Returns true if the sweep has found nothing new about this excluded link, which was up before:
 * each of its two ports is as sm_link_exclude left it, or has left the fabric. */
static bool unseen(const struct fab_fabric *f, const struct sm_flap *e)
{
    uint32_t a = end_of(f, e, 0), b = end_of(f, e, 1);
    return e->out && e->damping.up_us != 0 && (is_as_excluded(f, a) || a == FAB_NONE) &&
           (is_as_excluded(f, b) || b == FAB_NONE);
}

/* Updates the entries of the list of links from the new snapshot. Leaves out the links of
 * misbehaving hosts, and excluded links about which the sweep found nothing new (unseen). Result:
 * at[] has an element for each entry: the id of a port of the link, if the link is up and must be
 * excluded; otherwise FAB_NONE. */
static void note_all(struct sm *s, const struct fab_fabric *f, uint32_t *at)
{
    for (uint32_t i = 0; i < s->links->count; i++) {
        struct sm_flap *e = &s->links->list[i];
        uint32_t port = sm_flap_up_at(f, e);
        at[i] = FAB_NONE;
        if (unseen(f, e))
            continue;
        if (e->offence)
            /* the link of an isolated host need not be excluded, because its port is disabled */
            continue;
        if (is_elsewhere(f, e)) {
            fab_health_damping_reset(&e->damping);
            sm_isolate_moved(s, e);
            sm_drain_moved(s, e);
        }
        if (port != FAB_NONE)
            fab_health_damping_up(&e->damping, clock_now_us());
        else if (e->damping.up_us)
            sm_flap_fell(s, e);
        if (sm_flap_is_barred(s, e))
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
            link[n].drained = e->drain != 0;
            link[n].operated = e->isolated && e->operated;
            for (int end = 0; end < 2; end++)
                link[n].node[end] = fab_fabric_node_by_guid(f, e->guid[end]);
            entry[n++] = i;
        }
    *ret_count = n;
}

/* Chooses which links in at[] (see note_all) must stay in use, and sets their elements to FAB_NONE.
 * A link must stay in use if, without it, a part of the fabric would be unreachable, too many links
 * of a switch would be excluded, or a leaf or pod would have less than its capacity floor. The
 * floor does not apply to links that an operator isolated. For drained links, only the reachability
 * counts. */
static int choose(struct sm *s, const struct fab_fabric *f, uint32_t *at)
{
    size_t count = 0, room = s->links->count + 1u;
    struct fab_isolation_link *cable = calloc(room, sizeof(*cable));
    struct fab_isolation *got = calloc(room, sizeof(*got));
    uint32_t *entry = calloc(room, sizeof(*entry));
    struct sm_rule rule = {0};
    int r = cable && got && entry ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK)
        sm_flap_candidates(s, f, at, cable, entry, &count);
    if (r == FAB_OK && count > 0)
        r = sm_rule_init(s, f, &rule);
    if (r == FAB_OK && count > 0)
        r = fab_health_isolation_choose(f, &rule.rule, cable, count, got);
    for (size_t i = 0; r == FAB_OK && i < count; i++)
        if (got[i].verdict != FAB_ISOLATION_ALLOWED)
            at[entry[i]] = FAB_NONE;
    sm_rule_fini(&rule);
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

void sm_flap_suspect_ends(struct sm *s, const struct sm_flap *e)
{
    sm_request_target(s, e->guid[0]);
    sm_request_target(s, e->guid[1]);
}

/* If the new snapshot lacks nodes, requests a targeted sweep of the nodes at both ends of excluded
 * links, because the missing nodes may be reachable only over these links. */
static void suspect_excluded(struct sm *s, const struct fab_fabric *now)
{
    const struct fab_fabric *was = s->model.fabric;
    if (!was || now->node_count >= was->node_count)
        return;
    for (uint32_t i = 0; i < s->links->count; i++)
        if (s->links->list[i].out && unseen(now, &s->links->list[i]))
            sm_flap_suspect_ends(s, &s->links->list[i]);
}

static int exclude(struct sm *s, struct fab_fabric *f, struct sm_flap *e, uint32_t at)
{
    bool was = e->out;
    e->out = at != FAB_NONE || stays_out(e) || unseen(f, e);
    int r = at != FAB_NONE ? sm_link_exclude(f, at) : FAB_OK;
    e->reinstated = (e->isolated || e->drain) && !e->out;
    if (e->isolated)
        sm_isolate_taken(s, e, was);
    if (e->drain)
        sm_drain_taken(s, e, was);
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
