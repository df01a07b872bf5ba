/* SPDX-License-Identifier: BSD-3-Clause */
/* Which switches make roots, and how far all others are from them. */
#ifndef LIBFABMGR_MCAST_DISTANCES_H
#define LIBFABMGR_MCAST_DISTANCES_H

#include "libfabmgr/mcast/net.h"

#define FAB_MCAST_UNREACHED UINT16_MAX

struct ways {
    const struct fab_mcast_net *net;
    uint64_t *core;  /* bitset of switches: those farthest from ends */
    uint16_t **dist; /* [switches] by root: hops to it by switch; NULL: not computed yet */
    uint32_t *queue; /* [switches] for computing */
    uint32_t least;  /* the smallest table, in multicast LIDs; for LIDs beyond: */
    uint16_t *few;   /* [switches] hops to few_root over switches that have entry few_slot */
    uint32_t few_root, few_slot;
};
int fab_mcast_distances_init(struct ways *w, const struct fab_mcast_net *n); /* NOMEM */
void fab_mcast_distances_fini(struct ways *w);
/* The net had other cables, which the difference has now. Distances that are the same are kept.
 * NOMEM: those that are kept are right for both. */
int fab_mcast_distances_update(struct ways *w, const struct fab_mcast_net_diff *was);
/* Hops to a root by switch, over those whose tables have that entry; FAB_MCAST_UNREACHED: no way.
 * NULL: NOMEM. Valid until the next call. */
const uint16_t *fab_mcast_distances_to(struct ways *w, uint32_t root, uint32_t slot);
/* What fab_mcast_distances_to gives has been kept since it was computed, and is no news. */
bool fab_mcast_distances_unchanged(const struct ways *w, uint32_t root, uint32_t slot);

#endif
