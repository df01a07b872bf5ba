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
 * If too many pairs of hosts get no shortest path, and the ports have more VLs, the engine adds
 * VLs; each VL has a CDG of its own. The remaining destination switches, and the switches without
 * hosts, then get paths that need not be shortest: detours around forbidden dependencies, or the
 * escape tree if nothing else is possible. So one VL is enough for any topology. Then the engine
 * adds alternative arcs to the paths, and spreads the LIDs over them.
 *
 * The VL depends on the pair of switches, and is the same in both directions. So every path is
 * reversible: the answer to a packet may use the SL of the packet (IBA 15.2.5.16). As in LASH
 * (Skeie, Lysne, Theiss, IPDPS 2002), a pair gets a VL on which the paths of both directions close
 * no cycle. Unlike LASH, the search chooses the path of the second direction so that it fits on the
 * VL of the first.
 *
 * In the paper, each destination LID has a search of its own, and its VL depends on the
 * destination. Here one search serves all LIDs of a destination switch, and the dependencies of
 * paths that ascend and then descend need no search for cycles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
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
/* Limits of the search for shortest paths on few VLs. Each trial uses another order of the
 * destination switches. TRIALS: maximum number of trials. TRIALS_WORK: no further trial begins if
 * the work so far exceeds this; the work of a trial is the number of destination switches with
 * hosts x arcs. */
#define TRIALS 60
#define TRIALS_WORK (UINT64_C(3) << 20)
/* Number of orders that the engine nue tries on each number of VLs. If TRIALS_WORK does not suffice
 * for them, it tries none. */
#define TRIALS_FEW 6
/* number of variants of the search (try_lanes) */
#define HOWS 3
/* After the first successful trial, the engine makes at most MORE_TRIALS further trials. It stops
 * early when GOOD_TRIALS trials have succeeded. */
#define GOOD_TRIALS 4
#define MORE_TRIALS 12
/* maximum number of trials if all VLs must have the escape tree */
#define TREE_TRIALS 12

struct nue {
    const struct fab_route_input *in;
    struct fab_arena arena; /* memory of the arrays of uint32_t below */
    struct fab_graph graph;
    struct fab_order order;
    struct fab_updown updown;
    struct fab_destinations destinations;
    struct fab_cdg cdg[FAB_VLS_MAX];
    struct fab_nue search;
    struct fab_shortest candidates;
    struct fab_balancer balance;
    uint32_t lanes, lanes_most;
    bool shortest;  /* true: hosts have shortest paths only (fab_route_nue_shortest) */
    bool trees;     /* true: all VLs have the escape tree, even if only shortest paths are found */
    bool multicast; /* true: the first VL always has the escape tree */
    /* [switches] the order in which the destination switches get their paths, as indices into
     * destinations.sequence; the first destinations.edges of them have hosts */
    uint32_t *visit;
    uint32_t *scratch;    /* [switches] */
    bool *found;          /* [switches] true: the paths to switch sequence[i] are found */
    uint32_t *best_visit; /* [switches] visit[] of the best trial */
    /* [switches] scratch memory: an order of the switches, the distance of each switch to the
     * nearest of the roots so far, and to the last root (order_of_lane) */
    uint32_t *order_at, *order_pos, *far, *hops;
    /* number of pairs of hosts whose path is longer than a shortest path */
    uint64_t detour_pairs;
    struct fab_lft lft;
};

/* Visits switches breadth first, beginning at `start`, and fills order_at[] from its end: the
 * switch that is visited first has the highest position in the order. *count is the number of
 * switches visited so far, by earlier calls, too. */
static void visit_from(struct nue *u, uint32_t start, uint32_t *count)
{
    const struct fab_graph *g = &u->graph;
    uint32_t at = *count, last = g->n - 1;
    u->hops[start] = 0;
    u->order_at[last - *count] = start;
    u->order_pos[start] = last - (*count)++;
    for (; at < *count; at++) {
        uint32_t s = u->order_at[last - at];
        u->far[s] = u->hops[s] < u->far[s] ? u->hops[s] : u->far[s];
        for (uint32_t a = g->nbr_at[s]; a < g->nbr_at[s + 1]; a++) {
            uint32_t v = g->nbr[a];
            if (u->order_pos[v] != FAB_NONE)
                continue;
            u->hops[v] = u->hops[s] + 1;
            u->order_at[last - *count] = v;
            u->order_pos[v] = last - (*count)++;
        }
    }
}

/* Returns the order of the switches for the next VL. The first VL has the order that suits the
 * whole topology best. Each other VL has an order in which paths ascend to a root switch of its
 * own, as far as possible from the other roots, and descend from there. Paths that close a cycle on
 * one VL then often fit on another. */
