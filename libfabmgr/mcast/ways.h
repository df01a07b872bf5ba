/* SPDX-License-Identifier: BSD-3-Clause */
/* Which switches make roots, and how far all others are from them. Private to the room. */
#ifndef LIBFABMGR_MCAST_WAYS_H
#define LIBFABMGR_MCAST_WAYS_H

#include "libfabmgr/fabric/fabric.h"

#define WAYS_FAR UINT16_MAX

struct ways {
    const struct fab_fabric *f;
    uint64_t *core;  /* bitset of switches: those farthest from ends */
    uint16_t **dist; /* [switch_count] by root: hops to it by switch; NULL: not computed yet */
    uint32_t *queue; /* [switch_count] for computing */
};
int ways_init(struct ways *w, const struct fab_fabric *f); /* NOMEM */
void ways_fini(struct ways *w);
/* Hops to a root by switch, WAYS_FAR: no way; NULL: NOMEM. */
const uint16_t *ways_to(struct ways *w, uint32_t root);
/* The port at the other end of a working cable between switches, or FAB_NONE. */
uint32_t ways_across(const struct fab_fabric *f, uint32_t port);

#endif
