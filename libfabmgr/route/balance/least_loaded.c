/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses least-loaded ports for the engine updn. The legal paths to a destination switch leave
 * most switches a choice among the ports whose peers are one hop nearer (the candidates). The
 * choice is made for each DLID (destination LID).
 *
 * Switches are visited from the farthest to the nearest. So all traffic that arrives at a switch is
 * known before the switch is visited: flow[] counts the hosts whose packets to the DLID arrive. A
 * DLID to which some host sends through the switch takes the D-mod-k port if the load of this port
 * exceeds the least load by at most a slack. Otherwise, or if the D-mod-k port is not a candidate,
 * it takes the port with the least load. If several ports have the least load, it takes the first
 * of them after the D-mod-k port. The load is the number of pairs of hosts routed over the port,
 * times port_slow. The D-mod-k port has the index (number / divider) mod (number of ports) in a
 * list of ports. If paths go up from the switch, the list has all ports that lead up; otherwise it
 * has the candidates (make_slots).
 *
 * In a complete fat tree, all loads are often equal; the result is then D-mod-k, which balances all
 * links. In other topologies, the loads differ, and switches choose ports so that the loads become
 * even. The loads must count flows, not table entries. For example, a middle switch of a tree has
 * entries for all DLIDs, but may forward packets to only one DLID of each leaf. Even if each of its
 * links had the same number of entries, all these packets could use a single link.
 *
 * Some DLIDs have no flow at a switch: no host sends through it, or the DLID belongs to a switch or
 * an aggregation node. These DLIDs take the D-mod-k port, or another candidate if it is not a
 * candidate, and add no load.
 */
#include "libfabmgr/route/balance/least_loaded.h"

#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* ---- ports by direction --------------------------------------------------------------------- */

static void ports_fini(struct fab_updown_ports *p)
{
    fab_base_arena_fini(&p->arena);
    memset(p, 0, sizeof(*p));
}

static int ports_make(const struct fab_graph *g, const struct fab_order *o,
                      struct fab_updown_ports *ret)
{
    struct fab_updown_ports p = {0};
    size_t n = (size_t)g->n + 1, ports = (size_t)g->port_at[g->n] + 1;
    p.at = fab_base_arena_alloc(&p.arena, n, sizeof(*p.at));
    p.mid = fab_base_arena_alloc(&p.arena, n, sizeof(*p.mid));
    p.peer = fab_base_arena_alloc(&p.arena, ports, sizeof(*p.peer));
    p.num = fab_base_arena_alloc(&p.arena, ports, sizeof(*p.num));
    p.slow = fab_base_arena_alloc(&p.arena, ports, sizeof(*p.slow));
    p.load = fab_base_arena_alloc(&p.arena, ports, sizeof(*p.load));
    if (p.arena.failed) {
        ports_fini(&p);
        return FAB_E_NOMEM;
    }
    memcpy(p.at, g->port_at, n * sizeof(*p.at));
    for (uint32_t s = 0; s < g->n; s++) {
        uint32_t out = p.at[s];
        for (unsigned up = 0; up <= 1; up++) {
            for (uint32_t i = g->port_at[s]; i < g->port_at[s + 1]; i++) {
                if (fab_route_order_is_up(o, s, g->port_peer[i]) != (up == 1))
                    continue;
                p.peer[out] = g->port_peer[i];
                p.num[out] = g->port_num[i];
                p.slow[out++] = g->port_slow[i];
            }
            if (up == 0)
                p.mid[s] = out;
        }
    }
    *ret = p;
    return FAB_OK;
}

int fab_route_least_loaded_init(struct fab_least_loaded *s, const struct fab_graph *g,
                                const struct fab_order *o)
{
    struct fab_least_loaded made = {.g = g, .o = o};
    size_t n = (size_t)g->n + 1;
    made.flow = fab_base_arena_alloc(&made.arena, n * FAB_DLIDS_MAX, sizeof(*made.flow));
    made.column = fab_base_arena_alloc(&made.arena, n, sizeof(*made.column));
    made.far = fab_base_arena_alloc(&made.arena, n, sizeof(*made.far));
    made.least = fab_base_arena_alloc(&made.arena, n, sizeof(*made.least));
    int ret = FAB_E_NOMEM;
    if (!made.arena.failed)
        ret = ports_make(g, o, &made.ports);
    if (ret != FAB_OK) {
        fab_route_least_loaded_fini(&made);
        return ret;
    }
    *s = made;
    return FAB_OK;
}

void fab_route_least_loaded_fini(struct fab_least_loaded *s)
{
    ports_fini(&s->ports);
    fab_base_arena_fini(&s->arena);
    memset(s, 0, sizeof(*s));
}

/* ---- one destination ------------------------------------------------------------------------ */

/* Fills far[] with the switches that have a path, the farthest first (counting sort). Returns their
 * number. */
