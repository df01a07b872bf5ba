/* SPDX-License-Identifier: BSD-3-Clause */
/* Balances the link loads over the shortest paths to one LID after another. For this folder only.
 */
#ifndef LIBFABMGR_ROUTE_BALANCE_BALANCE_H
#define LIBFABMGR_ROUTE_BALANCE_BALANCE_H

#include "libfabmgr/route/balance/shortest_paths.h"
#include "libfabmgr/route/updown/destinations.h"
#include "libfabmgr/route/updown/switch_order.h"

/* All members but the loads refer to the LID that was routed last. */
struct fab_balancer {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_order *o;
    const struct fab_shortest *shortest; /* paths to the LID's switch; filled by the caller */
    bool whole;       /* the cost is the load along the path, not of the next link only */
    uint64_t slack;   /* the port of D-mod-k is taken if its cost exceeds the least cost by no more
                         than this */
    uint64_t *load;   /* [ports] host pairs routed over the port so far, summed over all LIDs and
                         weighted by g->port_slow (rate of the fastest ISL / rate of this one) */
    uint64_t *cost;   /* [n] cost of the path from the switch */
    uint32_t *pick;   /* [n] the port that the switch takes */
    bool *climbs;     /* [n] whether that port leads up */
    uint64_t *flow;   /* [n] hosts whose packets pass through; 0 between LIDs */
    uint32_t *length; /* [n] hops of the path */
    bool *settled;    /* [n] whether the switch has a path */
    uint32_t *aside;  /* [n] switches that are on no shortest path of a host */
    uint32_t *number; /* [port ids of switches] the same port as a port of the graph */
};
/* g, o and shortest are borrowed. Fails only with NOMEM. */
int fab_route_balance_init(struct fab_balancer *b, const struct fab_fabric *f,
                           const struct fab_graph *g, const struct fab_order *o,
                           const struct fab_shortest *shortest);
void fab_route_balance_fini(struct fab_balancer *b);

enum fab_balance {
    FAB_BALANCE_TOGETHER, /* the hosts' flows are added to the loads after all ports are chosen */
    FAB_BALANCE_SPREAD,   /* each switch's hosts are added at once, so that others avoid them */
};
/* Chooses the ports for a LID of a host, adds the loads and writes the entries. */
void fab_route_balance_add(struct fab_balancer *b, const struct fab_dlid *dlid,
                           enum fab_balance how, struct fab_lft *lft);
/* Add or remove the loads that a LID causes by its entries in the tables. */
void fab_route_balance_count(struct fab_balancer *b, const struct fab_dlid *dlid,
                             const struct fab_lft *lft);
void fab_route_balance_remove(struct fab_balancer *b, const struct fab_dlid *dlid,
                              const struct fab_lft *lft);
/* Sets *ret_limit to `percent` percent of the mean load of all ports. Returns whether any port has
 * more load. */
bool fab_route_balance_limit(const struct fab_balancer *b, uint32_t percent, uint64_t *ret_limit);
/* Removes the LIDs of hosts at destination switch `index` that take a link with more load than
 * `limit`, and adds each of them again, now that the loads of all others are known. */
void fab_route_balance_reroute(struct fab_balancer *b, const struct fab_destinations *destinations,
                               uint32_t index, uint64_t limit, enum fab_balance how,
                               struct fab_lft *lft);

#endif
