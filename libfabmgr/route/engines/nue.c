/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "nue" routes any topology on any number of virtual lanes, always deadlock-free (after
 * Domke, Hoefler, Matsuoka, "Routing on the dependency graph", HPDC 2016). The parts are:
 *
 *   switch_order.c  the order of the switches, as for updn; it gives the initial order of the
 *                   channel dependency graph (CDG)
 *   acyclic_cdg.c   which dependencies are in use, and whether one more closes a cycle
 *   search.c        paths to one destination switch over permitted dependencies; the escape tree
 *   alternatives.c  further arcs that packets to this switch may take
 *   balance.c       which of these paths each LID takes, as for sssp
 *
 * First, each destination switch with hosts gets shortest paths, if the dependencies permit them.
 * If they do not, and the ports have more VLs, the switch gets its paths on a further VL; each VL
 * has a CDG of its own. The remaining switches, and the switches without hosts, then get paths that
 * need not be shortest: detours around forbidden dependencies, or the escape tree if nothing else
 * is possible. So one VL is enough for any topology. Then the engine adds alternative arcs to the
 * paths, and spreads the LIDs over them.
 *
 * In the paper, each destination LID has a search of its own. Here one search serves all LIDs of a
 * destination switch, and the dependencies of paths that ascend and then descend need no search for
 * cycles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/balance/balance.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/engines/nue.h"
#include "libfabmgr/route/nue/search.h"

/* A link is congested if its load exceeds CONGESTED_PERCENT percent of the mean load. A link is
 * overloaded if its load exceeds OVERLOADED_PERCENT percent of this mean. At most ROUNDS times, the
 * engine reroutes the LIDs whose paths use congested links. These rounds together take at most
 * ROUNDS_WORK steps (LIDs x ports). */
#define CONGESTED_PERCENT 110
#define OVERLOADED_PERCENT 150
#define ROUNDS 4
#define ROUNDS_WORK (UINT64_C(1) << 28)
/* Budgets of the searches for cycles. In one channel dependency graph, all searches together may
 * follow this number of dependencies, multiplied by the number of arcs of the graph. STEPS_EACH_ARC
 * is for paths to switches with hosts, STEPS_WITHOUT_HOSTS for paths to other switches. */
#define STEPS_EACH_ARC 4096
#define STEPS_WITHOUT_HOSTS 64
/* The engine uses one more VL if the paths of more than 1 / DETOUR_SHARE of the pairs of hosts
 * would not be shortest paths. */
#define DETOUR_SHARE 100
/* Maximum number of orders of the destination switches that are tried for shortest paths on few
 * VLs, and maximum number of destination switches x arcs in all of them. */
#define TRIALS 100
#define TRIALS_WORK (UINT64_C(1) << 22)
/* least number of VLs over which the switches are then distributed */
#define LEAST_LANES 2

struct nue {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_order order;
    struct fab_updown updown;
    struct fab_destinations destinations;
    struct fab_cdg cdg[FAB_VLS_MAX];
    struct fab_nue search;
    struct fab_shortest candidates;
    struct fab_balancer balance;
    uint32_t lanes, lanes_most;
    bool shortest; /* true: hosts have shortest paths only (fab_route_nue_shortest) */
    /* [edges] the order in which the destination switches with hosts get their paths, as indices
     * into destinations.sequence */
    uint32_t *visit;
    uint32_t *scratch; /* [switches] */
    /* [switches] lane[i] is the VL of the paths to switch sequence[i]; NO_LANE: no paths yet */
    uint8_t *lane;
    /* [switches][switches] the first hop from switch s to sequence[i]: slot[i * switches + s] is
     * the index of the next switch among the neighbours of s */
    uint8_t *slot;
    /* number of pairs of hosts whose path is longer than a shortest path */
    uint64_t detour_pairs;
    struct fab_lft lft;
};
#define NO_LANE 0xff

/* Returns true if the VL that was added last needs the escape tree: the first VL and the last one
 * that the ports permit. If paths between hosts must be shortest paths, only the paths to switches
 * without hosts need the tree. */
static bool needs_tree(const struct nue *u)
{
    if (u->shortest)
        return u->lanes == 1 && u->destinations.edges < u->graph.n;
    return u->lanes == 1 || u->lanes == u->lanes_most;
}

