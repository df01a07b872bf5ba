/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes one LID after another over shortest paths. Chooses among these paths so that the loads of
 * the links become even. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_BALANCE_BALANCE_H
#define LIBFABMGR_ROUTE_BALANCE_BALANCE_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/balance/shortest_paths.h"
#include "libfabmgr/route/updown/destinations.h"
#include "libfabmgr/route/updown/switch_order.h"

/* State of the balancer. The arrays cost[], pick[], climbs[], length[], settled[] and aside[] hold
 * values for the LID that was routed last. */
struct fab_balancer {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_order *o;
    /* shortest paths to the destination switch of the current LID; the caller finds them before it
     * routes the LID */
    const struct fab_shortest *shortest;
    /* true: the cost of a port is the sum of the loads along the rest of the path; false: it is the
     * load of the next link only */
    bool whole;
    /* a switch takes the D-mod-k port if the cost of this port exceeds the least cost by at most
     * this slack (same unit as load[]) */
    uint64_t slack;
    /* [ports] load of each port: number of pairs of hosts that are routed over it so far,
     * multiplied by g->port_slow (rate of the fastest ISL / rate of this ISL) */
    uint64_t *load;
    /* [switches] cost of the port that each switch has chosen (see `whole`); 0 at the destination
     */
    uint64_t *cost;
    /* [switches] the port by which each switch sends to the current LID, as an index in the graph's
     * list of ports */
    uint32_t *pick;
    /* [switches] whether the port in pick[] leads up, in the order of up/down routing */
    bool *climbs;
    /* [switches] number of hosts whose packets to the current LID pass through the switch; all 0
     * while no LID is being routed */
    uint64_t *flow;
    /* [switches] number of hops of the path from each switch to the destination */
    uint32_t *length;
    /* [switches] whether the switch has a path to the current LID already */
    bool *settled;
    /* [switches] the switches that are on no shortest path from a host to the current LID */
    uint32_t *aside;
    /* [port ids of switches] index of each port in the graph, which has only the ports that lead to
     * other switches */
    uint32_t *number;
};
/* Initialises the balancer. *b keeps pointers to `f`, `g`, `o` and `shortest`, which must outlive
 * *b. Returns NOMEM if there is no memory. */
int fab_route_balance_init(struct fab_balancer *b, const struct fab_fabric *f,
                           const struct fab_graph *g, const struct fab_order *o,
                           const struct fab_shortest *shortest);
void fab_route_balance_fini(struct fab_balancer *b);

enum fab_balance {
    /* all ports are chosen first; then the flows of all hosts are added to the loads */
    FAB_BALANCE_TOGETHER,
    /* a switch adds the flow of its hosts as soon as it has chosen; switches that choose later then
     * avoid the links with this flow */
    FAB_BALANCE_SPREAD,
};
/* Chooses the ports of all switches for a LID of a host, adds the loads that its entries cause, and
 * writes the entries. */
void fab_route_balance_add(struct fab_balancer *b, const struct fab_dlid *dlid,
                           enum fab_balance how, struct fab_lft *lft);
/* fab_route_balance_count() adds to b->load[] the loads that the entries for one LID cause.
 * fab_route_balance_remove() subtracts these loads. b->shortest must have the paths to the
 * destination switch of the LID. */
void fab_route_balance_count(struct fab_balancer *b, const struct fab_dlid *dlid,
                             const struct fab_lft *lft);
void fab_route_balance_remove(struct fab_balancer *b, const struct fab_dlid *dlid,
                              const struct fab_lft *lft);
/* Sets *ret_limit to `percent` percent of the mean load of all ports. Returns true if any port has
 * a higher load. */
bool fab_route_balance_limit(const struct fab_balancer *b, uint32_t percent, uint64_t *ret_limit);
/* Reroutes LIDs of hosts at the destination switch destinations->sequence[index], if their paths
 * use a link whose load exceeds `limit`. Subtracts the load of each such LID and chooses the paths
 * to this LID again. The second choice is better, because the loads of all other LIDs are known.
 * b->shortest must have the paths to this destination switch. */
void fab_route_balance_reroute(struct fab_balancer *b, const struct fab_destinations *destinations,
                               uint32_t index, uint64_t limit, enum fab_balance how,
                               struct fab_lft *lft);

#endif
