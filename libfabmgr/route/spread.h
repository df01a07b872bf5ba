/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing ports so that the load is even. Private to the room. */
#ifndef LIBFABMGR_ROUTE_SPREAD_H
#define LIBFABMGR_ROUTE_SPREAD_H

#include "libfabmgr/route/legal.h"
#include "libfabmgr/route/roster.h"

/* The ports of fab_graph, those of each switch that lead down first, then those that lead up. */
struct fab_ports {
    uint32_t *at, *mid; /* [n + 1], [n] */
    uint32_t *peer;
    uint8_t *num, *slow;
    uint64_t *load; /* host pairs over the port so far, times slow */
};

/* What spreading works on; arrays are the caller's. */
struct fab_spread {
    const struct fab_graph *g;
    const struct fab_order *o;
    struct fab_ports ports;
    uint32_t *flow;  /* [n][lanes at hand] hosts whose packets to the lane come to the switch;
                        all 0 between destinations */
    uint8_t *column; /* [n] way to the destination */
    uint32_t *far;   /* [n] switches, the farthest first */
    uint64_t *least; /* [n] none of the switch's upward ports carries less */
};
int fab_spread_init(struct fab_spread *s, const struct fab_graph *g, const struct fab_order *o);
void fab_spread_fini(struct fab_spread *s);

/* Routes the lanes of one destination switch: s->column holds the ways to it. Writes their entries
 * of all switches that have a way. */
void fab_spread_lanes(struct fab_spread *s, const struct fab_lane *lanes, uint32_t count,
                      struct fab_lft *lft);

#endif
