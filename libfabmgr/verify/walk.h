/* SPDX-License-Identifier: BSD-3-Clause */
/* From all switches to one LID at a time, over the tables. Private to the room. */
#ifndef LIBFABMGR_VERIFY_WALK_H
#define LIBFABMGR_VERIFY_WALK_H

#include "libfabmgr/verify/channels.h"

#define FAB_WALK_COLUMNS FAB_LFT_BLOCK

struct fab_sheaf;
struct fab_flow;

struct fab_walk {
    const struct fab_net *net;
    struct fab_channels channels; /* what all packets together depend on, on one lane */
    uint64_t pairs, unreachable;
    uint32_t longest;
    uint32_t bad_lid, bad_switch; /* the first failure: lowest LID, then lowest switch; or 0 */
    uint8_t *tiles;               /* [4][n][64] entries of 256 LIDs, and */
    uint8_t *tile;                /* those of the LIDs at hand */
    uint8_t *entry;               /* [n] those of one LID */
    uint16_t *depth;              /* [n] switches to pass on the way to the LID at hand */
    uint32_t *stack;              /* [n] */
    struct fab_sheaf *sheaf;      /* NULL: each LID by itself */
    struct fab_flow *flow;        /* NULL: one lane */
};
/* INVAL: the lanes are unsound. */
int fab_walk_init(struct fab_walk *w, const struct fab_net *net);
void fab_walk_fini(struct fab_walk *w);
int fab_walk_all(struct fab_walk *w); /* NOMEM */

/* LIDs that leave the switches at one and the same. */
struct fab_bundle {
    uint32_t sw;        /* there; port num[i] leads to the owner of LID i */
    uint32_t at, count; /* columns of the tile */
    const uint8_t *num; /* [count] */
};

/* ---- sheaf.c: LIDs of one destination switch together -----------------------------------------
 */

/* *ret is NULL where that does not apply: some switch sends nothing, or cannot reach all others. */
int fab_sheaf_new(const struct fab_channels *channels, struct fab_sheaf **ret);
void fab_sheaf_free(struct fab_sheaf *s);
/* Before and after the LIDs of a tile; after all of them. */
void fab_sheaf_begin(struct fab_sheaf *s, const uint8_t *tile, struct fab_channels *channels);
void fab_sheaf_end(struct fab_sheaf *s, struct fab_channels *channels);
void fab_sheaf_finish(struct fab_sheaf *s, struct fab_channels *channels);
/* True: all arrive, all dependencies are noted (at fab_sheaf_finish), *ret_deepest is the longest
 * way. False: not seen at a glance; what was noted is true nevertheless. */
bool fab_sheaf_walk(struct fab_sheaf *s, const struct fab_bundle *b, struct fab_channels *channels,
                    uint32_t *ret_deepest);

#endif
