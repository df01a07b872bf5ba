/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Balances the link loads over the shortest paths, for the engines sssp, minhop and nue.
 *
 * One LID after another is routed. For each LID, each switch takes a port on a shortest path. The
 * cost of a port is the sum of the loads along the rest of the path, or the load of the next link
 * alone. The switch takes its D-mod-k port if the cost of this port exceeds the least cost by at
 * most a given amount, the slack. Otherwise it takes the port with the least cost.
 *
 * The number of hops has priority over the cost. So switches are visited by ascending distance, and
 * Dijkstra's algorithm needs no heap. Then the flows of the sending hosts are added up from the
 * farthest switch to the nearest, so that no path is followed twice. The work is O(ports) for each
 * LID.
 *
 * As with D-mod-k, the packets of all hosts to a LID mostly share their last links. If the D-mod-k
 * link is missing and all other links are fully loaded, these packets must instead be spread over
 * several links. For these LIDs (FAB_BALANCE_SPREAD), each switch with hosts adds its flow to the
 * loads at once. The switches that choose later take this flow into account.
 *
 * Some switches are on no shortest path of a host, for example a spine that lost its link to the
 * destination leaf. They send only packets of their own. Their paths need not be short, but must
 * not close a cycle of channel dependencies. Such a switch sends to a lower neighbour (in the
 * switch order of updn) that itself sends down. If there is no such neighbour, it sends to an upper
 * neighbour. If no upper neighbour has a path either, it sends in any direction.
 */
#include "libfabmgr/route/balance/balance.h"

#include <string.h>

#include "libfabmgr/base/status.h"

/* A switch keeps the D-mod-k port if the cost of this port exceeds the least cost by at most the
 * slack. The slack is 1 / SLACK_SHARE of the load that all hosts together cause on the link to one
 * host. */
#define SLACK_SHARE 10

int fab_route_balance_init(struct fab_balancer *b, const struct fab_fabric *f,
                           const struct fab_graph *g, const struct fab_order *o,
                           const struct fab_shortest *shortest)
{
    struct fab_balancer made = {.f = f, .g = g, .o = o, .shortest = shortest};
    size_t n = (size_t)g->n + 1;
    made.load = fab_base_arena_alloc(&made.arena, (size_t)g->port_at[g->n] + 1, sizeof(*made.load));
    made.cost = fab_base_arena_alloc(&made.arena, n, sizeof(*made.cost));
    made.pick = fab_base_arena_alloc(&made.arena, n, sizeof(*made.pick));
    made.climbs = fab_base_arena_alloc(&made.arena, n, sizeof(*made.climbs));
    made.flow = fab_base_arena_alloc(&made.arena, n, sizeof(*made.flow));
    made.length = fab_base_arena_alloc(&made.arena, n, sizeof(*made.length));
    made.settled = fab_base_arena_alloc(&made.arena, n, sizeof(*made.settled));
    made.aside = fab_base_arena_alloc(&made.arena, n, sizeof(*made.aside));
    made.number =
        fab_base_arena_alloc(&made.arena, (size_t)f->port_count + 1, sizeof(*made.number));
    if (made.arena.failed) {
        fab_route_balance_fini(&made);
        return FAB_E_NOMEM;
    }
    for (uint32_t s = 0; s < g->n; s++) {
        made.slack += g->hosts[s];
        for (uint32_t port = g->port_at[s]; port < g->port_at[s + 1]; port++)
            made.number[fab_fabric_port_id(f, s, g->port_num[port])] = port;
    }
    made.slack /= SLACK_SHARE;
    *b = made;
    return FAB_OK;
}

void fab_route_balance_fini(struct fab_balancer *b)
{
    fab_base_arena_fini(&b->arena);
    memset(b, 0, sizeof(*b));
}

/* ---- paths of hosts -------------------------------------------------------------------------- */

static uint64_t cost_of(const struct fab_balancer *b, uint32_t port)
{
    return b->load[port] + (b->whole ? b->cost[b->g->port_peer[port]] : 0);
}

/* Returns the port candidate[preferred] if its cost exceeds the least cost of the candidates by at
 * most the slack (b->slack). Otherwise returns the candidate with the least cost. *ret_cost is the
 * cost of the returned port. */
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

static uint32_t preferred_of(const struct fab_balancer *b, const struct fab_dlid *dlid, uint32_t sw,
                             uint32_t count)
{
    return count > 1 ? dlid->number / b->o->divider[sw] % count : 0;
}

