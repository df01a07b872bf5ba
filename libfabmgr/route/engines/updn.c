/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "updn" uses up*|down* routing (Schroeder et al., Autonet, 1991) by an order of the
 * switches that follows from the topology. The parts are:
 *
 *   switch_order.c   which direction is up, so that every pair has a legal path (single_root.c)
 *   leaf_sequence.c  in which order the destinations are routed
 *   legal_paths.c    the lengths of the legal paths
 *   least_loaded.c   which port on a shortest legal path each LID takes
 *   sssp.c           other ports, if the loads are uneven
 *
 * A legal path never ascends after it has descended; a total order of the switches defines what
 * ascending means. So channel dependencies form no cycle on one VL, on any topology. The engine
 * computes the tables from the fabric, the LIDs and the policy alone. So when a failed link comes
 * back, the tables are the same as before the failure.
 *
 * The work is switches^2 * degree / 64 steps for the path lengths, and one step for each LFT entry.
 * For 11,664 hosts this takes tens of milliseconds. The memory is 1.3 kB for each switch, besides
 * the tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/balance/least_loaded.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/engines/sssp.h"
#include "libfabmgr/route/updown/slow_links.h"

enum balancing { BY_NEXT_LINK, REROUTE_OVERLOADED, BY_PATH };

struct updn {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_order order;
    struct fab_updown updown;
    struct fab_least_loaded spread;
    struct fab_destinations destinations;
    uint8_t *paths;
    struct fab_lft lft;
    enum balancing balancing;
};

/* A link is overloaded if its load exceeds UNEVEN_PERCENT percent of the mean load. If more than 1
 * / UNEVEN_SHARE of the links are overloaded, sssp.c routes all LIDs anew. Otherwise sssp.c
 * reroutes only the LIDs on overloaded links, so that few entries change. No LID is rerouted if
 * LIDs x ports is above BALANCING_WORK. */
#define UNEVEN_PERCENT 150
#define UNEVEN_SHARE 64
#define BALANCING_WORK (UINT64_C(1) << 29)

/* ---- all destinations ----------------------------------------------------------------------- */

static void route_switch(struct updn *u, uint32_t index, uint32_t column)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    for (uint32_t s = 0; s < u->graph.n; s++)
        u->spread.column[s] = u->paths[(size_t)s * FAB_LEGAL_BATCH + column];
    for (uint32_t offset = 0; offset < u->destinations.lids_each; offset++) {
        uint32_t count = fab_route_destinations_dlids(&u->destinations, index, offset, dlids);
        fab_route_least_loaded_fill(&u->spread, dlids, count, &u->lft);
    }
}

static void route_all(struct updn *u)
{
    uint32_t n = u->graph.n;
    for (uint32_t first = 0; first < n; first += FAB_LEGAL_BATCH) {
        uint32_t count = n - first < FAB_LEGAL_BATCH ? n - first : FAB_LEGAL_BATCH;
        fab_route_legal_paths(&u->updown, u->destinations.sequence + first, count, u->paths);
        for (uint32_t i = 0; i < count; i++)
            route_switch(u, first + i, i);
    }
}

/* ---- better balance where loads are uneven --------------------------------------------------- */

static enum balancing needed_balancing(const struct updn *u)
{
    uint64_t sum = 0, uneven = 0, ports = u->spread.ports.at[u->graph.n];
    for (uint64_t i = 0; i < ports; i++)
        sum += u->spread.ports.load[i];
    for (uint64_t i = 0; i < ports; i++)
        uneven += u->spread.ports.load[i] * ports * 100 > sum * UNEVEN_PERCENT;
    if (ports * u->in->lids->top > BALANCING_WORK || uneven == 0)
        return BY_NEXT_LINK;
    return uneven * UNEVEN_SHARE > ports ? BY_PATH : REROUTE_OVERLOADED;
}

