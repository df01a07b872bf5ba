/* SPDX-License-Identifier: BSD-3-Clause */
/* From all switches to one LID at a time, over the tables. Private to the room. */
#ifndef LIBFABMGR_VERIFY_WALK_H
#define LIBFABMGR_VERIFY_WALK_H

#include "libfabmgr/verify/dependencies.h"

#define FAB_VERIFY_TILE_LIDS FAB_LFT_BLOCK

struct fab_verify_batch_walk;
struct fab_verify_vl_walk;

struct fab_verify_walk {
    const struct fab_verify_graph *net;
    struct fab_verify_deps channels; /* what all packets together depend on, on one lane */
    uint64_t pairs, unreachable;
    uint32_t longest;
    uint32_t bad_lid, bad_switch; /* the first failure: lowest LID, then lowest switch; or 0 */
    uint8_t *tiles;               /* [4][n][64] entries of 256 LIDs, and */
    uint8_t *tile;                /* those of the LIDs at hand */
    uint8_t *entry;               /* [n] those of one LID */
    uint16_t *depth;              /* [n] switches to pass on the way to the LID at hand */
    uint32_t *stack;              /* [n] */
    struct fab_verify_batch_walk *sheaf; /* NULL: each LID by itself */
    struct fab_verify_vl_walk *flow;     /* NULL: one lane */
};
/* INVAL: the lanes are unsound. */
int fab_verify_walk_init(struct fab_verify_walk *w, const struct fab_verify_graph *net);
void fab_verify_walk_fini(struct fab_verify_walk *w);
int fab_verify_walk_all(struct fab_verify_walk *w); /* NOMEM */

/* LIDs that leave the switches at one and the same. */
struct fab_verify_batch {
    uint32_t sw;        /* there; port num[i] leads to the owner of LID i */
    uint32_t at, count; /* columns of the tile */
    const uint8_t *num; /* [count] */
};

/* ---- sheaf.c: LIDs of one destination switch together -----------------------------------------
 */

/* *ret is NULL where that does not apply: some switch sends nothing, or cannot reach all others. */
int fab_verify_batch_walk_new(const struct fab_verify_deps *channels,
                              struct fab_verify_batch_walk **ret);
void fab_verify_batch_walk_free(struct fab_verify_batch_walk *s);
/* Before and after the LIDs of a tile; after all of them. */
void fab_verify_batch_walk_begin(struct fab_verify_batch_walk *s, const uint8_t *tile,
                                 struct fab_verify_deps *channels);
void fab_verify_batch_walk_end(struct fab_verify_batch_walk *s, struct fab_verify_deps *channels);
void fab_verify_batch_walk_finish(struct fab_verify_batch_walk *s,
                                  struct fab_verify_deps *channels);
/* True: all arrive, all dependencies are noted (at fab_verify_batch_walk_finish), *ret_deepest is
 * the longest way. False: not seen at a glance; what was noted is true nevertheless. */
bool fab_verify_batch_walk_try(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                               struct fab_verify_deps *channels, uint32_t *ret_deepest);

#endif
