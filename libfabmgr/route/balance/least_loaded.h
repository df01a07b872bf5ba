/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing ports so that the load is even. Private to the room. */
#ifndef LIBFABMGR_ROUTE_BALANCE_LEAST_LOADED_H
#define LIBFABMGR_ROUTE_BALANCE_LEAST_LOADED_H

#include "libfabmgr/route/updown/destinations.h"
#include "libfabmgr/route/updown/legal_paths.h"

/* The ports of fab_graph, those of each switch that lead down first, then those that lead up. */
struct fab_updown_ports {
    uint32_t *at, *mid; /* [n + 1], [n] */
    uint32_t *peer;
    uint8_t *num, *slow;
    uint64_t *load; /* host pairs over the port so far, times slow */
};

/* What spreading works on; arrays are the caller's. */
struct fab_least_loaded {
    const struct fab_graph *g;
    const struct fab_order *o;
    struct fab_updown_ports ports;
    uint32_t *flow;  /* [n][lanes at hand] hosts whose packets to the lane come to the switch;
                        all 0 between destinations */
    uint8_t *column; /* [n] way to the destination */
    uint32_t *far;   /* [n] switches, the farthest first */
    uint64_t *least; /* [n] none of the switch's upward ports carries less */
};
int fab_route_least_loaded_init(struct fab_least_loaded *s, const struct fab_graph *g,
                                const struct fab_order *o);
void fab_route_least_loaded_fini(struct fab_least_loaded *s);

/* Routes the lanes of one destination switch: s->column holds the ways to it. Writes their entries
 * of all switches that have a way. */
void fab_route_least_loaded_fill(struct fab_least_loaded *s, const struct fab_dlid *lanes,
                                 uint32_t count, struct fab_lft *lft);

#endif
