/* SPDX-License-Identifier: BSD-3-Clause */
/* The core switches, which can be roots of multicast trees, and the distances of all switches from
 * them. */
#ifndef LIBFABMGR_MCAST_DISTANCES_H
#define LIBFABMGR_MCAST_DISTANCES_H

#include "libfabmgr/mcast/net.h"

#define FAB_MCAST_UNREACHED UINT16_MAX

struct fab_mcast_distances {
    const struct fab_mcast_net *net;
    uint64_t *core;  /* bitset of the core switches: those farthest from endports */
    uint16_t **dist; /* [switches], one array for each root: hops from each switch to the root;
                        NULL: not computed yet */
    uint32_t *queue; /* [switches] scratch memory of searches */
    /* Size of the smallest multicast forwarding table, in MLIDs. A higher MLID is not in the table
     * of every switch; the distances for its tree are computed separately, in avoid[]. */
    uint32_t least;
    /* [switches] hops to avoid_root over switches whose tables have entry avoid_slot. Only the last
     * result is kept. */
    uint16_t *avoid;
    uint32_t avoid_root, avoid_slot;
};
int fab_mcast_distances_init(struct fab_mcast_distances *w,
                             const struct fab_mcast_net *n); /* NOMEM */
void fab_mcast_distances_fini(struct fab_mcast_distances *w);
/* Adapts the distances to the changed net; `was` describes its former links. Distances that did not
 * change are kept. NOMEM: the distances that remain are correct for the old net and for the new
 * one. */
int fab_mcast_distances_update(struct fab_mcast_distances *w, const struct fab_mcast_net_diff *was);
/* Returns the hops from each switch to a root, over switches whose tables have entry `slot`;
 * FAB_MCAST_UNREACHED: no path. NULL: no memory. The array is valid until the next call. */
const uint16_t *fab_mcast_distances_to(struct fab_mcast_distances *w, uint32_t root, uint32_t slot);
/* Returns whether these distances were computed before the last change of the net and did not
 * change with it. */
bool fab_mcast_distances_unchanged(const struct fab_mcast_distances *w, uint32_t root,
                                   uint32_t slot);

#endif
