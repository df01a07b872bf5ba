/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each switch takes a port on a shortest way to the LID: the one from which the rest of the way
 * carries the least in sum (or whose own cable does); or the one of D-mod-k, if that is not much
 * more. Since the number of cables comes first, switches are visited from the nearest to the
 * farthest, and no heap is needed; the hosts that send are then carried from the farthest to the
 * nearest, and no way is followed twice.
 *
 * So all hosts' packets to a LID tend to take the same last cables, as D-mod-k has it. Where they
 * must spread (the cable that was theirs is gone, and all others are full already), each switch
 * that has hosts puts them on its way at once, for the next one to see.
 *
 * Switches that no shortest way of a host touches (a spine that lost its cable to the leaf) have
 * packets of their own only. These must not close a cycle of waiting buffers, and need not be
 * short: they go down to where the rest goes down, else up, by the order that updn would use; else
 * as they can.
 */
#include "libfabmgr/route/balance/balance.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* The slack is one part of so many of what the hosts of the fabric put on the cable to a host. */
#define SLACK_SHARE 10

int fab_route_balance_init(struct fab_balancer *b, const struct fab_fabric *f,
                           const struct fab_graph *g, const struct fab_order *o,
                           const struct fab_shortest *near)
{
    struct fab_balancer made = {.f = f, .g = g, .o = o, .near = near};
    size_t n = (size_t)g->n + 1;
    made.load = calloc((size_t)g->port_at[g->n] + 1, sizeof(*made.load));
    made.cost = calloc(n, sizeof(*made.cost));
    made.pick = calloc(n, sizeof(*made.pick));
    made.climbs = calloc(n, sizeof(*made.climbs));
    made.flow = calloc(n, sizeof(*made.flow));
    made.length = calloc(n, sizeof(*made.length));
    made.settled = calloc(n, sizeof(*made.settled));
    made.aside = calloc(n, sizeof(*made.aside));
    made.number = calloc((size_t)f->port_count + 1, sizeof(*made.number));
    if (!made.load || !made.cost || !made.pick || !made.climbs || !made.flow || !made.length ||
        !made.settled || !made.aside || !made.number) {
        fab_route_balance_fini(&made);
        return FAB_E_NOMEM;
    }
    for (uint32_t s = 0; s < g->n; s++) {
        made.slack += g->hosts[s];
        for (uint32_t port = g->port_at[s]; port < g->port_at[s + 1]; port++)
            made.number[fab_port_id(f, s, g->port_num[port])] = port;
    }
    made.slack /= SLACK_SHARE;
    *b = made;
    return FAB_OK;
}

void fab_route_balance_fini(struct fab_balancer *b)
{
    free(b->load);
    free(b->cost);
    free(b->pick);
    free(b->climbs);
    free(b->flow);
    free(b->length);
    free(b->settled);
    free(b->aside);
    free(b->number);
    memset(b, 0, sizeof(*b));
}

/* ---- ways of hosts ----------------------------------------------------------------------------
 */

static uint64_t cost_of(const struct fab_balancer *b, uint32_t port)
{
    return b->load[port] + (b->whole ? b->cost[b->g->port_peer[port]] : 0);
}

/* The preferred candidate, unless it is much dearer than the cheapest. */
static uint32_t choose(const struct fab_balancer *b, const uint32_t *candidate, uint32_t count,
                       uint32_t preferred, uint64_t *ret_cost)
{
    const uint32_t *peer = b->g->port_peer;
    const uint64_t *load = b->load, *cost = b->cost, rest = b->whole ? UINT64_MAX : 0;
    uint64_t usual = cost_of(b, candidate[preferred]), least = usual;
    uint32_t best = candidate[preferred];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = candidate[i];
        uint64_t sum = load[port] + (cost[peer[port]] & rest);
        best = sum < least ? port : best;
        least = sum < least ? sum : least;
    }
    bool keep = usual <= least + b->slack;
    *ret_cost = keep ? usual : least;
    return keep ? candidate[preferred] : best;
}

