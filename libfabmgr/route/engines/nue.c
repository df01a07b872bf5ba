/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "nue": any topology, any number of lanes, never a circle of waiting buffers (after
 * Domke, Hoefler, Matsuoka, "Routing on the dependency graph", HPDC 2016).
 *
 *   order.c    an order of the switches, as for updn: what the graph of turns begins with
 *   turns.c    which turns are in use, and whether one more closes a circle
 *   detours.c  ways to one destination switch over turns that may be used; the escape tree
 *   balance.c  which of them each LID takes, as for sssp
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
#include "libfabmgr/route/balance/balance.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/nue/search.h"

/* Percent of the mean load above which a cable is crowded, or overloaded; rounds for the first
 * reason, as far as the work (looks at a port) is not more than this. */
#define CROWDED_PERCENT 110
#define OVERLOADED_PERCENT 150
#define ROUNDS 4
#define ROUNDS_WORK (UINT64_C(1) << 28)
/* Looks for circles for each arc, in all: on the way to hosts, and to switches without. */
#define PATIENCE_ARC 4096
#define PATIENCE_REST 64
/* More lanes are taken when more than one of so many pairs of hosts had detours. */
#define FEW 100

struct nue {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_order order;
    struct fab_updown slopes;
    struct fab_destinations roster;
    struct fab_cdg turns[FAB_VLS_MAX];
    struct fab_nue detours;
    struct fab_shortest near;
    struct fab_balancer balance;
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
    struct fab_cdg *t = &u->turns[u->lanes];
    int status = fab_route_cdg_init(t, &u->graph, &u->order);
    if (status != FAB_OK)
        return status;
    t->patience = (uint64_t)t->arcs * PATIENCE_ARC;
    u->detours.turns = t;
    u->lanes++;
    if (u->lanes == 1 || u->lanes == u->lanes_most)
        fab_route_nue_add_escape_tree(&u->detours);
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
    if (u->lane[i] != NO_LANE || !fab_route_nue_find(&u->detours, home, strict))
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
            late += fab_route_nue_count_detours(&u->detours, home) * u->graph.hosts[home];
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
        uint64_t late = fab_route_nue_count_detours(&u->detours, home);
        if (late < least) {
            least = late;
            best = lane;
        }
    }
    u->detours.turns = &u->turns[best];
    fab_route_nue_find(&u->detours, home, false);
    keep(u, i, best);
    u->late += u->detours.late * u->graph.hosts[home];
}

static void recall(struct nue *u, uint32_t i)
{
    u->detours.turns = &u->turns[u->lane[i]];
    memcpy(u->detours.slot, u->slot + (size_t)i * u->graph.n, u->graph.n);
    fab_route_nue_restore(&u->detours, u->roster.sequence[i]);
}

static void widen_all(struct nue *u)
{
    for (uint32_t i = 0; i < u->roster.edges; i++) {
        if (u->lane[i] == NO_LANE)
            continue;
        recall(u, i);
        fab_route_nue_find_alternatives(&u->detours, true);
    }
}

/* Where some switches have no hosts, up and down mean something: those whose ways climb and descend
 * come first, with all their breadth. */
static void find_easy(struct nue *u)
{
    uint64_t patience = u->turns[0].patience;
    u->turns[0].patience = 0;
    find_loaded(u, true);
    widen_all(u);
    u->turns[0].patience = patience;
}

static int find_lanes(struct nue *u)
{
    int status = add_lane(u);
    if (status == FAB_OK && u->roster.edges < u->graph.n)
        find_easy(u);
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
        fab_route_nue_find(&u->detours, u->roster.sequence[i], false);
        keep(u, i, 0);
    }
}

/* ---- LIDs ------------------------------------------------------------------------------------ */

static void find_candidates(struct nue *u, uint32_t i)
{
    recall(u, i);
    fab_route_nue_find_alternatives(&u->detours, false);
    fab_route_nue_candidates(&u->detours, &u->near);
}

/* No host sends there: by the port that D-mod-k takes. */
static void write_idle(struct nue *u, const struct fab_dlid *lane)
{
    for (uint32_t i = 1; i < u->near.reached; i++) {
        uint32_t s = u->near.at[i], count = u->near.first[i + 1] - u->near.first[i];
        uint32_t which = lane->number / u->order.spread[s] % count;
        fab_lft_row(&u->lft, s)[lane->lid] =
            u->graph.port_num[u->near.port[u->near.first[i] + which]];
    }
    fab_lft_row(&u->lft, u->near.at[0])[lane->lid] = lane->port;
}