/* Chooses the port for the DLID (destination LID) at switch shortest->at[i]. The array
 * shortest->at[] has the switches by ascending distance; the first one is the destination. */
static void choose_port(struct fab_balancer *b, const struct fab_dlid *dlid, uint32_t i)
{
    const struct fab_shortest *shortest = b->shortest;
    uint32_t sw = shortest->at[i], count = shortest->first[i + 1] - shortest->first[i];
    b->pick[sw] = choose(b, shortest->port + shortest->first[i], count,
                         preferred_of(b, dlid, sw, count), &b->cost[sw]);
}

/* Adds the flows of all hosts towards the current LID to the loads of the chosen ports. */
static void carry_flows(struct fab_balancer *b)
{
    for (uint32_t i = b->shortest->reached; i-- > 1;) {
        uint32_t sw = b->shortest->at[i], port = b->pick[sw];
        uint64_t arriving = b->flow[sw] + b->g->hosts[sw];
        b->flow[sw] = 0;
        b->flow[b->g->port_peer[port]] += arriving;
        b->load[port] += arriving * b->g->port_slow[port];
    }
    b->flow[b->shortest->at[0]] = 0;
}

/* Adds the flow of the hosts at switch `sw` to the loads of all links on its path, and updates the
 * costs of the switches on this path. */
static void carry_own(struct fab_balancer *b, uint32_t sw)
{
    /* path[] may use the memory of aside[], which settle_aside() fills only after all ports are
     * chosen */
    uint32_t *path = b->aside, count = 0;
    for (; sw != b->shortest->at[0]; sw = b->g->port_peer[b->pick[sw]])
        path[count++] = sw;
    for (uint64_t hosts = b->g->hosts[path[0]]; count-- > 0;) {
        uint32_t port = b->pick[path[count]];
        b->load[port] += hosts * b->g->port_slow[port];
        b->cost[path[count]] = cost_of(b, port);
    }
}

/* ---- paths of switches that no host uses ----------------------------------------------------- */

enum kind { DOWN, UP, ANY_DIRECTION, KINDS };

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
    for (uint32_t i = 0; i < b->shortest->reached; i++) {
        uint32_t sw = b->shortest->at[i];
        b->settled[sw] = b->shortest->used[sw] || i == 0;
        b->length[sw] = b->shortest->hops[sw];
        b->climbs[sw] = i > 0 && fab_route_order_is_up(b->o, sw, b->g->port_peer[b->pick[sw]]);
        b->aside[count] = sw;
        count += !b->settled[sw];
    }
    return count;
}

/* Returns the number of hops of the shortest path from switch `sw` to the destination; FAB_NONE:
 * there is none. The first hop must lead to a neighbour that already has a path, in the direction
 * `kind`. If this is DOWN, the first hop of the neighbour's path must not lead up either. */
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

static void settle(struct fab_balancer *b, const struct fab_dlid *dlid, uint32_t sw, enum kind kind,
                   uint32_t length)
{
    uint32_t candidate[256], count = 0;
    for (uint32_t port = b->g->port_at[sw]; port < b->g->port_at[sw + 1]; port++) {
        uint32_t to = b->g->port_peer[port];
        if (may_go(b, sw, to, kind) && b->length[to] + 1 == length)
            candidate[count++] = port;
    }
    b->pick[sw] = candidate[preferred_of(b, dlid, sw, count)];
    b->climbs[sw] = fab_route_order_is_up(b->o, sw, b->g->port_peer[b->pick[sw]]);
    b->length[sw] = length;
}

/* Gives paths to some of the first `count` switches of aside[], which have no paths yet. For each
 * of them, finds the length of the shortest path whose first hop leads in the direction `kind`
 * (down, up or any direction). The switches with the least length get these paths, and are removed
 * from aside[]. Returns the number of switches left in aside[]. */
static uint32_t settle_level(struct fab_balancer *b, const struct fab_dlid *dlid, enum kind kind,
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
            settle(b, dlid, b->aside[i], kind, least);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sw = b->aside[i];
        b->settled[sw] = b->length[sw] == least;
        b->aside[rest] = sw;
        rest += !b->settled[sw];
    }
    return rest;
}

static void settle_aside(struct fab_balancer *b, const struct fab_dlid *dlid)
{
    uint32_t left = collect_aside(b);
    for (enum kind kind = DOWN; kind < KINDS; kind++) {
        for (uint32_t before = 0; left > 0 && before != left;) {
            before = left;
            left = settle_level(b, dlid, kind, left);
        }
    }
}

