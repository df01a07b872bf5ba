/* SPDX-License-Identifier: BSD-3-Clause */
/* By which lanes packets go: what waits for what, where there are several. Private to the room. */
#ifndef LIBFABMGR_VERIFY_FLOW_H
#define LIBFABMGR_VERIFY_FLOW_H

#include "libfabmgr/verify/walk.h"

struct fab_flow {
    const struct fab_net *net;
    const struct fab_vls *vls;
    struct fab_channels channels;
    uint8_t *out_class; /* [ports] of the port, */
    uint8_t *in_class;  /* and of the one at the other end of its cable */
    uint16_t *used;     /* [ports] VLs that packets go out by */
    uint16_t *seen;     /* [n][classes] SLs that came in by them, of the LIDs at hand */
    uint8_t *entry;     /* [n] of these LIDs */
};
/* Whether the lanes fit the fabric, and nothing is out of range. */
bool fab_flow_sound(const struct fab_net *net, const struct fab_vls *v);
/* INVAL: the lanes do not fit the fabric, or something is out of range: as bad as no tables. NOMEM.
 */
int fab_flow_new(const struct fab_net *net, struct fab_flow **ret);
void fab_flow_free(struct fab_flow *fl); /* NULL is fine */
/* Adds what another one for the same net has noted. */
void fab_flow_add(struct fab_flow *to, const struct fab_flow *from);
/* Notes what packets to the LIDs of a bundle wait for, wherever they get; column 0 of the tile is
 * first_lid. */
void fab_flow_walk(struct fab_flow *fl, const uint8_t *tile, uint32_t first_lid,
                   const struct fab_bundle *b);

#endif