static int route(struct updn *u)
{
    struct fab_lft rebalanced;
    route_all(u);
    u->balancing = needed_balancing(u);
    if (u->balancing == BY_NEXT_LINK)
        return FAB_OK;
    if (u->balancing == REROUTE_OVERLOADED)
        return fab_route_sssp_reroute_overloaded(u->in, &u->graph, &u->lft);
    int ret =
        fab_route_sssp_route(u->in, &u->graph, FAB_SSSP_LEGAL_PATH, FAB_SSSP_PER_LID, &rebalanced);
    if (ret != FAB_OK)
        return ret;
    fab_target_lft_fini(&u->lft);
    u->lft = rebalanced;
    return FAB_OK;
}

static int prepare(struct updn *u)
{
    const struct fab_route_input *in = u->in;
    int ret = fab_route_slow_links_omit(in->fabric, in->policy, fab_route_order_find, &u->graph,
                                        &u->order);
    if (ret == FAB_OK)
        ret = fab_route_updown_make(&u->graph, &u->order, &u->updown);
    if (ret == FAB_OK)
        ret = fab_route_least_loaded_init(&u->spread, &u->graph, &u->order);
    if (ret == FAB_OK)
        ret = fab_target_lft_init(&u->lft, in->fabric->switch_count, in->lids->top);
    if (ret != FAB_OK)
        return ret;
    u->paths = fab_route_legal_alloc(u->graph.n);
    if (u->paths == NULL)
        return FAB_E_NOMEM;
    return fab_route_destinations_make(in, &u->graph, &u->updown, &u->destinations);
}

static void describe(const struct updn *u, char *why, size_t why_len)
{
    if (why_len == 0)
        return;
    const char *root =
        u->order.root != FAB_NONE ? u->in->fabric->nodes[u->order.root].name : "none";
    snprintf(why, why_len, "%s, root %.64s%s%s", u->order.origin, root,
             u->balancing == BY_PATH ? ", balanced by path loads" : "",
             u->graph.left_out > 0 ? ", without some slow links" : "");
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    (void)ret_vls; /* *ret_vls stays zero: the tables use one VL */
    struct updn u = {.in = in};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = prepare(&u);
    if (ret == FAB_OK)
        ret = route(&u);
    if (ret == FAB_OK) {
        describe(&u, why, why_len);
        *ret_lft = u.lft;
    } else {
        fab_target_lft_fini(&u.lft);
    }
    free(u.paths);
    fab_route_least_loaded_fini(&u.spread);
    fab_route_destinations_fini(&u.destinations);
    fab_route_updown_fini(&u.updown);
    fab_route_order_fini(&u.order);
    fab_route_graph_fini(&u.graph);
    return ret;
}

const struct fab_route_engine fab_route_engine_updn = {
    .name = "updn",
    .summary = "up*/down* over ranks found from the topology, least-loaded ports, one VL",
    .run = run,
};

/* ---- the variant for "auto", which refuses topologies that are no trees ---------------------- */

static int run_on_tree(const struct fab_route_input *in, struct fab_lft *ret_lft,
                       struct fab_vls *ret_vls, char *why, size_t why_len)
{
    struct fab_graph graph = {0};
    struct fab_order order = {0};
    int status = fab_route_graph_make(in->fabric, &graph);
    if (status == FAB_OK)
        status = fab_route_order_ranked(&graph, in->fabric, in->policy, &order);
    if (status == FAB_OK && fab_route_order_is_flat(&graph, &order, in->fabric, why, why_len))
        status = FAB_E_UNSUPPORTED;
    fab_route_order_fini(&order);
    fab_route_graph_fini(&graph);
    if (status == FAB_OK)
        status = run(in, ret_lft, ret_vls, why, why_len);
    if (status == FAB_OK && in->flawed != NULL)
        /* a hint for the chain "auto": for regular trees, the engine "fattree" is better */
        *in->flawed = true;
    return status;
}

const struct fab_route_engine fab_route_engine_updn_on_tree = {
    .name = "updn",
    .summary = "updn, if most links join different ranks",
    .run = run_on_tree,
};
