/* SPDX-License-Identifier: BSD-3-Clause */
/* All shortest ways to one switch, or all shortest legal ones. Private to the room. */
#ifndef LIBFABMGR_ROUTE_NEAR_H
#define LIBFABMGR_ROUTE_NEAR_H

#include "libfabmgr/route/legal.h"

struct fab_near {
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
int fab_near_init(struct fab_near *near, const struct fab_graph *g);
void fab_near_fini(struct fab_near *near);
void fab_near_find(struct fab_near *near, uint32_t destination);
/* By the ways of fab_legal_ways instead: those to the destination of this column. */
void fab_near_legal(struct fab_near *near, const struct fab_order *o, const uint8_t *way,
                    uint32_t column);
/* Fills used[] and asides from the rest, as the others do. */
void fab_near_use(struct fab_near *near);

#endif