static uint32_t preferred_of(const struct fab_balancer *b, const struct fab_dlid *lane, uint32_t sw,
                             uint32_t count)
{
    return count > 1 ? lane->number / b->o->spread[sw] % count : 0;
}

/* For the i-th nearest switch. */
static void choose_way(struct fab_balancer *b, const struct fab_dlid *lane, uint32_t i)
{
    const struct fab_shortest *near = b->near;
    uint32_t sw = near->at[i], count = near->first[i + 1] - near->first[i];
    b->pick[sw] = choose(b, near->port + near->first[i], count, preferred_of(b, lane, sw, count),
                         &b->cost[sw]);
}

/* Puts the flows of all hosts on the ways that are picked. */
static void carry_flows(struct fab_balancer *b)
{
    for (uint32_t i = b->near->reached; i-- > 1;) {
        uint32_t sw = b->near->at[i], port = b->pick[sw];
        uint64_t arriving = b->flow[sw] + b->g->hosts[sw];
        b->flow[sw] = 0;
        b->flow[b->g->port_peer[port]] += arriving;
        b->load[port] += arriving * b->g->port_slow[port];
    }
    b->flow[b->near->at[0]] = 0;
}

/* Those of the hosts of one switch, and renews the costs on their way. */
static void carry_own(struct fab_balancer *b, uint32_t sw)
{
    uint32_t *way = b->aside, count = 0; /* (not in use yet) */
    for (; sw != b->near->at[0]; sw = b->g->port_peer[b->pick[sw]])
        way[count++] = sw;
    for (uint64_t hosts = b->g->hosts[way[0]]; count-- > 0;) {
        uint32_t port = b->pick[way[count]];
        b->load[port] += hosts * b->g->port_slow[port];
        b->cost[way[count]] = cost_of(b, port);
    }
}

/* ---- ways of switches on which no host depends ------------------------------------------------
 */

enum kind { DOWN, UP, ANYHOW, KINDS };

static bool may_go(const struct fab_balancer *b, uint32_t from, uint32_t to, enum kind kind)
{
    bool up = fab_route_order_is_up(b->o, from, to);
    if (!b->settled[to])
        return false;
    return kind == DOWN ? !up && !b->climbs[to] : kind == UP ? up : true;
}

static uint32_t collect_aside(struct fab_balancer *b)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->near->reached; i++) {
        uint32_t sw = b->near->at[i];
        b->settled[sw] = b->near->used[sw] || i == 0;
        b->length[sw] = b->near->hops[sw];
        b->climbs[sw] = i > 0 && fab_route_order_is_up(b->o, sw, b->g->port_peer[b->pick[sw]]);
        b->aside[count] = sw;
        count += !b->settled[sw];
    }
    return count;
}

/* The length of its shortest way of this kind as far as is known; FAB_NONE: none. */
static uint32_t length_of(const struct fab_balancer *b, uint32_t sw, enum kind kind)
{
    uint32_t least = FAB_NONE;
    for (uint32_t i = b->g->nbr_at[sw]; i < b->g->nbr_at[sw + 1]; i++) {
        uint32_t to = b->g->nbr[i];
        if (may_go(b, sw, to, kind) && b->length[to] + 1 < least)
            least = b->length[to] + 1;
    }
    return least;
}

static void settle(struct fab_balancer *b, const struct fab_dlid *lane, uint32_t sw, enum kind kind,
                   uint32_t length)
{
    uint32_t candidate[256], count = 0;
    for (uint32_t port = b->g->port_at[sw]; port < b->g->port_at[sw + 1]; port++) {
        uint32_t to = b->g->port_peer[port];
        if (may_go(b, sw, to, kind) && b->length[to] + 1 == length)
            candidate[count++] = port;
    }
    b->pick[sw] = candidate[preferred_of(b, lane, sw, count)];
    b->climbs[sw] = fab_route_order_is_up(b->o, sw, b->g->port_peer[b->pick[sw]]);
    b->length[sw] = length;
}

