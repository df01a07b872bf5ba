/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines "sssp" and "minhop" compute shortest paths with balanced loads on any topology. sssp
 * weighs the whole path (Hoefler, Schneider, Lumsdaine, "Optimized routing for large-scale
 * InfiniBand networks", HOTI 2009). minhop weighs the next link only. The parts are:
 *
 *   shortest_paths.c  the shortest paths to a switch
 *   balance.c         which of these paths each LID takes
 *   destinations.c    in which order the LIDs are routed
 *
 * The LIDs are routed one after another. If the loads are uneven afterwards, the engine makes a few
 * more rounds. In each round, all LIDs whose paths use a congested link get new paths. The new
 * paths are better, because the loads of all other LIDs are known by now.
 *
 * As far as possible, all traffic to a LID shares the same links. This suits permutations: the more
 * links carry traffic to one destination alone, the fewer flows share a link. At the end, the
 * engine spreads the remaining traffic of overloaded links over several links, which makes
 * permutations somewhat worse.
 *
 * The paths of hosts may have cyclic channel dependencies; the proof decides whether the tables are
 * used. Paths to switches and aggregation nodes, which no host uses, are the same as in updn, and
 * close no cycle. The tables of complete trees, and of trees with a few failed links, mostly pass
 * the proof.
 *
 * The first round takes one step for each pair of a LID and a port of the graph: 0.3 x 10^9 steps
 * for 11,664 hosts. Each further round takes at most as many.
 */
#include "libfabmgr/route/engines/sssp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/balance/balance.h"
#include "libfabmgr/route/balance/least_loaded.h"
#include "libfabmgr/route/engines/engines.h"

/* A link is congested if its load exceeds CONGESTED_PERCENT percent of the mean load. A link is
 * overloaded if its load exceeds OVERLOADED_PERCENT percent of this mean. At most ROUNDS times, the
 * engine reroutes the LIDs whose paths use congested links. These rounds together take at most WORK
 * steps (LIDs x ports). */
#define CONGESTED_PERCENT 110
#define OVERLOADED_PERCENT 150
#define ROUNDS 3
#define WORK (UINT64_C(1) << 31)

struct sssp {
    const struct fab_route_input *in;
    const struct fab_graph *g;
    struct fab_order order;
    struct fab_updown updown;
    struct fab_destinations destinations;
    struct fab_shortest shortest;
    struct fab_balancer balance;
    /* chooses the ports for the LIDs to which no host sends; these LIDs add no load */
    struct fab_least_loaded spread;
    /* [switches][64] lengths of the legal paths from each switch to the destination switches
     * sequence[batch] to sequence[batch + 63] */
    uint8_t *paths;
    uint32_t batch;
    /* true: even the LIDs of hosts must use legal paths of up/down routing */
    bool legal;
    /* number of different sets of paths to the LIDs of one switch, or FAB_SSSP_PER_LID (sssp.h) */
    uint32_t shared;
    struct fab_lft lft;
};

/* ---- first routing of each LID --------------------------------------------------------------- */

static uint32_t count_loaded(const struct fab_dlid *dlids, uint32_t count)
{
    uint32_t loaded = 0;
    while (loaded < count && dlids[loaded].loaded)
        loaded++;
    return loaded;
}

/* Returns the index of switch sequence[index] among the 64 destination switches of paths[]. If this
 * switch is not among them, first computes paths[] for a batch that contains it. */
static uint32_t find_column(struct sssp *s, uint32_t index)
{
    uint32_t batch = index / FAB_LEGAL_BATCH * FAB_LEGAL_BATCH, left = s->g->n - batch;
    if (batch != s->batch)
        fab_route_legal_paths(&s->updown, s->destinations.sequence + batch,
                              left < FAB_LEGAL_BATCH ? left : FAB_LEGAL_BATCH, s->paths);
    s->batch = batch;
    return index - batch;
}

static void find_paths(struct sssp *s, uint32_t index)
{
    if (s->legal)
        fab_route_shortest_find_legal(&s->shortest, &s->order, s->paths, find_column(s, index));
    else
        fab_route_shortest_find(&s->shortest, s->destinations.sequence[index]);
}

/* Chooses paths to the LIDs at a switch without hosts in the same way as for LIDs of hosts, but
 * adds no load for them. */
static void route_unloaded(struct sssp *s, const struct fab_dlid *dlids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fab_route_balance_add(&s->balance, &dlids[i], FAB_BALANCE_TOGETHER, &s->lft);
        fab_route_balance_remove(&s->balance, &dlids[i], &s->lft);
    }
}