static struct fab_order order_of_lane(struct nue *u)
{
    uint32_t n = u->graph.n, count = 0, root = 0;
    if (u->lanes == 0) {
        memset(u->far, 0xff, n * sizeof(*u->far));
        root = n > 0 ? u->order.at[n - 1] : 0;
    }
    for (uint32_t s = 0; s < n && u->lanes > 0; s++)
        root = u->far[s] > u->far[root] ? s : root;
    memset(u->order_pos, 0xff, n * sizeof(*u->order_pos));
    for (uint32_t s = 0, start = root; count < n; start = s++) {
        if (u->order_pos[start] == FAB_NONE)
            visit_from(u, start, &count);
    }
    if (u->lanes == 0)
        return u->order;
    return (struct fab_order){.n = n, .at = u->order_at, .pos = u->order_pos};
}

/* Returns true if the VL that was added last needs the escape tree. Normally all VLs have the tree,
 * because the VL of a path is often chosen before the path. But if paths between hosts must be
 * shortest paths, only the paths of switches without hosts use the tree. These paths stay on VLs
 * that have the tree, so the last VL needs none. The engine nue always has the tree on the first
 * VL, as room for a multicast tree. */
static bool needs_tree(const struct nue *u)
{
    bool last = u->lanes == u->lanes_most && u->lanes > 1;
    return !u->shortest || u->trees || (u->multicast && u->lanes == 1) ||
           (u->destinations.edges < u->graph.n && !last);
}

/* Adds a VL with a channel dependency graph of its own. */
static int add_lane(struct nue *u)
{
    struct fab_cdg *t = &u->cdg[u->lanes];
    const struct fab_order order = order_of_lane(u);
    int status = fab_route_cdg_init(t, &u->graph, &order);
    if (status != FAB_OK)
        return status;
    t->budget = (uint64_t)t->arcs * STEPS_EACH_ARC;
    u->search.lanes = ++u->lanes;
    if (needs_tree(u))
        fab_route_nue_add_escape_tree(&u->search);
    return FAB_OK;
}

/* If destination switch sequence[i] has no paths yet, finds the paths to it. If `strict` is true,
 * accepts only shortest paths. */
static void find(struct nue *u, uint32_t i, bool strict)
{
    uint32_t home = u->destinations.sequence[i];
    if (u->found[i] || !fab_route_nue_find(&u->search, home, strict))
        return;
    fab_route_nue_keep(&u->search);
    u->found[i] = true;
    u->detour_pairs += u->search.detour_hosts * u->graph.hosts[home];
}

/* Visits all destination switches with hosts that have no paths yet, and searches for paths to
 * them. If `strict` is true, accepts only shortest paths. Returns the number of destination
 * switches that still have no paths. */
static uint32_t find_loaded(struct nue *u, bool strict)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < u->destinations.edges; k++) {
        find(u, u->visit[k], strict);
        left += !u->found[u->visit[k]];
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
        if (!u->found[i])
            detour_pairs += fab_route_nue_count_detours(&u->search, home) * u->graph.hosts[home];
    }
    return detour_pairs;
}

static void find_alternatives(struct nue *u)
{
    for (uint32_t i = 0; i < u->destinations.edges; i++) {
        if (!u->found[i])
            continue;
        fab_route_nue_restore(&u->search, u->destinations.sequence[i]);
        fab_route_nue_find_alternatives(&u->search, true);
    }
}

/* Finds shortest paths that ascend and then descend, and all their alternatives, before any other
 * paths. This suits topologies that have levels, and some switches without hosts. While the
 * function runs, the budget of the searches for cycles is 0, so that no other paths are found. */
static void find_updown_first(struct nue *u)
{
    uint64_t budget = u->cdg[0].budget;
    u->cdg[0].budget = 0;
    find_loaded(u, true);
    find_alternatives(u);
    u->cdg[0].budget = budget;
}

static int add_first_lane(struct nue *u)
{
    int status = add_lane(u);
    if (status == FAB_OK && u->destinations.edges < u->graph.n)
        find_updown_first(u);
    return status;
}

/* Returns NOMEM if a log of a channel dependency graph could not grow. Searches only report that
 * they found no path, as if dependencies closed cycles. */
static int check_memory(const struct nue *u)
{
    bool no_memory = false;
    for (uint32_t i = 0; i < u->lanes; i++)
        no_memory = no_memory || u->cdg[i].no_memory;
    return no_memory ? FAB_E_NOMEM : FAB_OK;
}

