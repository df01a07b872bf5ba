/* SPDX-License-Identifier: BSD-3-Clause */
/* Least-loaded ports on legal paths, for the engine updn. For this folder only. */
#ifndef LIBFABMGR_ROUTE_BALANCE_LEAST_LOADED_H
#define LIBFABMGR_ROUTE_BALANCE_LEAST_LOADED_H

#include "libfabmgr/route/updown/destinations.h"
#include "libfabmgr/route/updown/legal_paths.h"

/* The ports of fab_graph; for each switch first the ports that lead down, then those that lead up.
 */
struct fab_updown_ports {
    uint32_t *at, *mid;  /* [n + 1], [n]: down at[s]..mid[s], up mid[s]..at[s + 1] */
    uint32_t *peer;      /* [ports] */
    uint8_t *num, *slow; /* [ports] */
    uint64_t *load;      /* [ports] pairs of hosts over the port so far, times slow */
};

/* The caller may read all members, and fills column[]. */
struct fab_least_loaded {
    const struct fab_graph *g;
    const struct fab_order *o;
    struct fab_updown_ports ports;
    uint32_t *flow;  /* [n][DLIDs at once] hosts whose packets to the DLID arrive at the switch; all
                        0 between destinations */
    uint8_t *column; /* [n] lengths of the legal paths to the destination (legal_paths.h) */
    uint32_t *far;   /* [n] switches, farthest first */
    uint64_t *least; /* [n] lower bound of the loads of the switch's upward ports */
};
/* g and o are borrowed. Fails only with NOMEM. */
int fab_route_least_loaded_init(struct fab_least_loaded *s, const struct fab_graph *g,
                                const struct fab_order *o);
void fab_route_least_loaded_fini(struct fab_least_loaded *s);

/* Routes the DLIDs of one destination switch, to which column[] holds the paths. Writes the entries
 * of all switches that have a path. */
void fab_route_least_loaded_fill(struct fab_least_loaded *s, const struct fab_dlid *dlids,
                                 uint32_t count, struct fab_lft *lft);

#endif
