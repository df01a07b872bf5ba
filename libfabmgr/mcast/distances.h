/* SPDX-License-Identifier: BSD-3-Clause */
/* The core switches, which can be roots of multicast trees, and the distances of all switches to
 * these roots. */
#ifndef LIBFABMGR_MCAST_DISTANCES_H
#define LIBFABMGR_MCAST_DISTANCES_H

#include "libfabmgr/mcast/net.h"

#define FAB_MCAST_UNREACHED UINT16_MAX

struct fab_mcast_distances {
    const struct fab_mcast_net *net;
    /* bitset of the core switches: the switches farthest from endports, or 64 of them if there are
     * more */
    uint64_t *core;
    /* [switches] dist[root] is an array with the number of hops from each switch to switch `root`;
     * NULL: not computed yet, or `root` is not the root of a tree */
    uint16_t **dist;
    /* [switches] memory for the queue of the breadth-first search */
    uint32_t *queue;
    /* All switches that have an MFT have entries for the first `least` MLIDs. For a higher MLID,
     * some of them have no entry. Distances for the tree of such an MLID are computed separately,
     * in avoid[]. */
    uint32_t least;
    /* [switches] number of hops from each switch to the root avoid_root, on paths that avoid
     * switches without an MFT entry for the MLID FAB_MLID_FIRST + avoid_slot. Computed for one root
     * and one MLID at a time. */
    uint16_t *avoid;
    uint32_t avoid_root, avoid_slot;
};
/* Finds the switches of a net that can be roots of multicast trees, and allocates the arrays.
 * Computes no distances yet. Returns NOMEM. */
int fab_mcast_distances_init(struct fab_mcast_distances *w, const struct fab_mcast_net *n);
void fab_mcast_distances_fini(struct fab_mcast_distances *w);
/* Adapts the distances to a change of links: w->net has the new links already, and `was` has the
 * old ones. Keeps the array of distances to a root only if the change of links changes none of
 * them. Returns NOMEM; all arrays that are left are then correct for both the old and the new
 * links. */
int fab_mcast_distances_update(struct fab_mcast_distances *w, const struct fab_mcast_net_diff *was);
/* Returns an array with the number of hops from each switch to a root, over switches whose MFTs
 * have entry `slot` (MLID minus FAB_MLID_FIRST). FAB_MCAST_UNREACHED: no path. Returns NULL if
 * memory ran out. The array is valid until the next call. */
const uint16_t *fab_mcast_distances_to(struct fab_mcast_distances *w, uint32_t root, uint32_t slot);
/* Returns true if the last change of the net changed no distance to this root. Returns false if
 * these distances were not computed before the change, or if some switch has no MFT entry `slot`,
 * because distances for such an entry are never kept. */
bool fab_mcast_distances_unchanged(const struct fab_mcast_distances *w, uint32_t root,
                                   uint32_t slot);

#endif