/* Adds a VL with a channel dependency graph of its own. */
static int add_lane(struct nue *u)
{
    struct fab_cdg *t = &u->cdg[u->lanes];
    int status = fab_route_cdg_init(t, &u->graph, &u->order);
    if (status != FAB_OK)
        return status;
    t->budget = (uint64_t)t->arcs * STEPS_EACH_ARC;
    u->search.cdg = t;
    u->lanes++;
    if (needs_tree(u))
        fab_route_nue_add_escape_tree(&u->search);
    return FAB_OK;
}

static void keep(struct nue *u, uint32_t i, uint32_t lane)
{
    u->lane[i] = (uint8_t)lane;
    memcpy(u->slot + (size_t)i * u->graph.n, u->search.slot, u->graph.n);
}

/* If destination switch sequence[i] has no paths yet, finds the paths to it on the current VL. If
 * `strict` is true, accepts only shortest paths. */
static void find(struct nue *u, uint32_t i, bool strict)
{
    uint32_t home = u->destinations.sequence[i];
    if (u->lane[i] != NO_LANE || !fab_route_nue_find(&u->search, home, strict))
        return;
    keep(u, i, u->lanes - 1);
    u->detour_pairs += u->search.detour_hosts * u->graph.hosts[home];
}

/* Visits all destination switches with hosts that have no paths yet, and searches for paths to them
 * on the current VL. If `strict` is true, accepts only shortest paths. Returns the number of
 * destination switches that still have no paths. */
