/* SPDX-License-Identifier: BSD-3-Clause */
/* By which lanes packets go: what waits for what, where there are several. Private to the room. */
#ifndef LIBFABMGR_VERIFY_VL_WALK_H
#define LIBFABMGR_VERIFY_VL_WALK_H

#include "libfabmgr/verify/walk.h"

struct fab_verify_vl_walk {
    const struct fab_verify_graph *net;
    const struct fab_vls *vls;
    struct fab_verify_deps channels;
    uint8_t *out_class; /* [ports] of the port, */
    uint8_t *in_class;  /* and of the one at the other end of its cable */
    uint16_t *used;     /* [ports] VLs that packets go out by */
    uint16_t *seen;     /* [n][classes] SLs that came in by them, of the LIDs at hand */
    uint8_t *entry;     /* [n] of these LIDs */
};
/* Whether the lanes fit the fabric, and nothing is out of range. */
bool fab_verify_vls_valid(const struct fab_verify_graph *net, const struct fab_vls *v);
/* INVAL: the lanes do not fit the fabric, or something is out of range: as bad as no tables. NOMEM.
 */
int fab_verify_vl_walk_new(const struct fab_verify_graph *net, struct fab_verify_vl_walk **ret);
void fab_verify_vl_walk_free(struct fab_verify_vl_walk *fl); /* NULL is fine */
/* Adds what another one for the same net has noted. */
void fab_verify_vl_walk_merge(struct fab_verify_vl_walk *to, const struct fab_verify_vl_walk *from);
/* Notes what packets to the LIDs of a bundle wait for, wherever they get; column 0 of the tile is
 * first_lid. */
void fab_verify_vl_walk_batch(struct fab_verify_vl_walk *fl, const uint8_t *tile,
                              uint32_t first_lid, const struct fab_verify_batch *b);

#endif
