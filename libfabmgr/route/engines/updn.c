/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "updn": up*|down* routing (Schroeder et al., Autonet, 1991) over an order found from
 * the topology.
 *
 *   order.c   which way is up, so that every pair has an up-then-down way (summit.c)
 *   number.c  in which order destinations are spread
 *   legal.c   how long the ways are, and who climbs and who descends
 *   spread.c  which of the ports on a shortest way each LID takes; sssp.c, where that is uneven
 *
 * No packet ever climbs after it has descended, and climbing follows a total order: no cycle of
 * buffers that wait for each other can form, on one VL, on any topology. Tables are computed from
 * nothing but the fabric, the LIDs and the policy, each time anew: `prev` is not looked at, so that
 * a cable that comes back brings the very same tables back.
 *
 * Work: switches^2 * degree / 64 for the ways, entries for the ports. 11,664 hosts: tens of
 * milliseconds; memory beside the tables: 1.3 kB a switch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/balance/least_loaded.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/engines/sssp.h"
#include "libfabmgr/route/updown/switch_order.h"

enum care { NONE, HERE_AND_THERE, EVERYWHERE };

struct updn {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_order order;
    struct fab_updown slopes;
    struct fab_least_loaded spread;
    struct fab_destinations roster;
    uint8_t *ways;
    struct fab_lft lft;
    enum care care;
};

/* Cables are overloaded with this much of the mean load (percent), and the fabric is small enough
 * (work in looks at a port): then what takes these is rerouted, and all is spread with care where
 * more than one of so many is. A tree in which a fault doubles the load of some must not have all
 * of its tables turned over. */
#define UNEVEN_PERCENT 150
#define UNEVEN_SHARE 64
#define CAREFUL_WORK (UINT64_C(1) << 29)

/* ---- all destinations ----------------------------------------------------------------------- */

static void route_switch(struct updn *u, uint32_t index, uint32_t column)
{
    struct fab_dlid lanes[FAB_DLIDS_MAX];
    for (uint32_t s = 0; s < u->graph.n; s++)
        u->spread.column[s] = u->ways[(size_t)s * FAB_LEGAL_BATCH + column];
    for (uint32_t offset = 0; offset < u->roster.lids_each; offset++) {
        uint32_t count = fab_route_destinations_dlids(&u->roster, index, offset, lanes);
        fab_route_least_loaded_fill(&u->spread, lanes, count, &u->lft);
    }
}

static void route_all(struct updn *u)
{
    uint32_t n = u->graph.n;
    for (uint32_t first = 0; first < n; first += FAB_LEGAL_BATCH) {
        uint32_t count = n - first < FAB_LEGAL_BATCH ? n - first : FAB_LEGAL_BATCH;
        fab_route_legal_paths(&u->slopes, u->roster.sequence + first, count, u->ways);
        for (uint32_t i = 0; i < count; i++)
            route_switch(u, first + i, i);
    }
}

/* ---- care where it pays ---------------------------------------------------------------------- */

static enum care worth_care(const struct updn *u)
{
    uint64_t sum = 0, uneven = 0, ports = u->spread.ports.at[u->graph.n];
    for (uint64_t i = 0; i < ports; i++)
        sum += u->spread.ports.load[i];
    for (uint64_t i = 0; i < ports; i++)
        uneven += u->spread.ports.load[i] * ports * 100 > sum * UNEVEN_PERCENT;
    if (ports * u->in->lids->top > CAREFUL_WORK || uneven == 0)
        return NONE;
    return uneven * UNEVEN_SHARE > ports ? EVERYWHERE : HERE_AND_THERE;
}

static int route(struct updn *u)
{
    struct fab_lft careful;
    route_all(u);
    u->care = worth_care(u);
    if (u->care == NONE)
        return FAB_OK;
    if (u->care == HERE_AND_THERE)
        return fab_route_sssp_reroute_overloaded(u->in, &u->graph, &u->lft);
    int ret =
        fab_route_sssp_route(u->in, &u->graph, FAB_SSSP_LEGAL_PATH, FAB_SSSP_PER_LID, &careful);
    if (ret != FAB_OK)
        return ret;
    fab_lft_fini(&u->lft);
    u->lft = careful;
    return FAB_OK;
}

static int prepare(struct updn *u)
{
    const struct fab_route_input *in = u->in;
    int ret = fab_route_graph_make(in->fabric, &u->graph);
    if (ret == FAB_OK)
        ret = fab_route_order_find(&u->graph, in->fabric, in->policy, &u->order);
    if (ret == FAB_OK)
        ret = fab_route_updown_make(&u->graph, &u->order, &u->slopes);
    if (ret == FAB_OK)
        ret = fab_route_least_loaded_init(&u->spread, &u->graph, &u->order);
    if (ret == FAB_OK)
        ret = fab_lft_init(&u->lft, in->fabric->switch_count, in->lids->top);
    if (ret != FAB_OK)
        return ret;
    u->ways = fab_route_legal_alloc(u->graph.n);
    if (u->ways == NULL)
        return FAB_E_NOMEM;
    return fab_route_destinations_make(in, &u->graph, &u->slopes, &u->roster);
}

static void remark(const struct updn *u, char *why, size_t why_len)
{
    if (why_len == 0)
        return;
    const char *summit =
        u->order.summit != FAB_NONE ? u->in->fabric->nodes[u->order.summit].desc : "none";
    snprintf(why, why_len, "%s, summit %.64s%s", u->order.origin, summit,
             u->care == EVERYWHERE ? ", spread with care" : "");
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    (void)ret_vls; /* one lane */
    struct updn u = {.in = in};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = prepare(&u);
    if (ret == FAB_OK)
        ret = route(&u);
    if (ret == FAB_OK) {
        remark(&u, why, why_len);
        *ret_lft = u.lft;
    } else {
        fab_lft_fini(&u.lft);
    }
    free(u.ways);
    fab_route_least_loaded_fini(&u.spread);
    fab_route_destinations_fini(&u.roster);
    fab_route_updown_fini(&u.slopes);
    fab_route_order_fini(&u.order);
    fab_route_graph_fini(&u.graph);
    return ret;
}

const struct fab_route_engine fab_route_engine_updn = {
    .name = "updn",
    .summary = "up*/down* over ranks found from the topology, least-loaded ports, one VL",
    .run = run,
};

/* ---- for "auto": where there are better ones for what is no tree ------------------------------
 */

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
        *in->flawed = true; /* a regular tree is fattree's */
    return status;
}

const struct fab_route_engine fab_route_engine_updn_on_tree = {
    .name = "updn",
    .summary = "the same, where most cables join different ranks",
    .run = run_on_tree,
};