static uint32_t find_loaded(struct nue *u, bool strict)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < u->destinations.edges; k++) {
        find(u, u->visit[k], strict);
        left += u->lane[u->visit[k]] == NO_LANE;
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

/* Returns the number of pairs of hosts that would have a path longer than a shortest path, if the
 * engine added no further VL. Counts only destination switches that have no paths yet. */
static uint64_t count_detours(struct nue *u)
{
    uint64_t detour_pairs = 0;
    for (uint32_t i = 0; i < u->destinations.edges; i++) {
        uint32_t home = u->destinations.sequence[i];
        if (u->lane[i] == NO_LANE)
            detour_pairs += fab_route_nue_count_detours(&u->search, home) * u->graph.hosts[home];
    }
    return detour_pairs;
}

/* Finds the paths to switch sequence[i] on a VL that has the escape tree. If two VLs have the
 * escape tree, takes the VL on which fewer hosts get a path that is longer than a shortest path. */
static void find_best(struct nue *u, uint32_t i)
{
    uint64_t least = UINT64_MAX;
    uint32_t home = u->destinations.sequence[i], best = 0;
    if (u->lane[i] != NO_LANE)
        return;
    for (uint32_t lane = 0; lane < u->lanes; lane++) {
        if (lane > 0 && lane + 1 < u->lanes_most)
            continue;
        u->search.cdg = &u->cdg[lane];
        uint64_t detour_pairs = fab_route_nue_count_detours(&u->search, home);
        if (detour_pairs < least) {
            least = detour_pairs;
            best = lane;
        }
    }
    u->search.cdg = &u->cdg[best];
    fab_route_nue_find(&u->search, home, false);
    keep(u, i, best);
    u->detour_pairs += u->search.detour_hosts * u->graph.hosts[home];
}

static void restore(struct nue *u, uint32_t i)
{
    u->search.cdg = &u->cdg[u->lane[i]];
    memcpy(u->search.slot, u->slot + (size_t)i * u->graph.n, u->graph.n);
    fab_route_nue_restore(&u->search, u->destinations.sequence[i]);
}

static void find_alternatives(struct nue *u)
{
    for (uint32_t i = 0; i < u->destinations.edges; i++) {
        if (u->lane[i] == NO_LANE)
            continue;
        restore(u, i);
        fab_route_nue_find_alternatives(&u->search, true);
    }
}

/* Finds shortest paths that ascend and then descend, and all their alternatives, before any other
 * paths. This suits topologies with levels in which some switches have no hosts. Meanwhile, the
 * budget of the searches for cycles is 0, so that no other paths are found. */
static void find_updown_first(struct nue *u)
{
    uint64_t budget = u->cdg[0].budget;
    u->cdg[0].budget = 0;
    find_loaded(u, true);
    find_alternatives(u);
    u->cdg[0].budget = budget;
}

static int find_lanes(struct nue *u)
{
    int status = add_lane(u);
    if (status == FAB_OK && u->destinations.edges < u->graph.n)
        find_updown_first(u);
    uint32_t left = status == FAB_OK ? find_loaded(u, true) : 0;
    bool more = left > 0 && u->lanes_most > 1 && count_detours(u) * DETOUR_SHARE > pairs(&u->graph);
    while (status == FAB_OK && left > 0 && more && u->lanes < u->lanes_most) {
        status = add_lane(u);
        if (status == FAB_OK)
            left = find_loaded(u, true);
    }
    for (uint32_t i = 0; i < u->destinations.edges && status == FAB_OK; i++)
        find_best(u, i);
    return status;
}

/* Returns NOMEM if a log of a channel dependency graph could not grow. Searches then fail, as if
 * dependencies closed cycles. */
static int check_memory(const struct nue *u)
{
    bool no_memory = false;
    for (uint32_t i = 0; i < u->lanes; i++)
        no_memory = no_memory || u->cdg[i].no_memory;
    return no_memory ? FAB_E_NOMEM : FAB_OK;
}

/* ---- shortest paths on few lanes ------------------------------------------------------------- */

/* Removes all paths and VLs. */
static void reset(struct nue *u)
{
    for (uint32_t i = 0; i < u->lanes; i++)
        fab_route_cdg_fini(&u->cdg[i]);
    u->lanes = 0;
    memset(u->lane, NO_LANE, u->graph.n);
    memset(u->search.load, 0, u->graph.nbr_at[u->graph.n] * sizeof(*u->search.load));
}

/* Moves the destination switches that got no paths to the front of visit[]. */
static void bring_forward(struct nue *u)
{
    uint32_t edges = u->destinations.edges, at = edges;
    for (uint32_t from = edges; from-- > 0;) {
        if (u->lane[u->visit[from]] != NO_LANE)
            u->scratch[--at] = u->visit[from];
    }
    for (uint32_t from = edges; from-- > 0;) {
        if (u->lane[u->visit[from]] == NO_LANE)
            u->scratch[--at] = u->visit[from];
    }
    memcpy(u->visit, u->scratch, edges * sizeof(*u->visit));
}

static int add_first_lane(struct nue *u)
{
    int status = add_lane(u);
    if (status == FAB_OK && u->destinations.edges < u->graph.n)
        find_updown_first(u);
    return status;
}

/* Finds shortest paths to all destination switches with hosts. As many switches as possible share
 * the first VL, and so on. Returns LIMIT if lanes_most VLs are too few. */
static int pack(struct nue *u)
{
    reset(u);
    int status = add_first_lane(u);
    uint32_t left = status == FAB_OK ? find_loaded(u, true) : 0;
    while (status == FAB_OK && left > 0 && u->lanes < u->lanes_most) {
        status = add_lane(u);
        if (status == FAB_OK)
            left = find_loaded(u, true);
    }
    if (status == FAB_OK)
        status = check_memory(u);
    return status == FAB_OK && left > 0 ? FAB_E_LIMIT : status;
}

/* Like pack(), but distributes the switches evenly over `lanes` VLs. Each VL then has fewer paths,
 * so the dependencies of these paths forbid fewer other paths. This makes the loads of links more
 * even. */
static int distribute(struct nue *u, uint32_t lanes)
{
    reset(u);
    int status = add_first_lane(u);
    while (status == FAB_OK && u->lanes < lanes)
        status = add_lane(u);
    for (uint32_t k = 0; k < u->destinations.edges && status == FAB_OK; k++) {
        uint32_t i = u->visit[k], home = u->destinations.sequence[i];
        for (uint32_t l = 0; l < lanes && u->lane[i] == NO_LANE; l++) {
            u->search.cdg = &u->cdg[(k + l) % lanes];
            if (fab_route_nue_find(&u->search, home, true))
                keep(u, i, (k + l) % lanes);
        }
        if (u->lane[i] == NO_LANE)
            status = FAB_E_LIMIT;
    }
    return check_memory(u) != FAB_OK ? FAB_E_NOMEM : status;
}

/* Packs the switches in several orders. Those for which the VLs were too few are first in the next
 * order. Then tries to distribute the switches over as many VLs, but at least LEAST_LANES. */
static int find_shortest(struct nue *u)
{
    uint64_t work = (uint64_t)u->destinations.edges * u->graph.nbr_at[u->graph.n] + 1;
    int status = pack(u);
    for (uint64_t i = 1; i < TRIALS && i * work <= TRIALS_WORK && status == FAB_E_LIMIT; i++) {
        bring_forward(u);
        status = pack(u);
    }
    if (status != FAB_OK)
        return status;
    uint32_t lanes = u->lanes > LEAST_LANES ? u->lanes : LEAST_LANES;
    status = lanes <= u->lanes_most ? distribute(u, lanes) : FAB_OK;
    return status == FAB_E_LIMIT ? pack(u) : status;
}

/* Finds the paths to switches without hosts. These paths carry management traffic only, so the
 * searches for cycles have a small budget. */
static void find_rest(struct nue *u)
{
    u->search.cdg = &u->cdg[0];
    u->cdg[0].budget = (uint64_t)u->cdg[0].arcs * STEPS_WITHOUT_HOSTS;
    for (uint32_t i = u->destinations.edges; i < u->graph.n; i++) {
        fab_route_nue_find(&u->search, u->destinations.sequence[i], false);
        keep(u, i, 0);
    }
}

/* ---- LIDs ------------------------------------------------------------------------------------ */

static void find_candidates(struct nue *u, uint32_t i)
{
    restore(u, i);
    fab_route_nue_find_alternatives(&u->search, false);
    fab_route_nue_candidates(&u->search, &u->candidates);
}

/* Routes a LID that no host sends to. Each switch takes the D-mod-k port. */
static void fill_without_hosts(struct nue *u, const struct fab_dlid *dlid)
{
    for (uint32_t i = 1; i < u->candidates.reached; i++) {
        uint32_t s = u->candidates.at[i],
                 count = u->candidates.first[i + 1] - u->candidates.first[i];
        uint32_t which = dlid->number / u->order.divider[s] % count;
        fab_target_lft_row(&u->lft, s)[dlid->lid] =
            u->graph.port_num[u->candidates.port[u->candidates.first[i] + which]];
    }
    fab_target_lft_row(&u->lft, u->candidates.at[0])[dlid->lid] = dlid->port;
}

static void balance_all(struct nue *u)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    for (uint32_t i = 0; i < u->graph.n; i++) {
        find_candidates(u, i);
        for (uint32_t offset = 0; offset < u->destinations.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&u->destinations, i, offset, dlids);
            for (uint32_t l = 0; l < count; l++) {
                if (dlids[l].loaded)
                    fab_route_balance_add(&u->balance, &dlids[l], FAB_BALANCE_TOGETHER, &u->lft);
                else
                    fill_without_hosts(u, &dlids[l]);
            }
        }
    }
}

