/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "nue": any topology, any number of lanes, never a circle of waiting buffers (after
 * Domke, Hoefler, Matsuoka, "Routing on the dependency graph", HPDC 2016).
 *
 *   order.c    an order of the switches, as for updn: what the graph of turns begins with
 *   turns.c    which turns are in use, and whether one more closes a circle
 *   detours.c  ways to one destination switch over turns that may be used; the escape tree
 *   share.c    which of them each LID takes
 *
 * First every destination switch with hosts gets its ways as short as cables allow, if it can.
 * Those that cannot go to further lanes, where there are any: a lane is a graph of turns of its
 * own. Those that are left, and switches that have no hosts, take what they get: detours where
 * turns are missing, the escape tree where nothing else is left. So it ends well on one lane too.
 * Then ways are widened, and LIDs spread over them.
 *
 * Unlike the paper's, the search is one for each destination switch and not for each LID, and turns
 * that climb and then descend cost nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines.h"
#include "libfabmgr/route/share.h"

/* Choices are made again while the load is more uneven than this (greatest over mean, in percent),
 * so many times, with so many looks at a port in all. */
#define EVEN_PERCENT 110
#define ROUNDS 8
#define ROUNDS_WORK (UINT64_C(1) << 28)
#define PATIENCE_ARC 4096 /* looks for circles for each arc, in all */

struct nue {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_order order;
    struct fab_slopes slopes;
    struct fab_roster roster;
    struct fab_turns turns[FAB_VLS_MAX];
    struct fab_detours detours;
    struct fab_share share;
    uint32_t lanes, lanes_most;
    uint8_t *lane; /* [n] of the destination at sequence[i]; NO_LANE: not found yet */
    uint8_t *slot; /* [n][n] first arc's, at each switch to the destination at sequence[i] */
    uint64_t late; /* pairs of hosts whose way is longer than needed */
    struct fab_lft lft;
};
#define NO_LANE 0xff

static int add_lane(struct nue *u, bool last)
{
    int status = fab_turns_init(&u->turns[u->lanes], &u->graph, &u->order);
    if (status != FAB_OK)
        return status;
    u->turns[u->lanes].patience = (uint64_t)u->turns[u->lanes].arcs * PATIENCE_ARC;
    u->detours.turns = &u->turns[u->lanes++];
    if (last)
        fab_detours_plant(&u->detours);
    return FAB_OK;
}

/* The ways to the destination at sequence[i], in the lane at hand. */
static void find(struct nue *u, uint32_t i, bool strict)
{
    struct fab_detours *d = &u->detours;
    uint32_t home = u->roster.sequence[i];
    if (u->lane[i] != NO_LANE || !fab_detours_find(d, home, strict))
        return;
    u->lane[i] = (uint8_t)(u->lanes - 1);
    u->late += d->late * u->graph.hosts[home];
    memcpy(u->slot + (size_t)i * u->graph.n, d->slot, u->graph.n);
}

static void find_all(struct nue *u)
{
    for (uint32_t i = 0; i < u->roster.edges; i++)
        find(u, i, true);
    for (uint32_t i = 0; i < u->roster.edges; i++)
        find(u, i, false);
}

static void find_rest(struct nue *u)
{
    u->turns[0].patience = (uint64_t)u->turns[0].arcs * 64;
    for (uint32_t i = 0; i < u->graph.n; i++)
        find(u, i, false);
}

static void recall(struct nue *u, uint32_t i)
{
    u->detours.turns = &u->turns[u->lane[i]];
    memcpy(u->detours.slot, u->slot + (size_t)i * u->graph.n, u->graph.n);
    fab_detours_recall(&u->detours, u->roster.sequence[i]);
}

static void widen_all(struct nue *u)
{
    for (uint32_t i = 0; i < u->roster.edges; i++) {
        recall(u, i);
        fab_detours_widen(&u->detours, true);
    }
}

/* The greatest load over the mean, in percent. */
static uint64_t unevenness(const struct nue *u)
{
    uint64_t most = 0, sum = 0, ports = u->graph.port_at[u->graph.n];
    for (uint64_t i = 0; i < ports; i++) {
        most = u->share.load[i] > most ? u->share.load[i] : most;
        sum += u->share.load[i];
    }
    return sum > 0 ? most * ports * 100 / sum : 0;
}

