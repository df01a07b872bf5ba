/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest ways to one LID after the other, with balanced load. Private to the room. */
#ifndef LIBFABMGR_ROUTE_BALANCE_BALANCE_H
#define LIBFABMGR_ROUTE_BALANCE_BALANCE_H

#include "libfabmgr/route/balance/shortest_paths.h"
#include "libfabmgr/route/updown/destinations.h"
#include "libfabmgr/route/updown/switch_order.h"

/* All is of the LID at hand, but for the loads. Arrays are the caller's. */
struct fab_balancer {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_order *o;
    const struct fab_shortest *near; /* of the LID's switch */
    bool whole;       /* the load of the whole way counts, else that of the next cable */
    uint64_t slack;   /* how much more than the least the way of D-mod-k may carry */
    uint64_t *load;   /* [ports] pairs of hosts over the port, times its slowness, of all LIDs */
    uint64_t *cost;   /* [n] load on the way from the switch, as far as it counts */
    uint32_t *pick;   /* [n] the port that it takes */
    bool *climbs;     /* [n] and whether this leads up */
    uint64_t *flow;   /* [n] hosts whose packets come through; 0 between LIDs */
    uint32_t *length; /* [n] cables on its way */
    bool *settled;    /* [n] has its way */
    uint32_t *aside;  /* [n] switches that no host's shortest way leads through */
    uint32_t *number; /* [port ids of switches] ports of the graph */
};
int fab_route_balance_init(struct fab_balancer *b, const struct fab_fabric *f,
                           const struct fab_graph *g, const struct fab_order *o,
                           const struct fab_shortest *near);
void fab_route_balance_fini(struct fab_balancer *b);

enum fab_balance {
    FAB_BALANCE_TOGETHER, /* all hosts by one way where D-mod-k has one and all are equal */
    FAB_BALANCE_SPREAD,   /* each host sees what the others of the same LID have added */
};
/* Picks ways of a LID of hosts, loads their cables and writes the entries. */
void fab_route_balance_add(struct fab_balancer *b, const struct fab_dlid *lane,
                           enum fab_balance how, struct fab_lft *lft);
/* Counts the load of entries that somebody else picked; takes that of the entries away again. */
void fab_route_balance_count(struct fab_balancer *b, const struct fab_dlid *lane,
                             const struct fab_lft *lft);
void fab_route_balance_remove(struct fab_balancer *b, const struct fab_dlid *lane,
                              const struct fab_lft *lft);
/* Does any of its ways take a cable with more load than `limit`? */
bool fab_route_balance_exceeds(const struct fab_balancer *b, const struct fab_dlid *lane,
                               const struct fab_lft *lft, uint64_t limit);

#endif