/* Completes the paths to the switches with hosts (fab_route_nue_complete), and finds the paths to
 * the other switches. The added paths carry management traffic only, so the searches for cycles
 * have a small budget. If the paths to a switch cannot be completed, searches for other paths,
 * which need not be shortest unless u->shortest is true. Returns the number of switches to which
 * there are no paths. */
static uint32_t find_rest(struct nue *u)
{
    uint32_t left = 0;
    for (uint32_t l = 0; l < u->lanes; l++)
        u->cdg[l].budget = (uint64_t)u->cdg[l].arcs * STEPS_WITHOUT_HOSTS;
    u->search.defer = false;
    for (uint32_t k = 0; k < u->graph.n; k++) {
        uint32_t i = u->visit[k];
        if (u->found[i])
            u->found[i] = fab_route_nue_complete(&u->search, u->destinations.sequence[i]);
        find(u, i, u->shortest && i < u->destinations.edges);
        left += !u->found[i];
    }
    return left;
}

/* ---- shortest paths on few lanes ------------------------------------------------------------- */

/* Removes all paths and VLs. */
static void reset(struct nue *u)
{
    for (uint32_t i = 0; i < u->lanes; i++)
        fab_route_cdg_fini(&u->cdg[i]);
    u->lanes = 0;
    u->detour_pairs = 0;
    u->search.trees = 0;
    u->search.defer = true;
    memset(u->found, false, u->graph.n * sizeof(*u->found));
    memset(u->search.load, 0, u->graph.nbr_at[u->graph.n] * sizeof(*u->search.load));
    fab_route_nue_clear(&u->search);
}

/* Brings the destination switches without paths to the front of the part visit[first] to visit[end
 * - 1]. The order is otherwise unchanged. */
static void bring_forward(struct nue *u, uint32_t first, uint32_t end)
{
    uint32_t at = end;
    for (unsigned found = 2; found-- > 0;) {
        for (uint32_t from = end; from-- > first;) {
            if (u->found[u->visit[from]] == (found == 1))
                u->scratch[--at] = u->visit[from];
        }
    }
    memcpy(u->visit + first, u->scratch + first, (end - first) * sizeof(*u->visit));
}

static void bring_all_forward(struct nue *u)
{
    bring_forward(u, 0, u->destinations.edges);
    bring_forward(u, u->destinations.edges, u->graph.n);
}

/* Finds shortest paths to all destination switches with hosts, and any paths to the others, on
 * `lanes` VLs, by the variant `how` of the search (0 to HOWS - 1). Returns LIMIT if some
 * destination switch got no paths. */
static int try_lanes(struct nue *u, uint32_t lanes, unsigned how)
{
    reset(u);
    u->search.dense = how == 1;
    u->search.by_load = how == 2;
    int status = add_first_lane(u);
    while (status == FAB_OK && u->lanes < lanes)
        status = add_lane(u);
    uint32_t left = status == FAB_OK ? find_loaded(u, true) : 0;
    if (status == FAB_OK && left == 0)
        left = find_rest(u);
    if (status == FAB_OK)
        status = check_memory(u);
    return status == FAB_OK && left > 0 ? FAB_E_LIMIT : status;
}

static uint64_t greatest_load(const struct nue *u)
{
    uint64_t greatest = 0;
    for (uint32_t arc = 0; arc < u->graph.nbr_at[u->graph.n]; arc++)
        greatest = u->search.load[arc] > greatest ? u->search.load[arc] : greatest;
    return greatest;
}

/* Finds shortest paths on lanes_most VLs. Makes at most `most` trials, and ends when `good_most` of
 * them have succeeded. The trials differ in the order of the destination switches, and in the
 * variant of the search. After a failure, the switches that got no paths are first in the next
 * order. After a success, the next order is random. Keeps the paths of the trial with the lowest
 * maximum link load. Returns LIMIT if no trial succeeded. */
