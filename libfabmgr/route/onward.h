/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables from "who comes next", with the load spread over parallel cables. Private to the room. */
#ifndef LIBFABMGR_ROUTE_ONWARD_H
#define LIBFABMGR_ROUTE_ONWARD_H

#include "libfabmgr/route/graph.h"
#include "libfabmgr/route/roster.h"

struct fab_onward {
    const struct fab_graph *g;
    uint32_t *next;  /* [n] the caller's: the neighbour on the way to the destination at hand */
    uint32_t *hops;  /* [n] to the destination */
    uint32_t *far;   /* [n] switches, the farthest first */
    uint64_t *flow;  /* [n] hosts whose packets come through */
    uint64_t *load;  /* [ports] host pairs over each port so far, times slowness */
    uint32_t *count; /* [n + 1] scratch */
};
int fab_onward_init(struct fab_onward *o, const struct fab_graph *g);
void fab_onward_fini(struct fab_onward *o);

/* Follows next[] of all switches to `dest`. FAB_NONE: all arrive; else the lowest that does not. */
uint32_t fab_onward_follow(struct fab_onward *o, uint32_t dest);
/* Writes the entries of lanes at `dest`, after fab_onward_follow. */
void fab_onward_fill(struct fab_onward *o, uint32_t dest, const struct fab_lane *lanes,
                     uint32_t count, struct fab_lft *lft);

#endif