/* Settles those of `count` that have the shortest way of this kind, level by level. */
static uint32_t settle_level(struct fab_balancer *b, const struct fab_dlid *lane, enum kind kind,
                             uint32_t count)
{
    uint32_t least = FAB_NONE, rest = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = length_of(b, b->aside[i], kind);
        b->length[b->aside[i]] = length;
        least = length < least ? length : least;
    }
    if (least == FAB_NONE)
        return count;
    for (uint32_t i = 0; i < count; i++) {
        if (b->length[b->aside[i]] == least)
            settle(b, lane, b->aside[i], kind, least);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sw = b->aside[i];
        b->settled[sw] = b->length[sw] == least;
        b->aside[rest] = sw;
        rest += !b->settled[sw];
    }
    return rest;
}

static void settle_aside(struct fab_balancer *b, const struct fab_dlid *lane)
{
    uint32_t left = collect_aside(b);
    for (enum kind kind = DOWN; kind < KINDS; kind++) {
        for (uint32_t before = 0; left > 0 && before != left;) {
            before = left;
            left = settle_level(b, lane, kind, left);
        }
    }
}

/* ---- a LID ------------------------------------------------------------------------------------
 */

static void write_entries(struct fab_balancer *b, const struct fab_dlid *lane, struct fab_lft *lft)
{
    const struct fab_shortest *near = b->near;
    if (near->asides > 0)
        settle_aside(b, lane);
    for (uint32_t i = 1; i < near->reached; i++)
        fab_lft_row(lft, near->at[i])[lane->lid] = b->g->port_num[b->pick[near->at[i]]];
    fab_lft_row(lft, near->at[0])[lane->lid] = lane->port;
}

void fab_route_balance_add(struct fab_balancer *b, const struct fab_dlid *lane,
                           enum fab_balance how, struct fab_lft *lft)
{
    b->cost[b->near->at[0]] = 0;
    for (uint32_t i = 1; i < b->near->reached; i++) {
        choose_way(b, lane, i);
        if (how == FAB_BALANCE_SPREAD && b->g->hosts[b->near->at[i]] > 0)
            carry_own(b, b->near->at[i]);
    }
    if (how == FAB_BALANCE_TOGETHER)
        carry_flows(b);
    write_entries(b, lane, lft);
}

static uint32_t port_of(const struct fab_balancer *b, uint32_t sw, const struct fab_dlid *lane,
                        const struct fab_lft *lft)
{
    return b->number[fab_port_id(b->f, sw, fab_lft_row(lft, sw)[lane->lid])];
}

/* Adds the load of the entries, or takes it away. */
static void follow(struct fab_balancer *b, const struct fab_dlid *lane, const struct fab_lft *lft,
                   bool add)
{
    for (uint32_t i = b->near->reached; i-- > 1;) {
        uint32_t sw = b->near->at[i];
        if (!b->near->used[sw])
            continue;
        uint32_t port = port_of(b, sw, lane, lft);
        uint64_t arriving = b->flow[sw] + b->g->hosts[sw], load = arriving * b->g->port_slow[port];
        b->flow[sw] = 0;
        b->flow[b->g->port_peer[port]] += arriving;
        b->load[port] += add ? load : -load;
    }
    b->flow[b->near->at[0]] = 0;
}

void fab_route_balance_count(struct fab_balancer *b, const struct fab_dlid *lane,
                             const struct fab_lft *lft)
{
    follow(b, lane, lft, true);
}

void fab_route_balance_remove(struct fab_balancer *b, const struct fab_dlid *lane,
                              const struct fab_lft *lft)
{
    follow(b, lane, lft, false);
}

bool fab_route_balance_exceeds(const struct fab_balancer *b, const struct fab_dlid *lane,
                               const struct fab_lft *lft, uint64_t limit)
{
    for (uint32_t i = 1; i < b->near->reached; i++) {
        uint32_t sw = b->near->at[i];
        if (b->near->used[sw] && b->load[port_of(b, sw, lane, lft)] > limit)
            return true;
    }
    return false;
}