static void route_switch(struct sssp *s, uint32_t index)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    uint32_t column = find_column(s, index);
    for (uint32_t sw = 0; sw < s->g->n; sw++)
        s->spread.column[sw] = s->paths[(size_t)sw * FAB_LEGAL_BATCH + column];
    if (index < s->destinations.edges || s->shared != FAB_SSSP_PER_LID)
        find_paths(s, index);
    for (uint32_t offset = 0; offset < s->destinations.lids_each; offset++) {
        uint32_t count = fab_route_destinations_dlids(&s->destinations, index, offset, dlids);
        uint32_t loaded = count_loaded(dlids, count);
        for (uint32_t i = 0; i < loaded; i++)
            fab_route_balance_add(&s->balance, &dlids[i], FAB_BALANCE_TOGETHER, &s->lft);
        if (s->shared == FAB_SSSP_PER_LID)
            fab_route_least_loaded_fill(&s->spread, dlids + loaded, count - loaded, &s->lft);
        else if (loaded == 0)
            route_unloaded(s, dlids, count);
    }
}

static void route_all(struct sssp *s)
{
    for (uint32_t index = 0; index < s->g->n; index++)
        route_switch(s, index);
}

/* ---- rerouting where links are congested ----------------------------------------------------- */

/* Reroutes the LIDs whose paths use a link with more than `percent` percent of the mean load.
 * Returns false if no link has such a load. */
static bool reroute_overloaded(struct sssp *s, uint32_t percent, enum fab_balance how)
{
    uint64_t limit;
    if (!fab_route_balance_limit(&s->balance, percent, &limit))
        return false;
    for (uint32_t index = 0; index < s->destinations.edges; index++) {
        find_paths(s, index);
        fab_route_balance_reroute(&s->balance, &s->destinations, index, limit, how, &s->lft);
    }
    return true;
}

static void rebalance(struct sssp *s)
{
    uint64_t ports = s->g->port_at[s->g->n], work = ports * s->in->lids->top;
    if (ports == 0)
        return;
    for (unsigned round = 1; round <= ROUNDS && work * round <= WORK; round++) {
        if (!reroute_overloaded(s, CONGESTED_PERCENT, FAB_BALANCE_TOGETHER))
            return;
    }
    if (work <= WORK)
        reroute_overloaded(s, OVERLOADED_PERCENT, FAB_BALANCE_SPREAD);
}

/* ---- LIDs that share the paths of others ----------------------------------------------------- */

static void copy_entries(struct sssp *s, uint32_t sw, const struct fab_dlid *from,
                         const struct fab_dlid *to)
{
    for (uint32_t i = 0; i < s->g->n; i++)
        fab_target_lft_row(&s->lft, i)[to->lid] = fab_target_lft_at(&s->lft, i, from->lid);
    fab_target_lft_row(&s->lft, sw)[to->lid] = to->port;
}

/* For each leaf: the paths to the first `shared` hosts stay. Every other LID at the leaf (of a
 * host, an aggregation node or port 0) gets the LFT entries of one of these hosts, by round robin.
 * This is done separately for each offset from the base LID. */
static void share_paths(struct sssp *s)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    for (uint32_t index = 0; index < s->destinations.edges; index++) {
        for (uint32_t offset = 0; offset < s->destinations.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&s->destinations, index, offset, dlids);
            uint32_t loaded = count_loaded(dlids, count);
            uint32_t own = loaded < s->shared ? loaded : s->shared;
            for (uint32_t i = own; i < count && own > 0; i++)
                copy_entries(s, s->destinations.sequence[index], &dlids[i % own], &dlids[i]);
        }
    }
}

/* ---- the whole computation ------------------------------------------------------------------- */

static int prepare(struct sssp *s)
{
    const struct fab_route_input *in = s->in;
    int ret = fab_route_order_find(s->g, in->fabric, in->policy, &s->order);
    if (ret == FAB_OK)
        ret = fab_route_updown_make(s->g, &s->order, &s->updown);
    if (ret == FAB_OK)
        ret = fab_route_destinations_make(in, s->g, &s->updown, &s->destinations);
    if (ret == FAB_OK)
        ret = fab_route_shortest_init(&s->shortest, s->g);
    if (ret == FAB_OK)
        ret = fab_route_balance_init(&s->balance, in->fabric, s->g, &s->order, &s->shortest);
    if (ret == FAB_OK)
        ret = fab_route_least_loaded_init(&s->spread, s->g, &s->order);
    if (ret == FAB_OK)
        ret = fab_target_lft_init(&s->lft, in->fabric->switch_count, in->lids->top);
    if (ret != FAB_OK)
        return ret;
    s->paths = fab_route_legal_alloc(s->g->n);
    return s->paths != NULL ? FAB_OK : FAB_E_NOMEM;
}

