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
#define ROUNDS 6
#define ROUNDS_WORK (UINT64_C(1) << 27)
/* Then ways to the LIDs that use what is still crowded part, where that helps, so many times. */
#define CROWDED_PERCENT 125
#define RELIEFS 4
/* Looks for circles for each arc, in all: on the way to hosts, and to switches without. */
#define PATIENCE_ARC 4096
#define PATIENCE_REST 64
/* More lanes are taken when more than one of so many pairs of hosts had detours. */
#define FEW 100

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

/* A graph of turns more. The first one and the last one that there can be have the escape tree. */
static int add_lane(struct nue *u)
{
    struct fab_turns *t = &u->turns[u->lanes];
    int status = fab_turns_init(t, &u->graph, &u->order);
    if (status != FAB_OK)
        return status;
    t->patience = (uint64_t)t->arcs * PATIENCE_ARC;
    u->detours.turns = t;
    u->lanes++;
    if (u->lanes == 1 || u->lanes == u->lanes_most)
        fab_detours_plant(&u->detours);
    return FAB_OK;
}

static void keep(struct nue *u, uint32_t i, uint32_t lane)
{
    u->lane[i] = (uint8_t)lane;
    memcpy(u->slot + (size_t)i * u->graph.n, u->detours.slot, u->graph.n);
}

/* The ways to the destination at sequence[i], in the lane at hand. */
static void find(struct nue *u, uint32_t i, bool strict)
{
    uint32_t home = u->roster.sequence[i];
    if (u->lane[i] != NO_LANE || !fab_detours_find(&u->detours, home, strict))
        return;
    keep(u, i, u->lanes - 1);
    u->late += u->detours.late * u->graph.hosts[home];
}

/* Those with hosts that have no lane yet; as short as can be, or (not strict) as they come. Returns
 * how many are left. */
static uint32_t find_loaded(struct nue *u, bool strict)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < u->roster.edges; i++) {
        find(u, i, strict);
        left += u->lane[i] == NO_LANE;
    }
    return left;
}

static uint64_t pairs(const struct fab_graph *g)
{
    uint64_t hosts = 0;
    for (uint32_t s = 0; s < g->n; s++)
        hosts += g->hosts[s];
    return hosts * hosts;
}

/* Pairs of hosts with detours if there were no other lane. */
static uint64_t late_if_one(struct nue *u)
{
    uint64_t late = 0;
    for (uint32_t i = 0; i < u->roster.edges; i++) {
        uint32_t home = u->roster.sequence[i];
        if (u->lane[i] == NO_LANE)
            late += fab_detours_try(&u->detours, home) * u->graph.hosts[home];
    }
    return late;
}

/* In the lane where it has the fewest detours. */
static void find_best(struct nue *u, uint32_t i)
{
    uint64_t least = UINT64_MAX;
    uint32_t home = u->roster.sequence[i], best = 0;
    if (u->lane[i] != NO_LANE)
        return;
    for (uint32_t lane = 0; lane < u->lanes; lane++) {
        if (lane > 0 && lane + 1 < u->lanes_most)
            continue;
        u->detours.turns = &u->turns[lane];
        uint64_t late = fab_detours_try(&u->detours, home);
        if (late < least) {
            least = late;
            best = lane;
        }
    }
    u->detours.turns = &u->turns[best];
    fab_detours_find(&u->detours, home, false);
    keep(u, i, best);
    u->late += u->detours.late * u->graph.hosts[home];
}

static int find_lanes(struct nue *u)
{
    int status = add_lane(u);
    uint32_t left = status == FAB_OK ? find_loaded(u, true) : 0;
    bool more = left > 0 && u->lanes_most > 1 && late_if_one(u) * FEW > pairs(&u->graph);
    while (status == FAB_OK && left > 0 && more && u->lanes < u->lanes_most) {
        status = add_lane(u);
        if (status == FAB_OK)
            left = find_loaded(u, true);
    }
    for (uint32_t i = 0; i < u->roster.edges && status == FAB_OK; i++)
        find_best(u, i);
    return status;
}

