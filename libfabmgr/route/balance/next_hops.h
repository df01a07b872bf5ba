/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables from "who comes next", with the load spread over parallel cables. Private to the room. */
#ifndef LIBFABMGR_ROUTE_BALANCE_NEXT_HOPS_H
#define LIBFABMGR_ROUTE_BALANCE_NEXT_HOPS_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/updown/destinations.h"

struct fab_next_hops {
    const struct fab_graph *g;
    uint32_t *next;  /* [n] the caller's: the neighbour on the way to the destination at hand */
    uint32_t *hops;  /* [n] to the destination */
    uint32_t *far;   /* [n] switches, the farthest first */
    uint64_t *flow;  /* [n] hosts whose packets come through */
    uint64_t *load;  /* [ports] host pairs over each port so far, times slowness */
    uint32_t *count; /* [n + 1] scratch */
};
int fab_route_next_hops_init(struct fab_next_hops *o, const struct fab_graph *g);
void fab_route_next_hops_fini(struct fab_next_hops *o);

/* Follows next[] of all switches to `dest`. FAB_NONE: all arrive; else the lowest that does not. */
uint32_t fab_route_next_hops_follow(struct fab_next_hops *o, uint32_t dest);
/* Writes the entries of lanes at `dest`, after fab_route_next_hops_follow. */
void fab_route_next_hops_fill(struct fab_next_hops *o, uint32_t dest, const struct fab_dlid *lanes,
                              uint32_t count, struct fab_lft *lft);

#endif
