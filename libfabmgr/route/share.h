/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing among wide ways for each LID so that the load is even. Private to the room. */
#ifndef LIBFABMGR_ROUTE_SHARE_H
#define LIBFABMGR_ROUTE_SHARE_H

#include "libfabmgr/route/detours.h"
#include "libfabmgr/route/roster.h"

struct fab_share {
    const struct fab_graph *g; /* borrowed */
    const struct fab_order *o; /* borrowed */
    uint8_t *slot;             /* [ports] of the arc that the port belongs to */
    uint64_t *load;            /* [ports] host pairs, times slowness */
    uint32_t *port_of;         /* [n][256] by number, index of the port */
    /* For the destination at hand: candidates of near[i] are port[at[i]..at[i + 1]). */
    uint32_t *at, *port;
    uint32_t *pick; /* [n] by near */
    uint64_t *cost, *flow;
};
int fab_share_init(struct fab_share *s, const struct fab_graph *g, const struct fab_order *o);
void fab_share_fini(struct fab_share *s);

/* d: ways found and widened. Writes the entries of the lanes. again: they stand in lft already,
 * and are chosen anew in view of all others. */
void fab_share_lanes(struct fab_share *s, const struct fab_detours *d, const struct fab_lane *lanes,
                     uint32_t count, bool again, struct fab_lft *lft);
/* Of the lanes that go over a port with more load than `most`, ways part where that helps. */
void fab_share_relieve(struct fab_share *s, const struct fab_detours *d,
                       const struct fab_lane *lanes, uint32_t count, uint64_t most,
                       struct fab_lft *lft);

#endif