static void share_once(struct nue *u, bool again)
{
    struct fab_lane lanes[FAB_LANES];
    uint32_t end = again ? u->roster.edges : u->graph.n;
    for (uint32_t i = 0; i < end; i++) {
        recall(u, i);
        fab_detours_widen(&u->detours, false);
        for (uint32_t offset = 0; offset < u->roster.lids_each; offset++) {
            uint32_t count = fab_roster_lanes(&u->roster, i, offset, lanes);
            fab_share_lanes(&u->share, &u->detours, lanes, count, again, &u->lft);
        }
    }
}

static void share_all(struct nue *u)
{
    uint64_t work = ((uint64_t)u->graph.port_at[u->graph.n] + 1) * (u->in->lids->top + 1);
    share_once(u, false);
    for (uint64_t round = 1; round < ROUNDS && round * work < ROUNDS_WORK; round++) {
        if (unevenness(u) <= EVEN_PERCENT)
            break;
        share_once(u, true);
    }
}

static int prepare(struct nue *u)
{
    const struct fab_route_input *in = u->in;
    int status = fab_graph_make(in->fabric, &u->graph);
    if (status == FAB_OK)
        status = fab_order_find(&u->graph, in->fabric, in->policy, &u->order);
    if (status == FAB_OK)
        status = fab_slopes_make(&u->graph, &u->order, &u->slopes);
    if (status == FAB_OK)
        status = fab_roster_make(in, &u->graph, &u->slopes, &u->roster);
    if (status == FAB_OK)
        status = fab_turns_init(&u->turns[0], &u->graph, &u->order);
    if (status == FAB_OK)
        status = fab_detours_init(&u->detours, &u->graph, &u->order, &u->turns[0]);
    fab_turns_fini(&u->turns[0]);
    if (status == FAB_OK)
        status = fab_share_init(&u->share, &u->graph, &u->order);
    if (status == FAB_OK)
        status = fab_lft_init(&u->lft, in->fabric->switch_count, in->lids->top);
    if (status != FAB_OK)
        return status;
    size_t n = (size_t)u->graph.n;
    u->lane = malloc(n + 1);
    u->slot = calloc(n + 1, n + 1);
    if (u->lane == NULL || u->slot == NULL)
        return FAB_E_NOMEM;
    memset(u->lane, NO_LANE, n);
    return FAB_OK;
}

static int route(struct nue *u)
{
    int status = add_lane(u, true);
    if (status != FAB_OK)
        return status;
    find_all(u);
    widen_all(u);
    find_rest(u);
    if (u->turns[0].no_memory)
        return FAB_E_NOMEM;
    share_all(u);
    return FAB_OK;
}

static uint64_t pairs(const struct fab_graph *g)
{
    uint64_t hosts = 0;
    for (uint32_t s = 0; s < g->n; s++)
        hosts += g->hosts[s];
    return hosts * hosts;
}

static void remark(const struct nue *u, char *why, size_t why_len)
{
    uint64_t all = pairs(&u->graph);
    if (why_len == 0)
        return;
    if (u->late == 0)
        snprintf(why, why_len, "one lane, all ways between hosts are as short as cables allow; %s",
                 u->order.origin);
    else
        snprintf(why, why_len, "one lane, %.1f%% of the ways between hosts are detours; %s",
                 (double)u->late * 100 / (double)all, u->order.origin);
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    (void)ret_vls;
    struct nue u = {.in = in};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int status = prepare(&u);
    if (status == FAB_OK)
        status = route(&u);
    if (status == FAB_OK) {
        remark(&u, why, why_len);
        *ret_lft = u.lft;
    } else {
        fab_lft_fini(&u.lft);
    }
    free(u.lane);
    free(u.slot);
    fab_share_fini(&u.share);
    fab_detours_fini(&u.detours);
    for (uint32_t i = 0; i < u.lanes; i++)
        fab_turns_fini(&u.turns[i]);
    fab_roster_fini(&u.roster);
    fab_slopes_fini(&u.slopes);
    fab_order_fini(&u.order);
    fab_graph_fini(&u.graph);
    return status;
}

const struct fab_route_engine fab_route_nue = {
    .name = "nue",
    .summary = "any topology on any number of VLs: short ways by turns that close no circle",
    .run = run,
};
