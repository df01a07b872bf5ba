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
    /* the channel dependencies of all packets, as if there were one VL */
    struct fab_verify_deps deps;
    uint64_t pairs, unreachable;
    /* number of unreachable pairs in which neither the source nor the destination is a switch */
    uint64_t unreachable_hosts;
    uint32_t longest;
    /* The first failure: the lowest LID that some switch cannot reach, and the lowest id of the
     * switches that cannot reach it. bad_lid is 0 if there is no failure. */
    uint32_t bad_lid, bad_switch;
    /* [4][switches][64] the LFT entries of all switches for 256 LIDs */
    uint8_t *tiles;
    /* [switches][64] the part of `tiles` for the current 64 LIDs */
    uint8_t *tile;
    uint8_t *entry; /* [switches] the LFT entries for one LID */
    /* [switches] number of switches on the path from each switch to the current LID, both ends
     * included; 0: not visited yet */
    uint16_t *depth;
    uint32_t *stack; /* [switches] the switches of the path that is being followed */
    /* NULL: the fast method of batch_walk.c is not possible in this fabric, so the paths to each
     * LID are followed separately */
    struct fab_verify_batch_walk *batch_walk;
    /* NULL: there is one VL, or each packet keeps one VL from end to end */
    struct fab_verify_vl_walk *vl_walk;
};
/* Creates a walk over the graph. Returns INVAL if the VL tables are not valid, or NOMEM. */
int fab_verify_walk_init(struct fab_verify_walk *w, const struct fab_verify_graph *graph);
void fab_verify_walk_fini(struct fab_verify_walk *w);
int fab_verify_walk_all(struct fab_verify_walk *w); /* returns NOMEM */
/* These functions do the work of fab_verify_walk_all in pieces of 256 LIDs, on the calling thread.
 * The caller calls fab_verify_walk_piece for each piece number below fab_verify_walk_pieces, in any
 * order, and then fab_verify_walk_finish. */
uint32_t fab_verify_walk_pieces(const struct fab_verify_walk *w);
void fab_verify_walk_piece(struct fab_verify_walk *w, uint32_t piece);
void fab_verify_walk_finish(struct fab_verify_walk *w);

/* A batch: some consecutive LIDs, all of which are delivered by the same switch. */
struct fab_verify_batch {
    /* the switch that delivers the LIDs; packets to LID i leave it by port num[i] */
    uint32_t sw;
    /* index of the first LID of the batch in the tile, and number of LIDs */
    uint32_t at, count;
    const uint8_t *num; /* [count] the port by which packets to each LID leave switch `sw` */
};

/* ---- batch_walk.c: walks the LIDs of one destination switch together ------------------------- */

/* Creates the scratch memory for batch_walk.c. Sets *ret to NULL if the method cannot be used: some
 * switch has neither an endport with a LID nor a LID of its port 0, or not all switches are
 * connected. Returns NOMEM if there is no memory. */
int fab_verify_batch_walk_new(const struct fab_verify_deps *deps,
                              struct fab_verify_batch_walk **ret);
void fab_verify_batch_walk_free(struct fab_verify_batch_walk *s);
/* For the switches of an equivalence class that have the same entries as their representative, the
 * walk collects the dependencies of the representative only. The functions ..._begin, ..._end and
 * ..._finish copy these dependencies to the other switches. For each tile (64 LIDs), the caller
 * calls ..._begin with the entries of the tile, walks the batches of the tile, and calls ..._end.
 * After all tiles, the caller calls ..._finish. */
void fab_verify_batch_walk_begin(struct fab_verify_batch_walk *s, const uint8_t *tile,
                                 struct fab_verify_deps *deps);
void fab_verify_batch_walk_end(struct fab_verify_batch_walk *s, struct fab_verify_deps *deps);
void fab_verify_batch_walk_finish(struct fab_verify_batch_walk *s, struct fab_verify_deps *deps);
/* Tries to follow the paths to all LIDs of a batch together. Returns true if packets to all of them
 * arrive. In this case, it has recorded the dependencies (complete after
 * fab_verify_batch_walk_finish), and *ret_deepest is the number of switches on the longest path.
 * Returns false if this method cannot tell whether packets arrive. It may then have recorded some
 * of the dependencies; these are correct. */
bool fab_verify_batch_walk_try(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                               struct fab_verify_deps *deps, uint32_t *ret_deepest);

#endif