static void share_all(struct nue *u)
{
    struct fab_dlid lanes[FAB_DLIDS_MAX];
    for (uint32_t i = 0; i < u->graph.n; i++) {
        find_candidates(u, i);
        for (uint32_t offset = 0; offset < u->roster.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&u->roster, i, offset, lanes);
            for (uint32_t l = 0; l < count; l++) {
                if (lanes[l].loaded)
                    fab_route_balance_add(&u->balance, &lanes[l], FAB_BALANCE_TOGETHER, &u->lft);
                else
                    write_idle(u, &lanes[l]);
            }
        }
    }
}

/* LIDs that take a cable with more than so many percent of the mean load choose once more, now that
 * all others are known. False: there are none. */
static bool relieve(struct nue *u, uint32_t percent, enum fab_balance how)
{
    struct fab_dlid lanes[FAB_DLIDS_MAX];
    uint64_t most = 0, sum = 0, ports = u->graph.port_at[u->graph.n];
    for (uint64_t i = 0; i < ports; i++) {
        most = u->balance.load[i] > most ? u->balance.load[i] : most;
        sum += u->balance.load[i];
    }
    uint64_t limit = ports > 0 ? sum * percent / 100 / ports : 0;
    if (most <= limit)
        return false;
    for (uint32_t i = 0; i < u->roster.edges; i++) {
        find_candidates(u, i);
        for (uint32_t offset = 0; offset < u->roster.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&u->roster, i, offset, lanes);
            for (uint32_t l = 0; l < count && lanes[l].loaded; l++) {
                if (!fab_route_balance_exceeds(&u->balance, &lanes[l], &u->lft, limit))
                    continue;
                fab_route_balance_remove(&u->balance, &lanes[l], &u->lft);
                fab_route_balance_add(&u->balance, &lanes[l], how, &u->lft);
            }
        }
    }
    return true;
}

static void relieve_all(struct nue *u)
{
    uint64_t work = ((uint64_t)u->graph.port_at[u->graph.n] + 1) * (u->in->lids->top + 1);
    for (uint64_t round = 1; round <= ROUNDS && round * work <= ROUNDS_WORK; round++) {
        if (!relieve(u, CROWDED_PERCENT, FAB_BALANCE_TOGETHER))
            return;
    }
    if (work <= ROUNDS_WORK)
        relieve(u, OVERLOADED_PERCENT, FAB_BALANCE_SPREAD);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int prepare(struct nue *u)
{
    const struct fab_route_input *in = u->in;
    int status = fab_route_graph_make(in->fabric, &u->graph);
    if (status == FAB_OK)
        status = fab_route_order_find(&u->graph, in->fabric, in->policy, &u->order);
    if (status == FAB_OK)
        status = fab_route_updown_make(&u->graph, &u->order, &u->slopes);
    if (status == FAB_OK)
        status = fab_route_destinations_make(in, &u->graph, &u->slopes, &u->roster);
    if (status == FAB_OK)
        status = fab_route_cdg_init(&u->turns[0], &u->graph, &u->order);
    if (status == FAB_OK)
        status = fab_route_nue_init(&u->detours, &u->graph, &u->order, &u->turns[0]);
    fab_route_cdg_fini(&u->turns[0]);
    if (status == FAB_OK)
        status = fab_route_shortest_init(&u->near, &u->graph);
    if (status == FAB_OK)
        status = fab_route_balance_init(&u->balance, in->fabric, &u->graph, &u->order, &u->near);
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
    struct fab_dlid lanes[FAB_DLIDS_MAX];
    if (u->lanes < 2)
        return FAB_OK;
    fab_vls_init(vls, (uint8_t)u->lanes);
    int status = fab_vls_by_lid(vls, u->in->lids->top);
    for (uint32_t i = 0; i < u->graph.n && status == FAB_OK; i++) {
        for (uint32_t offset = 0; offset < u->roster.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&u->roster, i, offset, lanes);
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
    u->balance.whole = true;
    share_all(u);
    relieve_all(u);
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
    fab_route_balance_fini(&u.balance);
    fab_route_shortest_fini(&u.near);
    fab_route_nue_fini(&u.detours);
    for (uint32_t i = 0; i < u.lanes; i++)
        fab_route_cdg_fini(&u.turns[i]);
    fab_route_destinations_fini(&u.roster);
    fab_route_updown_fini(&u.slopes);
    fab_route_order_fini(&u.order);
    fab_route_graph_fini(&u.graph);
    return status;
}

const struct fab_route_engine fab_route_engine_nue = {
    .name = "nue",
    .summary = "any topology on any number of VLs: short ways by turns that close no circle",
    .run = run,
};
