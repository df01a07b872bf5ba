/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches that can be roots, and the distances of all others from them. */
#ifndef LIBFABMGR_MCAST_DISTANCES_H
#define LIBFABMGR_MCAST_DISTANCES_H

#include "libfabmgr/mcast/net.h"

#define FAB_MCAST_UNREACHED UINT16_MAX

struct fab_mcast_distances {
    const struct fab_mcast_net *net;
    uint64_t *core;  /* bitset of the core switches: those farthest from endports */
    uint16_t **dist; /* [switches] by root: hops to it, by switch; NULL: not computed yet */
    uint32_t *queue; /* [switches] scratch */
    /* Size of the smallest multicast forwarding table, in MLIDs. An MLID beyond it is not in the
     * table of every switch; its distances are computed separately, in avoid[]. */
    uint32_t least;
    /* [switches] hops to avoid_root over switches whose table has entry avoid_slot: the last such
     * result */
    uint16_t *avoid;
    uint32_t avoid_root, avoid_slot;
};
int fab_mcast_distances_init(struct fab_mcast_distances *w,
                             const struct fab_mcast_net *n); /* NOMEM */
void fab_mcast_distances_fini(struct fab_mcast_distances *w);
/* Adapts the distances to the changed net; `was` describes its former links. Distances that are the
 * same are kept. On NOMEM, those that are kept are right for both nets. */
int fab_mcast_distances_update(struct fab_mcast_distances *w, const struct fab_mcast_net_diff *was);
/* Hops to a root, by switch, over switches whose tables have entry `slot`; FAB_MCAST_UNREACHED: no
 * path. Returns NULL without memory. Valid until the next call. */
const uint16_t *fab_mcast_distances_to(struct fab_mcast_distances *w, uint32_t root, uint32_t slot);
/* True if these distances were computed before the last change and are the same after it. */
bool fab_mcast_distances_unchanged(const struct fab_mcast_distances *w, uint32_t root,
                                   uint32_t slot);

#endif
