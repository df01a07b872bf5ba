/* SPDX-License-Identifier: BSD-3-Clause */
/* Which switches make roots, and how far all others are from them. */
#ifndef LIBFABMGR_MCAST_WAYS_H
#define LIBFABMGR_MCAST_WAYS_H

#include "libfabmgr/mcast/net.h"

#define WAYS_FAR UINT16_MAX

struct ways {
    const struct fab_mnet *net;
    uint64_t *core;  /* bitset of switches: those farthest from ends */
    uint16_t **dist; /* [switches] by root: hops to it by switch; NULL: not computed yet */
    uint32_t *queue; /* [switches] for computing */
    uint32_t least;  /* the smallest table, in multicast LIDs; for LIDs beyond: */
    uint16_t *few;   /* [switches] hops to few_root over switches that have entry few_slot */
    uint32_t few_root, few_slot;
};
int ways_init(struct ways *w, const struct fab_mnet *n); /* NOMEM */
void ways_fini(struct ways *w);
/* The net had other cables, which the difference has now. Distances that are the same are kept.
 * NOMEM: those that are kept are right for both. */
int ways_follow(struct ways *w, const struct fab_mnet_diff *was);
/* Hops to a root by switch, over those whose tables have that entry; WAYS_FAR: no way. NULL: NOMEM.
 * Valid until the next call. */
const uint16_t *ways_to(struct ways *w, uint32_t root, uint32_t slot);
/* What ways_to gives has been kept since it was computed, and is no news. */
bool ways_stand(const struct ways *w, uint32_t root, uint32_t slot);

#endif
