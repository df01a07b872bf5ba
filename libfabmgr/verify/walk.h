/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk from all switches to each LID through the LFTs. Only this folder uses this header. */
#ifndef LIBFABMGR_VERIFY_WALK_H
#define LIBFABMGR_VERIFY_WALK_H

#include "libfabmgr/verify/dependencies.h"

#define FAB_VERIFY_TILE_LIDS FAB_LFT_BLOCK

struct fab_verify_batch_walk;
struct fab_verify_vl_walk;

struct fab_verify_walk {
    const struct fab_verify_graph *graph;
    struct fab_verify_deps deps; /* the dependencies of all packets, as if there were one VL */
    uint64_t pairs, unreachable;
    uint32_t longest;
    /* the first failure found: the lowest failing LID, and the lowest switch id that fails to reach
     * it; bad_lid 0: no failure */
    uint32_t bad_lid, bad_switch;
    uint8_t *tiles;  /* [4][n][64] the LFT entries of all switches for 256 LIDs */
    uint8_t *tile;   /* [n][64] the part of `tiles` for the current 64 LIDs */
    uint8_t *entry;  /* [n] the LFT entries for one LID */
    uint16_t *depth; /* [n] number of switches on the path to the current LID, including this one;
                        0: not visited */
    uint32_t *stack; /* [n] */
    /* NULL: batch_walk.c does not apply, and each LID is walked by itself */
    struct fab_verify_batch_walk *batch_walk;
    struct fab_verify_vl_walk *vl_walk; /* NULL: one VL */
};
/* Creates a walk over the graph. Returns INVAL if the VL tables are not valid, or NOMEM. */
int fab_verify_walk_init(struct fab_verify_walk *w, const struct fab_verify_graph *graph);
void fab_verify_walk_fini(struct fab_verify_walk *w);
int fab_verify_walk_all(struct fab_verify_walk *w); /* returns NOMEM */
/* These functions do the same work as fab_verify_walk_all, in pieces of 256 LIDs and on the calling
 * thread. Call fab_verify_walk_piece once for each piece below fab_verify_walk_pieces, in any
 * order, and then fab_verify_walk_finish. */
uint32_t fab_verify_walk_pieces(const struct fab_verify_walk *w);
void fab_verify_walk_piece(struct fab_verify_walk *w, uint32_t piece);
void fab_verify_walk_finish(struct fab_verify_walk *w);

/* A batch: consecutive LIDs that one switch delivers, or a part of them. */
struct fab_verify_batch {
    uint32_t sw;        /* the delivering switch; its port num[i] leads to the owner of LID i */
    uint32_t at, count; /* first column in the tile, and number of columns */
    const uint8_t *num; /* [count] */
};

/* ---- batch_walk.c: the LIDs of one destination switch together ------------------------------- */

/* Creates the scratch memory of the method. The method requires that every switch has a LID owner
 * and that all switches are connected; otherwise *ret is set to NULL. Returns NOMEM if there is no
 * memory. */
int fab_verify_batch_walk_new(const struct fab_verify_deps *deps,
                              struct fab_verify_batch_walk **ret);
void fab_verify_batch_walk_free(struct fab_verify_batch_walk *s);
/* The batches of a tile (64 LIDs) are walked between the calls of _begin and _end for this tile.
 * After all tiles, the caller calls _finish. */
void fab_verify_batch_walk_begin(struct fab_verify_batch_walk *s, const uint8_t *tile,
                                 struct fab_verify_deps *deps);
void fab_verify_batch_walk_end(struct fab_verify_batch_walk *s, struct fab_verify_deps *deps);
void fab_verify_batch_walk_finish(struct fab_verify_batch_walk *s, struct fab_verify_deps *deps);
/* Tries to walk a batch. Returns true if all LIDs arrive. Then the dependencies are noted (complete
 * after fab_verify_batch_walk_finish), and *ret_deepest is the number of switches on the longest
 * path. Returns false if this method cannot tell whether they arrive; the dependencies that it
 * noted are correct nevertheless. */
bool fab_verify_batch_walk_try(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                               struct fab_verify_deps *deps, uint32_t *ret_deepest);

#endif