/* ---- one LID --------------------------------------------------------------------------------- */

static void write_entries(struct fab_balancer *b, const struct fab_dlid *dlid, struct fab_lft *lft)
{
    const struct fab_shortest *shortest = b->shortest;
    if (shortest->unused > 0)
        settle_aside(b, dlid);
    for (uint32_t i = 1; i < shortest->reached; i++)
        fab_target_lft_row(lft, shortest->at[i])[dlid->lid] =
            b->g->port_num[b->pick[shortest->at[i]]];
    fab_target_lft_row(lft, shortest->at[0])[dlid->lid] = dlid->port;
}

void fab_route_balance_add(struct fab_balancer *b, const struct fab_dlid *dlid,
                           enum fab_balance how, struct fab_lft *lft)
{
    b->cost[b->shortest->at[0]] = 0;
    for (uint32_t i = 1; i < b->shortest->reached; i++) {
        choose_port(b, dlid, i);
        if (how == FAB_BALANCE_SPREAD && b->g->hosts[b->shortest->at[i]] > 0)
            carry_own(b, b->shortest->at[i]);
    }
    if (how == FAB_BALANCE_TOGETHER)
        carry_flows(b);
    write_entries(b, dlid, lft);
}

static uint32_t port_of(const struct fab_balancer *b, uint32_t sw, const struct fab_dlid *dlid,
                        const struct fab_lft *lft)
{
    return b->number[fab_fabric_port_id(b->f, sw, fab_target_lft_at(lft, sw, dlid->lid))];
}

/* Adds to load[] the loads that the entries for the DLID (destination LID) cause. If `add` is
 * false, subtracts them from load[]. */
static void follow(struct fab_balancer *b, const struct fab_dlid *dlid, const struct fab_lft *lft,
                   bool add)
{
    for (uint32_t i = b->shortest->reached; i-- > 1;) {
        uint32_t sw = b->shortest->at[i];
        if (!b->shortest->used[sw])
            continue;
        uint32_t port = port_of(b, sw, dlid, lft);
        uint64_t arriving = b->flow[sw] + b->g->hosts[sw], load = arriving * b->g->port_slow[port];
        b->flow[sw] = 0;
        b->flow[b->g->port_peer[port]] += arriving;
        b->load[port] += add ? load : -load;
    }
    b->flow[b->shortest->at[0]] = 0;
}

void fab_route_balance_count(struct fab_balancer *b, const struct fab_dlid *dlid,
                             const struct fab_lft *lft)
{
    follow(b, dlid, lft, true);
}

void fab_route_balance_remove(struct fab_balancer *b, const struct fab_dlid *dlid,
                              const struct fab_lft *lft)
{
    follow(b, dlid, lft, false);
}

/* Returns true if the load of a link exceeds `limit`, and a switch that is on a shortest path from
 * some host to the LID sends to the LID over this link. */
static bool exceeds(const struct fab_balancer *b, const struct fab_dlid *dlid,
                    const struct fab_lft *lft, uint64_t limit)
{
    for (uint32_t i = 1; i < b->shortest->reached; i++) {
        uint32_t sw = b->shortest->at[i];
        if (b->shortest->used[sw] && b->load[port_of(b, sw, dlid, lft)] > limit)
            return true;
    }
    return false;
}

/* ---- rerouting ------------------------------------------------------------------------------- */

bool fab_route_balance_limit(const struct fab_balancer *b, uint32_t percent, uint64_t *ret_limit)
{
    uint64_t most = 0, sum = 0, ports = b->g->port_at[b->g->n];
    for (uint64_t port = 0; port < ports; port++) {
        most = b->load[port] > most ? b->load[port] : most;
        sum += b->load[port];
    }
    *ret_limit = ports > 0 ? sum * percent / 100 / ports : 0;
    return most > *ret_limit;
}

void fab_route_balance_reroute(struct fab_balancer *b, const struct fab_destinations *destinations,
                               uint32_t index, uint64_t limit, enum fab_balance how,
                               struct fab_lft *lft)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    for (uint32_t offset = 0; offset < destinations->lids_each; offset++) {
        uint32_t count = fab_route_destinations_dlids(destinations, index, offset, dlids);
        for (uint32_t i = 0; i < count && dlids[i].loaded; i++) {
            if (!exceeds(b, &dlids[i], lft, limit))
                continue;
            fab_route_balance_remove(b, &dlids[i], lft);
            fab_route_balance_add(b, &dlids[i], how, lft);
        }
    }
}
