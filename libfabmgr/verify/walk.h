/* SPDX-License-Identifier: BSD-3-Clause */
/* From all switches to one LID at a time, over the tables. Private to the room. */
#ifndef LIBFABMGR_VERIFY_WALK_H
#define LIBFABMGR_VERIFY_WALK_H

#include "libfabmgr/verify/channels.h"

struct fab_walk {
    const struct fab_net *net;
    struct fab_channels channels; /* what all packets together depend on */
    uint64_t pairs, unreachable;
    uint32_t longest;
    uint32_t bad_lid, bad_switch; /* the first failure: lowest LID, then lowest switch; or 0 */
    uint8_t *tile;                /* [64][n] entries of the LIDs at hand */
    uint16_t *depth;              /* [n + 1] switches to pass on the way to the LID at hand */
    uint32_t *stack;              /* [n] */
    uint32_t *next;               /* [n] next switch on the way, or n */
    uint32_t *order;              /* [n] by the depth of a LID before: nearest first, mostly */
    bool all_send;                /* every switch has a LID owner, and all are connected */
};
int fab_walk_init(struct fab_walk *w, const struct fab_net *net);
void fab_walk_fini(struct fab_walk *w);
void fab_walk_all(struct fab_walk *w);

#endif
