/* SPDX-License-Identifier: BSD-3-Clause */
/* All shortest paths to one switch, or all shortest legal paths. For this folder only. */
#ifndef LIBFABMGR_ROUTE_BALANCE_SHORTEST_PATHS_H
#define LIBFABMGR_ROUTE_BALANCE_SHORTEST_PATHS_H

#include "libfabmgr/route/updown/legal_paths.h"

struct fab_shortest {
    const struct fab_graph *g;
    uint32_t reached; /* number of switches that have a path, the destination included */
    uint32_t *at;     /* [n] these switches, nearest first; at[0] is the destination */
    uint32_t *hops;   /* [n] by switch; FAB_NONE: no path */
    /* The ports of at[i] that lead one hop nearer: port[first[i]..first[i + 1]), as indices into
     * the ports of the graph, ascending. */
    uint32_t *first; /* [n + 1] */
    uint32_t *port;  /* [ports] */
    bool *used;      /* [n] by switch: it has hosts, or is on a shortest path from a host */
    uint32_t unused; /* number of reached switches, without the destination, that are not used */
};
/* Fails only with NOMEM. */
int fab_route_shortest_init(struct fab_shortest *shortest, const struct fab_graph *g);
void fab_route_shortest_fini(struct fab_shortest *shortest);
/* Finds all shortest paths to the switch `destination`. O(ports). */
void fab_route_shortest_find(struct fab_shortest *shortest, uint32_t destination);
/* Finds all shortest legal paths to destination `column` of `paths`, as fab_route_legal_paths()
 * wrote them. */
void fab_route_shortest_find_legal(struct fab_shortest *shortest, const struct fab_order *o,
                                   const uint8_t *paths, uint32_t column);
/* Computes used[] and unused from the other members, as the two functions above do. */
void fab_route_shortest_mark_used(struct fab_shortest *shortest);

#endif
