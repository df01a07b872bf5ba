/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines "sssp" and "minhop": shortest ways with balanced load on any topology (Hoefler,
 * Schneider, Lumsdaine, "Optimized routing for large-scale InfiniBand networks", HOTI 2009).
 *
 * LID by LID, each switch takes a port on a shortest way: the one from which the rest of the way
 * carries the least in sum (minhop: whose own cable carries the least), and then all cables on the
 * ways to this LID are loaded with the hosts that send over them, times their slowness. Since the
 * number of hops comes first, switches are visited from the nearest to the farthest, and no heap is
 * needed; loads are carried from the farthest to the nearest, and no way is followed twice. Where
 * ways are equal, D-mod-k decides: a regular tree gets the tables that it would get from it.
 *
 * Nothing here makes the ways free of cycles of waiting buffers; the proof decides. But ways that
 * no host uses (to switches and aggregation nodes; from switches which no host's way to the LID
 * touches) are free to avoid what may close one: among the shortest, they take those with the
 * fewest turns from down to up in the order that updn would use (order.c), and then the least load.
 * With hosts on leaves and aggregation nodes on every switch of a tree this is enough.
 *
 * Work: hosts * cables / 2, some 0.3 G looks at a port for 11,664 hosts.
 */
#include "libfabmgr/route/sssp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines.h"
#include "libfabmgr/route/near.h"
#include "libfabmgr/route/roster.h"

#define TURN (UINT64_C(1) << 48) /* more than any sum of loads */

struct sssp {
    const struct fab_route_input *in;
    const struct fab_graph *g;
    struct fab_order order;
    struct fab_slopes slopes;
    struct fab_roster roster;
    struct fab_near near;
    uint64_t sight; /* mask: of the rest of the way, what counts */
    uint64_t *load; /* [ports] host pairs over the port, times its slowness */
    uint64_t *cost; /* [n] of the way from the switch to the LID at hand */
    uint32_t *pick; /* [n] the port that it takes */
    bool *climbs;   /* [n] that port leads up */
    uint64_t *flow; /* [n] hosts whose packets to the LID come through; 0 between LIDs */
    struct fab_lft lft;
};

/* ---- one LID ----------------------------------------------------------------------------------
 */

/* The cheapest of the candidates, the first from `preferred` on where they are equal. */
static uint32_t cheapest(const struct sssp *s, const uint32_t *candidate, uint32_t count,
                         uint32_t preferred, uint64_t *ret_cost)
{
    const uint32_t *peer = s->g->port_peer;
    const uint64_t *cost = s->cost, *load = s->load;
    uint32_t best = candidate[preferred];
    uint64_t least = UINT64_MAX;
    for (uint32_t i = preferred; i < count; i++) {
        uint32_t port = candidate[i];
        uint64_t sum = (cost[peer[port]] & s->sight) + load[port];
        best = sum < least ? port : best;
        least = sum < least ? sum : least;
    }
    for (uint32_t i = 0; i < preferred; i++) {
        uint32_t port = candidate[i];
        uint64_t sum = (cost[peer[port]] & s->sight) + load[port];
        best = sum < least ? port : best;
        least = sum < least ? sum : least;
    }
    *ret_cost = least;
    return best;
}

/* Likewise, fewest turns first. */
static uint32_t straightest(const struct sssp *s, uint32_t sw, const uint32_t *candidate,
                            uint32_t count, uint32_t preferred, uint64_t *ret_cost)
{
    uint32_t best = candidate[preferred];
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = candidate[preferred + i < count ? preferred + i : preferred + i - count];
        uint32_t peer = s->g->port_peer[port];
        bool turns = s->climbs[peer] && !fab_order_is_up(&s->order, sw, peer);
        uint64_t sum = s->cost[peer] + s->load[port] + (turns ? TURN : 0);
        if (sum < least) {
            least = sum;
            best = port;
        }
    }
    *ret_cost = least;
    return best;
}

static void choose_ways(struct sssp *s, const struct fab_lane *lane)
{
    const struct fab_near *near = &s->near;
    s->cost[near->at[0]] = 0;
    s->climbs[near->at[0]] = false;
    for (uint32_t i = 1; i < near->reached; i++) {
        uint32_t sw = near->at[i], count = near->first[i + 1] - near->first[i];
        const uint32_t *candidate = near->port + near->first[i];
        uint32_t preferred = count > 1 ? lane->number / s->order.spread[sw] % count : 0;
        uint32_t port = lane->loaded && near->used[sw]
                            ? cheapest(s, candidate, count, preferred, &s->cost[sw])
                            : straightest(s, sw, candidate, count, preferred, &s->cost[sw]);
        s->pick[sw] = port;
        s->climbs[sw] = fab_order_is_up(&s->order, sw, s->g->port_peer[port]);
    }
}

static void write_entries(struct sssp *s, const struct fab_lane *lane)
{
    for (uint32_t i = 1; i < s->near.reached; i++) {
        uint32_t sw = s->near.at[i];
        fab_lft_row(&s->lft, sw)[lane->lid] = s->g->port_num[s->pick[sw]];
    }
    fab_lft_row(&s->lft, s->near.at[0])[lane->lid] = lane->port;
}