static void fini(struct sssp *s)
{
    free(s->paths);
    fab_route_least_loaded_fini(&s->spread);
    fab_route_balance_fini(&s->balance);
    fab_route_shortest_fini(&s->shortest);
    fab_route_destinations_fini(&s->destinations);
    fab_route_updown_fini(&s->updown);
    fab_route_order_fini(&s->order);
}

int fab_route_sssp_route(const struct fab_route_input *in, const struct fab_graph *g,
                         enum fab_sssp_weight weight, uint32_t paths, struct fab_lft *ret_lft)
{
    struct sssp s = {.in = in,
                     .g = g,
                     .batch = FAB_NONE,
                     .legal = weight == FAB_SSSP_LEGAL_PATH,
                     .shared = paths};
    int ret = prepare(&s);
    if (ret == FAB_OK) {
        s.balance.whole = weight != FAB_SSSP_NEXT_LINK;
        route_all(&s);
        rebalance(&s);
        if (paths != FAB_SSSP_PER_LID)
            share_paths(&s);
        *ret_lft = s.lft;
    } else {
        fab_target_lft_fini(&s.lft);
    }
    fini(&s);
    return ret;
}

static void count_switch(struct sssp *s, uint32_t index)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    find_paths(s, index);
    for (uint32_t offset = 0; offset < s->destinations.lids_each; offset++) {
        uint32_t count = fab_route_destinations_dlids(&s->destinations, index, offset, dlids);
        uint32_t loaded = count_loaded(dlids, count);
        for (uint32_t i = 0; i < loaded; i++)
            fab_route_balance_count(&s->balance, &dlids[i], &s->lft);
    }
}

int fab_route_sssp_reroute_overloaded(const struct fab_route_input *in, const struct fab_graph *g,
                                      struct fab_lft *lft)
{
    struct sssp s = {.in = in, .g = g, .batch = FAB_NONE, .legal = true};
    int ret = prepare(&s);
    if (ret == FAB_OK) {
        fab_target_lft_fini(&s.lft);
        /* the engine changes the caller's tables in place: s.lft refers to the same memory */
        s.lft = *lft;
        s.balance.whole = true;
        for (uint32_t index = 0; index < s.destinations.edges; index++)
            count_switch(&s, index);
        reroute_overloaded(&s, OVERLOADED_PERCENT, FAB_BALANCE_TOGETHER);
        reroute_overloaded(&s, OVERLOADED_PERCENT, FAB_BALANCE_SPREAD);
    } else {
        fab_target_lft_fini(&s.lft);
    }
    fini(&s);
    return ret;
}

/* ---- the engines ----------------------------------------------------------------------------- */

static int run(const struct fab_route_input *in, enum fab_sssp_weight weight,
               struct fab_lft *ret_lft, char *why, size_t why_len)
{
    struct fab_graph graph;
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = fab_route_graph_make(in->fabric, &graph);
    if (ret != FAB_OK)
        return ret;
    ret = fab_route_sssp_route(in, &graph, weight, FAB_SSSP_PER_LID, ret_lft);
    fab_route_graph_fini(&graph);
    if (ret == FAB_OK && why_len > 0)
        snprintf(why, why_len, "shortest paths on one virtual lane");
    return ret;
}

static int run_minhop(const struct fab_route_input *in, struct fab_lft *ret_lft,
                      struct fab_vls *ret_vls, char *why, size_t why_len)
{
    (void)ret_vls; /* *ret_vls stays zero: the tables use one VL */
    return run(in, FAB_SSSP_NEXT_LINK, ret_lft, why, why_len);
}

static int run_sssp(const struct fab_route_input *in, struct fab_lft *ret_lft,
                    struct fab_vls *ret_vls, char *why, size_t why_len)
{
    (void)ret_vls; /* *ret_vls stays zero: the tables use one VL */
    return run(in, FAB_SSSP_WHOLE_PATH, ret_lft, why, why_len);
}

const struct fab_route_engine fab_route_engine_minhop = {
    .name = "minhop",
    .summary = "shortest paths, least-loaded next link, one VL; used only if proven deadlock-free",
    .run = run_minhop,
};
const struct fab_route_engine fab_route_engine_sssp = {
    .name = "sssp",
    .summary = "shortest paths, least load along the path, one VL; used only if proven "
               "deadlock-free",
    .run = run_sssp,
};