/* Switches without hosts: nobody waits for their ways, so that little is spent on them. */
static void find_rest(struct nue *u)
{
    u->detours.turns = &u->turns[0];
    u->turns[0].patience = (uint64_t)u->turns[0].arcs * PATIENCE_REST;
    for (uint32_t i = u->roster.edges; i < u->graph.n; i++) {
        fab_detours_find(&u->detours, u->roster.sequence[i], false);
        keep(u, i, 0);
    }
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

struct load {
    uint64_t most, mean;
};

static struct load measure(const struct nue *u)
{
    uint64_t sum = 0, ports = u->graph.port_at[u->graph.n];
    struct load l = {.most = 0};
    for (uint64_t i = 0; i < ports; i++) {
        l.most = u->share.load[i] > l.most ? u->share.load[i] : l.most;
        sum += u->share.load[i];
    }
    l.mean = ports > 0 ? sum / ports : 0;
    return l;
}

static bool is_uneven(const struct load *l, uint32_t percent)
{
    return l->most * 100 > l->mean * percent;
}

enum round { FIRST, AGAIN, RELIEF };

static void share_once(struct nue *u, enum round round, uint64_t most)
{
    struct fab_lane lanes[FAB_LANES];
    uint32_t end = round == FIRST ? u->graph.n : u->roster.edges;
    for (uint32_t i = 0; i < end; i++) {
        recall(u, i);
        fab_detours_widen(&u->detours, false);
        for (uint32_t offset = 0; offset < u->roster.lids_each; offset++) {
            uint32_t count = fab_roster_lanes(&u->roster, i, offset, lanes);
            if (round == RELIEF)
                fab_share_relieve(&u->share, &u->detours, lanes, count, most, &u->lft);
            else
                fab_share_lanes(&u->share, &u->detours, lanes, count, round == AGAIN, &u->lft);
        }
    }
}

static void share_all(struct nue *u)
{
    uint64_t work = ((uint64_t)u->graph.port_at[u->graph.n] + 1) * (u->in->lids->top + 1), done = 0;
    uint64_t most = UINT64_MAX;
    share_once(u, FIRST, 0);
    for (unsigned round = 1; round < ROUNDS + RELIEFS && (done += work) < ROUNDS_WORK; round++) {
        struct load l = measure(u);
        bool relief = round >= ROUNDS;
        if (!is_uneven(&l, relief ? CROWDED_PERCENT : EVEN_PERCENT) ||
            (round > ROUNDS && l.most >= most))
            break;
        most = l.most;
        share_once(u, relief ? RELIEF : AGAIN, most * 9 / 10);
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

static int tell_lanes(const struct nue *u, struct fab_vls *vls)
{
    struct fab_lane lanes[FAB_LANES];
    if (u->lanes < 2)
        return FAB_OK;
    fab_vls_init(vls, (uint8_t)u->lanes);
    int status = fab_vls_by_lid(vls, u->in->lids->top);
    for (uint32_t i = 0; i < u->graph.n && status == FAB_OK; i++) {
        for (uint32_t offset = 0; offset < u->roster.lids_each; offset++) {
            uint32_t count = fab_roster_lanes(&u->roster, i, offset, lanes);
            for (uint32_t l = 0; l < count; l++)
                vls->of_lid[lanes[l].lid] = u->lane[i];
        }
    }
    return status;
}

static int route(struct nue *u, struct fab_vls *vls)
{
    bool no_memory = false;
    int status = find_lanes(u);
    if (status != FAB_OK)
        return status;
    widen_all(u);
    find_rest(u);
    for (uint32_t i = 0; i < u->lanes; i++)
        no_memory = no_memory || u->turns[i].no_memory;
    if (no_memory)
        return FAB_E_NOMEM;
    share_all(u);
    return tell_lanes(u, vls);
}

static void remark(const struct nue *u, char *why, size_t why_len)
{
    uint64_t all = pairs(&u->graph);
    char lanes[64] = "one lane";
    if (why_len == 0)
        return;
    if (u->lanes > 1)
        snprintf(lanes, sizeof(lanes), "%u of %u lanes, as one made detours needed", u->lanes,
                 u->lanes_most);
    if (u->late == 0)
        snprintf(why, why_len, "%s: all ways between hosts are as short as cables allow; %s", lanes,
                 u->order.origin);
    else
        snprintf(why, why_len, "%s: %.1f%% of the ways between hosts are detours; %s", lanes,
                 (double)u->late * 100 / (double)all, u->order.origin);
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    uint32_t weakest;
    struct nue u = {.in = in,
                    .lanes_most = fab_route_vls_available(in->fabric, in->policy, &weakest)};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int status = prepare(&u);
    if (status == FAB_OK)
        status = route(&u, ret_vls);
    if (status == FAB_OK) {
        remark(&u, why, why_len);
        *ret_lft = u.lft;
    } else {
        fab_lft_fini(&u.lft);
        fab_vls_fini(ret_vls);
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
