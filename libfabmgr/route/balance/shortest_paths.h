/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the shortest paths to one switch, among all paths or among the legal paths (up/down
 * routing). Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_BALANCE_SHORTEST_PATHS_H
#define LIBFABMGR_ROUTE_BALANCE_SHORTEST_PATHS_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/updown/legal_paths.h"

struct fab_shortest {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_graph *g;
    /* number of switches that have a path, the destination included */
    uint32_t reached;
    /* [reached] the switches that have a path, nearest first; at[0] is the destination */
    uint32_t *at;
    /* [switches] number of hops from each switch to the destination; FAB_NONE: no path */
    uint32_t *hops;
    /* The ports of switch at[i] that lead one hop nearer to the destination are port[first[i]] to
     * port[first[i + 1] - 1], ascending. They are indices into the ports of the graph. */
    uint32_t *first; /* [switches + 1] */
    uint32_t *port;  /* [ports] see first[] */
    /* [switches] whether the switch has hosts, or is on a shortest path from a switch with hosts;
     * undefined for switches without a path */
    bool *used;
    /* number of switches that have a path although used[] is false; the destination does not
     * count */
    uint32_t unused;
};
/* Allocates the arrays. *shortest keeps a pointer to `g`, so `g` must outlive *shortest. Returns
 * NOMEM if there is no memory. */
int fab_route_shortest_init(struct fab_shortest *shortest, const struct fab_graph *g);
void fab_route_shortest_fini(struct fab_shortest *shortest);
/* Finds all shortest paths to the switch `destination`, in O(ports) steps. */
void fab_route_shortest_find(struct fab_shortest *shortest, uint32_t destination);
/* Finds all shortest legal paths to one destination switch. `paths` was filled by
 * fab_route_legal_paths(), and `column` is the index of the destination in `paths`. Sets `unused`
 * to 0: legal paths close no cycle, so the balancer need not find other paths for switches that no
 * host uses. */
void fab_route_shortest_find_legal(struct fab_shortest *shortest, const struct fab_order *o,
                                   const uint8_t *paths, uint32_t column);
/* Computes used[] and `unused` from the other members. Only callers that fill in the other members
 * themselves need this function. */
void fab_route_shortest_mark_used(struct fab_shortest *shortest);

#endif
