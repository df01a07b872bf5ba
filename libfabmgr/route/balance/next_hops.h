/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills LFTs for engines that choose only the next switch, and balances the loads over parallel
 * links. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_BALANCE_NEXT_HOPS_H
#define LIBFABMGR_ROUTE_BALANCE_NEXT_HOPS_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/updown/destinations.h"

struct fab_next_hops {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_graph *g;
    /* [switches] for each switch, the next switch on its path to the destination; the caller fills
     * this array */
    uint32_t *next;
    uint32_t *hops; /* [switches] number of hops to the destination */
    /* [switches] the switches that have a path, the farthest from the destination first */
    uint32_t *far;
    /* [switches] number of hosts whose packets to the destination start at the switch or pass
     * through it */
    uint64_t *flow;
    /* [ports] load of each port: number of pairs of hosts routed over it so far, multiplied by
     * port_slow (rate of the fastest ISL / rate of this ISL) */
    uint64_t *load;
    uint32_t *count; /* [switches + 2] scratch memory */
};
/* Initialises *o. *o keeps a pointer to `g`, so `g` must outlive *o. Returns NOMEM if there is no
 * memory. */
int fab_route_next_hops_init(struct fab_next_hops *o, const struct fab_graph *g);
void fab_route_next_hops_fini(struct fab_next_hops *o);

/* Follows the paths that next[] describes, from all switches to `dest`, and computes hops[], far[]
 * and flow[]. Takes O(switches) steps. Returns FAB_NONE if all paths reach `dest`; otherwise the
 * lowest id of a switch whose path does not reach `dest`. */
uint32_t fab_route_next_hops_follow(struct fab_next_hops *o, uint32_t dest);
/* Writes the entries for the DLIDs at the switch `dest`, and adds the loads that they cause to
 * load[]. The caller must have called fab_route_next_hops_follow() for `dest`, with the result
 * FAB_NONE. */
void fab_route_next_hops_fill(struct fab_next_hops *o, uint32_t dest, const struct fab_dlid *dlids,
                              uint32_t count, struct fab_lft *lft);

#endif
