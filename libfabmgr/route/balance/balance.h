/* SPDX-License-Identifier: BSD-3-Clause */
/* Balances the link loads over the shortest paths to one LID after another. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_BALANCE_BALANCE_H
#define LIBFABMGR_ROUTE_BALANCE_BALANCE_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/balance/shortest_paths.h"
#include "libfabmgr/route/updown/destinations.h"
#include "libfabmgr/route/updown/switch_order.h"

/* State of the balancer. cost[] and the arrays below it, except number[], refer to the LID that was
 * routed last. */
struct fab_balancer {
    struct fab_arena arena; /* of the arrays */
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_order *o;
    const struct fab_shortest *shortest; /* shortest paths to the LID's switch; the caller fills
                                            it */
    bool whole;       /* true: the cost of a port is the load along the whole path; false: the load
                         of the next link only */
    uint64_t slack;   /* the D-mod-k port is taken if its cost exceeds the least cost by at most
                         this, in units of load[] */
    uint64_t *load;   /* [ports] host pairs routed over the port so far, summed over all LIDs and
                         multiplied by g->port_slow (rate of the fastest ISL / rate of this ISL) */
    uint64_t *cost;   /* [n] cost of the path from the switch */
    uint32_t *pick;   /* [n] the port (of the graph) that the switch uses */
    bool *climbs;     /* [n] whether pick[] leads up */
    uint64_t *flow;   /* [n] number of hosts whose packets pass through the switch; 0 between
                         LIDs */
    uint32_t *length; /* [n] number of hops of the path */
    bool *settled;    /* [n] whether the switch has a path */
    uint32_t *aside;  /* list of switches that are on no shortest path of a host */
    uint32_t *number; /* [port ids of switches] index of this port among the ports of the graph */
};
/* Initialises the balancer. The caller keeps g, o and shortest, which must outlive b. Returns NOMEM
 * if there is no memory. */
int fab_route_balance_init(struct fab_balancer *b, const struct fab_fabric *f,
                           const struct fab_graph *g, const struct fab_order *o,
                           const struct fab_shortest *shortest);
void fab_route_balance_fini(struct fab_balancer *b);

enum fab_balance {
    FAB_BALANCE_TOGETHER, /* the flows of all hosts are added to the loads after all ports are
                             chosen */
    FAB_BALANCE_SPREAD,   /* the flow of each switch's hosts is added at once, so that later
                             switches avoid these links */
};
/* Chooses the ports of all switches for a LID of a host, adds the loads that its entries cause, and
 * writes the entries. */
void fab_route_balance_add(struct fab_balancer *b, const struct fab_dlid *dlid,
                           enum fab_balance how, struct fab_lft *lft);
/* fab_route_balance_count adds, and fab_route_balance_remove subtracts, the loads that the entries
 * for a LID cause. */
void fab_route_balance_count(struct fab_balancer *b, const struct fab_dlid *dlid,
                             const struct fab_lft *lft);
void fab_route_balance_remove(struct fab_balancer *b, const struct fab_dlid *dlid,
                              const struct fab_lft *lft);
/* Sets *ret_limit to `percent` percent of the mean load of all ports. Returns whether any port has
 * a higher load. */
bool fab_route_balance_limit(const struct fab_balancer *b, uint32_t percent, uint64_t *ret_limit);
/* Reroutes those LIDs of hosts at destination switch `index` whose paths use a link with more load
 * than `limit`. Each LID is removed and added again, now that the loads of all other LIDs are
 * known. */
void fab_route_balance_reroute(struct fab_balancer *b, const struct fab_destinations *destinations,
                               uint32_t index, uint64_t limit, enum fab_balance how,
                               struct fab_lft *lft);

#endif