static int find_shortest(struct nue *u, uint64_t most, unsigned good_most)
{
    uint64_t work = (uint64_t)u->destinations.edges * u->graph.nbr_at[u->graph.n] + 1,
             least = UINT64_MAX, trials = TRIALS_WORK / work + 1;
    uint32_t edges = u->destinations.edges;
    unsigned good = 0, how = 0;
    struct fab_prng prng;
    fab_base_prng_init(&prng, 1);
    trials = trials < most ? trials : most;
    for (uint64_t i = 0; i < trials && good < good_most; i++) {
        int status = try_lanes(u, u->lanes_most, (unsigned)(i % HOWS));
        if (status != FAB_OK && status != FAB_E_LIMIT)
            return status;
        good += status == FAB_OK;
        if (status == FAB_OK && greatest_load(u) < least) {
            least = greatest_load(u);
            how = (unsigned)(i % HOWS);
            memcpy(u->best_visit, u->visit, u->graph.n * sizeof(*u->visit));
        }
        if (status == FAB_OK)
            fab_base_prng_shuffle(&prng, u->visit, edges);
        else
            bring_all_forward(u);
        if (good == 1)
            trials = trials < i + MORE_TRIALS ? trials : i + MORE_TRIALS;
    }
    if (good == 0)
        return FAB_E_LIMIT;
    memcpy(u->visit, u->best_visit, u->graph.n * sizeof(*u->visit));
    return try_lanes(u, u->lanes_most, how);
}

/* Finds shortest paths on as few VLs as possible, but at least two. Returns LIMIT if lanes_most VLs
 * do not suffice, or if the fabric is so large that this would take too long. */
static int find_shortest_on_few(struct nue *u)
{
    uint64_t work = (uint64_t)u->destinations.edges * u->graph.nbr_at[u->graph.n] + 1;
    uint32_t most = u->lanes_most;
    int status = FAB_E_LIMIT;
    u->shortest = true;
    for (uint32_t lanes = 2;
         status == FAB_E_LIMIT && lanes <= most && work * TRIALS_FEW <= TRIALS_WORK; lanes++) {
        u->lanes_most = lanes;
        status = find_shortest(u, TRIALS_FEW, 1);
    }
    u->lanes_most = most;
    u->shortest = status == FAB_OK;
    return status;
}

static int find_on_any(struct nue *u)
{
    int status = add_first_lane(u);
    uint32_t left = status == FAB_OK ? find_loaded(u, true) : 0;
    bool more = left > 0 && u->lanes_most > 1 && count_detours(u) * DETOUR_SHARE > pairs(&u->graph);
    if (status == FAB_OK)
        status = check_memory(u);
    if (status == FAB_OK && more) {
        int few = find_shortest_on_few(u);
        if (few != FAB_E_LIMIT)
            return few;
        reset(u);
        status = add_first_lane(u);
        left = status == FAB_OK ? find_loaded(u, true) : 0;
    }
    while (status == FAB_OK && left > 0 && more && u->lanes < u->lanes_most) {
        status = add_lane(u);
        if (status == FAB_OK)
            left = find_loaded(u, true);
    }
    for (uint32_t i = 0; i < u->destinations.edges && status == FAB_OK; i++)
        find(u, i, false);
    return status;
}

/* ---- LIDs ------------------------------------------------------------------------------------ */

static void find_candidates(struct nue *u, uint32_t i)
{
    fab_route_nue_restore(&u->search, u->destinations.sequence[i]);
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
    u->search.defer = true;
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
    u->found = calloc(n + 1, sizeof(*u->found));
    uint32_t **all[] = {&u->visit,     &u->scratch, &u->best_visit, &u->order_at,
                        &u->order_pos, &u->far,     &u->hops};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        *all[i] = fab_base_arena_alloc(&u->arena, n + 1, sizeof(**all));
    if (u->found == NULL || u->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < u->graph.n; i++)
        u->visit[i] = i;
    return FAB_OK;
}

static int set_vls(const struct nue *u, struct fab_vls *vls)
{
    size_t n = u->graph.n;
    if (u->lanes < 2)
        return FAB_OK;
    fab_target_vls_init(vls, (uint8_t)u->lanes);
    int status = fab_target_vls_by_pair(vls, u->graph.n);
    for (size_t i = 0; i < n * n && status == FAB_OK; i++) {
        if (u->search.lane_of[i] != FAB_NUE_LANE_NONE)
            vls->of_pair[i] = u->search.lane_of[i];
    }
    return status;
}

static int route(struct nue *u, struct fab_vls *vls)
{
    uint64_t trials = u->trees ? TREE_TRIALS : TRIALS;
    int status = u->shortest ? find_shortest(u, trials, GOOD_TRIALS) : find_on_any(u);
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
    free(u->found);
    fab_base_arena_fini(&u->arena);
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

int fab_route_nue_shortest(const struct fab_route_input *in, uint32_t most, bool trees,
                           struct fab_lft *ret_lft, struct fab_vls *ret_vls)
{
    struct nue u = {.in = in, .lanes_most = most, .shortest = true, .trees = trees};
    int status = compute(&u, ret_lft, ret_vls);
    fini(&u);
    return status;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    uint32_t weakest;
    struct nue u = {.in = in,
                    .multicast = true,
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