/* Reroutes the LIDs whose paths use a link with more than `percent` percent of the mean load. The
 * new paths are better, because the loads of all other LIDs are known by now. Returns false if no
 * link has such a load. */
static bool reroute_overloaded(struct nue *u, uint32_t percent, enum fab_balance how)
{
    uint64_t limit;
    if (!fab_route_balance_limit(&u->balance, percent, &limit))
        return false;
    for (uint32_t i = 0; i < u->destinations.edges; i++) {
        find_candidates(u, i);
        fab_route_balance_reroute(&u->balance, &u->destinations, i, limit, how, &u->lft);
    }
    return true;
}

static void rebalance(struct nue *u)
{
    uint64_t work = ((uint64_t)u->graph.port_at[u->graph.n] + 1) * (u->in->lids->top + 1);
    for (uint64_t round = 1; round <= ROUNDS && round * work <= ROUNDS_WORK; round++) {
        if (!reroute_overloaded(u, CONGESTED_PERCENT, FAB_BALANCE_TOGETHER))
            return;
    }
    if (work <= ROUNDS_WORK)
        reroute_overloaded(u, OVERLOADED_PERCENT, FAB_BALANCE_SPREAD);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int prepare(struct nue *u)
{
    const struct fab_route_input *in = u->in;
    int status = fab_route_graph_make(in->fabric, &u->graph);
    if (status == FAB_OK)
        status = fab_route_order_find(&u->graph, in->fabric, in->policy, &u->order);
    if (status == FAB_OK)
        status = fab_route_updown_make(&u->graph, &u->order, &u->updown);
    if (status == FAB_OK)
        status = fab_route_destinations_make(in, &u->graph, &u->updown, &u->destinations);
    if (status == FAB_OK)
        status = fab_route_cdg_init(&u->cdg[0], &u->graph, &u->order);
    if (status == FAB_OK)
        status = fab_route_nue_init(&u->search, &u->graph, &u->order, &u->cdg[0]);
    fab_route_cdg_fini(&u->cdg[0]);
    if (status == FAB_OK)
        status = fab_route_shortest_init(&u->candidates, &u->graph);
    if (status == FAB_OK)
        status =
            fab_route_balance_init(&u->balance, in->fabric, &u->graph, &u->order, &u->candidates);
    if (status == FAB_OK)
        status = fab_target_lft_init(&u->lft, in->fabric->switch_count, in->lids->top);
    if (status != FAB_OK)
        return status;
    size_t n = (size_t)u->graph.n;
    u->lane = malloc(n + 1);
    u->slot = calloc(n + 1, n + 1);
    u->visit = fab_base_alloc_array(n + 1, sizeof(*u->visit));
    u->scratch = fab_base_alloc_array(n + 1, sizeof(*u->scratch));
    if (u->lane == NULL || u->slot == NULL || u->visit == NULL || u->scratch == NULL)
        return FAB_E_NOMEM;
    memset(u->lane, NO_LANE, n);
    for (uint32_t i = 0; i < u->graph.n; i++)
        u->visit[i] = i;
    return FAB_OK;
}

static int set_vls(const struct nue *u, struct fab_vls *vls)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    if (u->lanes < 2)
        return FAB_OK;
    fab_target_vls_init(vls, (uint8_t)u->lanes);
    int status = fab_target_vls_by_lid(vls, u->in->lids->top);
    for (uint32_t i = 0; i < u->graph.n && status == FAB_OK; i++) {
        for (uint32_t offset = 0; offset < u->destinations.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&u->destinations, i, offset, dlids);
            for (uint32_t l = 0; l < count; l++)
                vls->of_lid[dlids[l].lid] = u->lane[i];
        }
    }
    return status;
}