static void carry_flows(struct sssp *s)
{
    const struct fab_graph *g = s->g;
    for (uint32_t i = s->near.reached; i-- > 1;) {
        uint32_t sw = s->near.at[i], port = s->pick[sw];
        uint64_t arriving = s->flow[sw] + g->hosts[sw];
        s->flow[sw] = 0;
        s->flow[g->port_peer[port]] += arriving;
        s->load[port] += arriving * g->port_slow[port];
    }
    s->flow[s->near.at[0]] = 0;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static void route_switch(struct sssp *s, uint32_t index)
{
    struct fab_lane lanes[FAB_LANES];
    fab_near_find(&s->near, s->roster.sequence[index]);
    for (uint32_t offset = 0; offset < s->roster.lids_each; offset++) {
        uint32_t count = fab_roster_lanes(&s->roster, index, offset, lanes);
        for (uint32_t i = 0; i < count; i++) {
            choose_ways(s, &lanes[i]);
            write_entries(s, &lanes[i]);
            if (lanes[i].loaded)
                carry_flows(s);
        }
    }
}

static int prepare(struct sssp *s)
{
    const struct fab_route_input *in = s->in;
    size_t n = (size_t)s->g->n + 1;
    int ret = fab_order_find(s->g, in->fabric, in->policy, &s->order);
    if (ret == FAB_OK)
        ret = fab_slopes_make(s->g, &s->order, &s->slopes);
    if (ret == FAB_OK)
        ret = fab_roster_make(in, s->g, &s->slopes, &s->roster);
    if (ret == FAB_OK)
        ret = fab_near_init(&s->near, s->g);
    if (ret == FAB_OK)
        ret = fab_lft_init(&s->lft, in->fabric->switch_count, in->lids->top);
    if (ret != FAB_OK)
        return ret;
    s->load = calloc((size_t)s->g->port_at[s->g->n] + 1, sizeof(*s->load));
    s->cost = calloc(n, sizeof(*s->cost));
    s->pick = calloc(n, sizeof(*s->pick));
    s->climbs = calloc(n, sizeof(*s->climbs));
    s->flow = calloc(n, sizeof(*s->flow));
    return s->load && s->cost && s->pick && s->climbs && s->flow ? FAB_OK : FAB_E_NOMEM;
}

static void fini(struct sssp *s)
{
    fab_near_fini(&s->near);
    fab_roster_fini(&s->roster);
    fab_slopes_fini(&s->slopes);
    fab_order_fini(&s->order);
    free(s->load);
    free(s->cost);
    free(s->pick);
    free(s->climbs);
    free(s->flow);
}

int fab_sssp_route(const struct fab_route_input *in, const struct fab_graph *g,
                   enum fab_sssp_sight sight, struct fab_lft *ret_lft)
{
    struct sssp s = {.in = in, .g = g, .sight = sight == FAB_SSSP_WHOLE_WAY ? UINT64_MAX : 0};
    int ret = prepare(&s);
    if (ret == FAB_OK) {
        for (uint32_t index = 0; index < g->n; index++)
            route_switch(&s, index);
        *ret_lft = s.lft;
    } else {
        fab_lft_fini(&s.lft);
    }
    fini(&s);
    return ret;
}

/* ---- the engines ------------------------------------------------------------------------------
 */

static int run(const struct fab_route_input *in, enum fab_sssp_sight sight, struct fab_lft *ret_lft,
               char *why, size_t why_len)
{
    struct fab_graph graph;
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = fab_graph_make(in->fabric, &graph);
    if (ret != FAB_OK)
        return ret;
    ret = fab_sssp_route(in, &graph, sight, ret_lft);
    fab_graph_fini(&graph);
    if (ret == FAB_OK && why_len > 0)
        snprintf(why, why_len, "shortest ways, on one lane, as far as the proof allows");
    return ret;
}

static int run_minhop(const struct fab_route_input *in, struct fab_lft *ret_lft,
                      struct fab_vls *ret_vls, char *why, size_t why_len)
{
    (void)ret_vls; /* one lane */
    return run(in, FAB_SSSP_NEXT_CABLE, ret_lft, why, why_len);
}

static int run_sssp(const struct fab_route_input *in, struct fab_lft *ret_lft,
                    struct fab_vls *ret_vls, char *why, size_t why_len)
{
    (void)ret_vls; /* one lane */
    return run(in, FAB_SSSP_WHOLE_WAY, ret_lft, why, why_len);
}

const struct fab_route_engine fab_route_minhop = {
    .name = "minhop",
    .summary = "shortest ways, least-loaded ports, one VL; only where that proves to be safe",
    .run = run_minhop,
};
const struct fab_route_engine fab_route_sssp = {
    .name = "sssp",
    .summary = "shortest ways, least load along the whole way, one VL; only where that proves to "
               "be safe",
    .run = run_sssp,
};