static uint32_t sort_by_hops(struct fab_least_loaded *s)
{
    uint32_t start[FAB_LEGAL_HOPS + 2] = {0}, total = 0;
    for (uint32_t v = 0; v < s->g->n; v++)
        start[s->column[v] & FAB_LEGAL_HOPS] += s->column[v] != FAB_LEGAL_NONE;
    for (int hops = FAB_LEGAL_HOPS; hops >= 0; hops--) {
        uint32_t here = start[hops];
        start[hops] = total;
        total += here;
    }
    for (uint32_t v = 0; v < s->g->n; v++) {
        if (s->column[v] != FAB_LEGAL_NONE)
            s->far[start[s->column[v] & FAB_LEGAL_HOPS]++] = v;
    }
    return total;
}

/* Finds the candidate ports of `sw`: those whose peers are one hop nearer to the destination. A
 * port that leads down is a candidate only if the path of its peer descends all the way. A port
 * that leads up is a candidate only if the path of `sw` may ascend. ret[] receives indices into the
 * arrays of s->ports. Returns the number of candidates. */
static uint32_t find_candidates(const struct fab_least_loaded *s, uint32_t sw, uint32_t ret[256])
{
    const struct fab_updown_ports *p = &s->ports;
    const uint8_t *column = s->column;
    const uint32_t *peer = p->peer;
    uint8_t nearer = (uint8_t)((column[sw] & FAB_LEGAL_HOPS) - 1);
    uint32_t count = 0, mid = p->mid[sw];
    uint32_t end = (column[sw] & FAB_LEGAL_CLIMBS) != 0 ? p->at[sw + 1] : mid;
    for (uint32_t i = p->at[sw]; i < mid; i++) {
        ret[count] = i;
        count += column[peer[i]] == nearer;
    }
    for (uint32_t i = mid; i < end; i++) {
        ret[count] = i;
        count += (column[peer[i]] & FAB_LEGAL_HOPS) == nearer;
    }
    return count;
}

/* Computes (number / divider) mod count for one destination number after another. The result is the
 * index of the D-mod-k candidate. The numbers are mostly consecutive, so few divisions are
 * needed. */
struct cyclic {
    /* divider: number of consecutive destination numbers that have the same candidate; count:
     * number of candidates */
    uint32_t divider, count;
    uint32_t number, part, at;
};

static void cyclic_set(struct cyclic *w, uint32_t number)
{
    w->number = number;
    w->part = number % w->divider;
    w->at = number / w->divider % w->count;
}

static uint32_t cyclic_at(struct cyclic *w, uint32_t number)
{
    if (number == w->number + 1) {
        w->number = number;
        if (++w->part == w->divider) {
            w->part = 0;
            w->at = w->at + 1 < w->count ? w->at + 1 : 0;
        }
    } else if (number != w->number) {
        cyclic_set(w, number);
    }
    return w->at;
}

/* The slots of a switch: the ports among which D-mod-k distributes the DLIDs. candidate[i] is the
 * index of the port of slot i in the list of candidates; -1 if that port is not a candidate for
 * this destination. */
struct slots {
    uint32_t count;
    bool plain; /* true: slot i is candidate i, and candidate[] is not filled */
    int16_t candidate[256];
};

/* Fills the slots of a switch. If the paths of the switch lead up, every port that leads up has a
 * slot, even a port that is not a candidate for this destination. So a DLID keeps its port when a
 * fault takes another port from the candidates. If the paths lead down, only the candidate ports
 * have slots. */
static void make_slots(const struct fab_least_loaded *s, uint32_t sw, const uint32_t *candidate,
                       uint32_t count, struct slots *ret)
{
    uint32_t first = s->ports.mid[sw], upward = s->ports.at[sw + 1] - first;
    bool ascends = candidate[0] >= first;
    ret->plain = !ascends || count == upward;
    ret->count = ascends ? upward : count;
    if (ret->plain)
        return;
    memset(ret->candidate, 0xff, upward * sizeof(ret->candidate[0]));
    for (uint32_t i = 0; i < count; i++)
        ret->candidate[candidate[i] - first] = (int16_t)i;
}

/* Returns the slack: the amount by which the load of the preferred port may exceed the least load.
 * Without a slack, each DLID that a fault moves would displace another DLID from its port.
 * arriving: number of hosts whose packets to the DLID arrive at the switch. */
static uint64_t slack(uint64_t least, uint64_t arriving)
{
    return 2 * arriving + least / 8;
}

/* Returns the index of the least-loaded candidate. If several have the least load, returns the
 * first of them at or after index `preferred`, cyclically. */
