/* SPDX-License-Identifier: BSD-3-Clause */
/* All shortest ways to one switch, or all shortest legal ones. Private to the room. */
#ifndef LIBFABMGR_ROUTE_BALANCE_SHORTEST_PATHS_H
#define LIBFABMGR_ROUTE_BALANCE_SHORTEST_PATHS_H

#include "libfabmgr/route/updown/legal_paths.h"

struct fab_shortest {
    const struct fab_graph *g;
    uint32_t reached; /* switches that have a way; */
    uint32_t *at;     /* [n] they, the destination first, the nearest next */
    uint32_t *hops;   /* [n] by switch, FAB_NONE: no way */
    /* The ports of at[i] that lead one cable nearer: port[first[i]..first[i + 1]), as indices into
     * the ports of the graph, in their order. */
    uint32_t *first; /* [n + 1] */
    uint32_t *port;  /* [ports] */
    bool *used;      /* [n] by switch: a shortest way of hosts may lead through, or begins here */
    uint32_t asides; /* switches reached, but for the destination, that are not used */
};
int fab_route_shortest_init(struct fab_shortest *near, const struct fab_graph *g);
void fab_route_shortest_fini(struct fab_shortest *near);
void fab_route_shortest_find(struct fab_shortest *near, uint32_t destination);
/* By the ways of fab_route_legal_paths instead: those to the destination of this column. */
void fab_route_shortest_find_legal(struct fab_shortest *near, const struct fab_order *o,
                                   const uint8_t *way, uint32_t column);
/* Fills used[] and asides from the rest, as the others do. */
void fab_route_shortest_mark_used(struct fab_shortest *near);

#endif
