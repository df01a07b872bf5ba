/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the least-loaded ports on legal paths, for the engine updn. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_BALANCE_LEAST_LOADED_H
#define LIBFABMGR_ROUTE_BALANCE_LEAST_LOADED_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/updown/destinations.h"
#include "libfabmgr/route/updown/legal_paths.h"

/* The ports of all switches (struct fab_graph) in another order: for each switch, first the ports
 * that lead down, then the ports that lead up. */
struct fab_updown_ports {
    struct fab_arena arena; /* memory of the arrays */
    /* The ports of switch s that lead down are at[s] to mid[s] - 1. Its ports that lead up are
     * mid[s] to at[s + 1] - 1. Numbers of elements: switches + 1 in at[], switches in mid[]. */
    uint32_t *at, *mid;
    uint32_t *peer;      /* [ports] the switch to which each port leads */
    uint8_t *num, *slow; /* [ports] port number, and slowness (fab_graph.port_slow) of the link */
    /* [ports] load of each port: number of pairs of hosts routed over it so far, multiplied by
     * slow[] */
    uint64_t *load;
};

/* State for the choice of ports towards one destination switch. The caller fills column[] for each
 * destination switch, and may read all members. */
struct fab_least_loaded {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_graph *g;
    const struct fab_order *o;
    struct fab_updown_ports ports;
    /* [switches][DLIDs of one call of fab_route_least_loaded_fill()] number of hosts whose packets
     * to the DLID arrive at the switch from other switches; all 0 between two calls */
    uint32_t *flow;
    /* [switches] length of the legal path from each switch to the destination (legal_paths.h) */
    uint8_t *column;
    /* [switches] the switches that have a path, the farthest from the destination first */
    uint32_t *far;
    /* [switches] lower bound of the loads of the ports that lead up from each switch */
    uint64_t *least;
};
/* Initialises *s with loads of 0. *s keeps pointers to `g` and `o`, which must outlive *s. Returns
 * NOMEM if there is no memory. */
int fab_route_least_loaded_init(struct fab_least_loaded *s, const struct fab_graph *g,
                                const struct fab_order *o);
void fab_route_least_loaded_fini(struct fab_least_loaded *s);

/* Routes the DLIDs of one destination switch, and writes the entries of all switches that have a
 * path. Before this call, the caller must fill column[] with the path lengths to this switch. */
void fab_route_least_loaded_fill(struct fab_least_loaded *s, const struct fab_dlid *dlids,
                                 uint32_t count, struct fab_lft *lft);

#endif