static uint32_t least_loaded(const uint64_t *load, const uint32_t *candidate, uint32_t count,
                             uint32_t preferred)
{
    uint32_t best = preferred;
    for (uint32_t i = 1; i < count; i++) {
        uint32_t at = preferred + i < count ? preferred + i : preferred + i - count;
        if (load[candidate[at]] < load[candidate[best]])
            best = at;
    }
    return best;
}

/* Returns the index `preferred` if the load of this candidate exceeds the least load by at most the
 * slack. Otherwise returns the index of the least-loaded candidate. On entry, no candidate has a
 * load below *least; the function may raise *least to the least load. */
static uint32_t preferred_or_least(const uint64_t *load, const uint32_t *candidate, uint32_t count,
                                   uint32_t preferred, uint64_t arriving, uint64_t *least)
{
    uint64_t have = load[candidate[preferred]];
    if (have <= *least + slack(*least, arriving))
        return preferred;
    uint32_t best = least_loaded(load, candidate, count, preferred);
    *least = load[candidate[best]];
    return have > *least + slack(*least, arriving) ? best : preferred;
}

/* Routes all DLIDs at a switch that has a single candidate port for the destination. */
static void route_by_one(struct fab_least_loaded *s, uint32_t sw, uint32_t port,
                         const struct fab_dlid *dlids, uint32_t dlid_count, uint8_t *row)
{
    uint32_t *here = &s->flow[(size_t)sw * dlid_count];
    uint32_t *there = &s->flow[(size_t)s->ports.peer[port] * dlid_count];
    uint32_t hosts = s->g->hosts[sw];
    uint64_t total = 0;
    uint8_t num = s->ports.num[port];
    for (uint32_t i = 0; i < dlid_count; i++) {
        uint32_t arriving = dlids[i].loaded ? here[i] + hosts : 0;
        here[i] = 0;
        there[i] += arriving;
        total += arriving;
        row[dlids[i].lid] = num;
    }
    s->ports.load[port] += total * s->ports.slow[port];
}

static void route_by_many(struct fab_least_loaded *s, uint32_t sw, const uint32_t *candidate,
                          uint32_t count, const struct fab_dlid *dlids, uint32_t dlid_count,
                          uint8_t *row)
{
    const struct fab_updown_ports p = s->ports;
    uint32_t *flow = s->flow, *here = flow + (size_t)sw * dlid_count;
    uint32_t hosts = s->g->hosts[sw];
    struct slots slots;
    make_slots(s, sw, candidate, count, &slots);
    struct cyclic cyclic = {.divider = s->o->divider[sw], .count = slots.count};
    bool all_upward = slots.plain && candidate[0] >= p.mid[sw];
    uint64_t least = candidate[0] >= p.mid[sw] ? s->least[sw] : 0;
    cyclic_set(&cyclic, dlids[0].number);
    for (uint32_t i = 0; i < dlid_count; i++) {
        uint32_t slot = cyclic_at(&cyclic, dlids[i].number);
        bool displaced = !slots.plain && slots.candidate[slot] < 0;
        uint32_t at = slots.plain ? slot
                      : displaced ? slot % count
                                  : (uint32_t)slots.candidate[slot];
        uint32_t arriving = dlids[i].loaded ? here[i] + hosts : 0;
        here[i] = 0;
        if (arriving > 0) {
            at = displaced ? least_loaded(p.load, candidate, count, at)
                           : preferred_or_least(p.load, candidate, count, at, arriving, &least);
            uint32_t port = candidate[at];
            p.load[port] += (uint64_t)arriving * p.slow[port];
            flow[(size_t)p.peer[port] * dlid_count + i] += arriving;
        }
        row[dlids[i].lid] = p.num[candidate[at]];
    }
    if (all_upward)
        s->least[sw] = least;
}

static void route_at(struct fab_least_loaded *s, uint32_t sw, const struct fab_dlid *dlids,
                     uint32_t dlid_count, uint8_t *row)
{
    uint32_t candidate[256];
    uint32_t count = find_candidates(s, sw, candidate);
    if (count == 1)
        route_by_one(s, sw, candidate[0], dlids, dlid_count, row);
    else
        route_by_many(s, sw, candidate, count, dlids, dlid_count, row);
}

void fab_route_least_loaded_fill(struct fab_least_loaded *s, const struct fab_dlid *dlids,
                                 uint32_t count, struct fab_lft *lft)
{
    uint32_t reached = sort_by_hops(s);
    if (count == 0 || reached == 0)
        return;
    for (uint32_t i = 0; i + 1 < reached; i++)
        route_at(s, s->far[i], dlids, count, fab_target_lft_row(lft, s->far[i]));
    /* the last switch of far[], the nearest one, is the destination itself */
    uint32_t here = s->far[reached - 1];
    memset(&s->flow[(size_t)here * count], 0, count * sizeof(*s->flow));
    for (uint32_t i = 0; i < count; i++)
        fab_target_lft_row(lft, here)[dlids[i].lid] = dlids[i].port;
}