static int route(struct nue *u, struct fab_vls *vls)
{
    int status = u->shortest ? find_shortest(u) : find_lanes(u);
    if (status != FAB_OK)
        return status;
    find_alternatives(u);
    find_rest(u);
    status = check_memory(u);
    if (status != FAB_OK)
        return status;
    u->balance.whole = true;
    balance_all(u);
    rebalance(u);
    return set_vls(u, vls);
}

static void remark(const struct nue *u, char *why, size_t why_len)
{
    uint64_t all = pairs(&u->graph);
    char lanes[64] = "one virtual lane";
    if (why_len == 0)
        return;
    if (u->lanes > 1)
        snprintf(lanes, sizeof(lanes), "%u of %u virtual lanes, as one would need detours",
                 u->lanes, u->lanes_most);
    if (u->detour_pairs == 0)
        snprintf(why, why_len, "%s: all paths between hosts are as short as the links allow; %s",
                 lanes, u->order.origin);
    else
        snprintf(why, why_len, "%s: %.1f%% of the paths between hosts are detours; %s", lanes,
                 (double)u->detour_pairs * 100 / (double)all, u->order.origin);
}

static void fini(struct nue *u)
{
    free(u->lane);
    free(u->slot);
    free(u->visit);
    free(u->scratch);
    fab_route_balance_fini(&u->balance);
    fab_route_shortest_fini(&u->candidates);
    fab_route_nue_fini(&u->search);
    for (uint32_t i = 0; i < u->lanes; i++)
        fab_route_cdg_fini(&u->cdg[i]);
    fab_route_destinations_fini(&u->destinations);
    fab_route_updown_fini(&u->updown);
    fab_route_order_fini(&u->order);
    fab_route_graph_fini(&u->graph);
}

static int compute(struct nue *u, struct fab_lft *ret_lft, struct fab_vls *ret_vls)
{
    int status = prepare(u);
    if (status == FAB_OK)
        status = route(u, ret_vls);
    if (status == FAB_OK) {
        *ret_lft = u->lft;
    } else {
        fab_target_lft_fini(&u->lft);
        fab_target_vls_fini(ret_vls);
    }
    return status;
}

int fab_route_nue_shortest(const struct fab_route_input *in, uint32_t most, struct fab_lft *ret_lft,
                           struct fab_vls *ret_vls)
{
    struct nue u = {.in = in, .lanes_most = most, .shortest = true};
    int status = compute(&u, ret_lft, ret_vls);
    fini(&u);
    return status;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    uint32_t weakest;
    struct nue u = {.in = in,
                    .lanes_most = fab_route_vls_available(in->fabric, in->policy, &weakest)};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int status = compute(&u, ret_lft, ret_vls);
    if (status == FAB_OK)
        remark(&u, why, why_len);
    fini(&u);
    return status;
}

const struct fab_route_engine fab_route_engine_nue = {
    .name = "nue",
    .summary = "any topology on any number of VLs: short paths, deadlock-free by construction",
    .run = run,
    .moves_sls = true,
};
