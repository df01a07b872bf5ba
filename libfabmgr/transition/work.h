/* SPDX-License-Identifier: BSD-3-Clause */
/* The state while the steps are made. Private to transition.c, rounds.c, paths.c. */
#ifndef LIBFABMGR_TRANSITION_WORK_H
#define LIBFABMGR_TRANSITION_WORK_H

#include "libfabmgr/transition/internal.h"

enum fab_transition_place {                           /* where a LID is on its way */
                            FAB_TRANSITION_UNCHANGED, /* nothing changes for it */
                            FAB_TRANSITION_WAITS,     /* it has old entries, or is drained */
                            FAB_TRANSITION_MOVES_ANY, /* it moves in this round, in any order */
                            FAB_TRANSITION_MOVES_ALONG,
                            FAB_TRANSITION_IS_DRAINED, /* its changed entries drop packets, or will
                                                          in this round */
                            FAB_TRANSITION_DONE,       /* it has new entries */
};
struct fab_transition_lid {
    uint32_t home; /* the switch that delivers the LID; FAB_NONE: no packets are sent to it */
    uint32_t loss; /* pairs that may be without a path while it moves in mode ANY */
    uint32_t drained_pairs; /* pairs that have no path because the LID is drained */
    uint8_t place;          /* enum fab_transition_place */
    bool along;             /* in mode ANY working paths may be lost, in mode ALONG none */
};
struct fab_transition_work {
    const struct fab_transition_input *in;
    struct fab_verify_input verify; /* for the graph */
    struct fab_verify_graph graph;
    struct fab_lft at; /* the entries that stand after the rounds so far */
    struct fab_transition_deps deps;
    struct fab_transition_order order;
    struct fab_transition_lanes lanes_state, *lanes; /* lanes: &lanes_state, or NULL for one VL */
    uint32_t top;
    struct fab_transition_lid *lid; /* [top + 1] */
    uint8_t *was, *now;             /* [n][64] the entries of a block: standing ones and new ones */
    uint8_t *fate;                  /* [2][n] */
    uint32_t *stack;                /* [n] */
    uint16_t *wave;                 /* [64][n] */
    uint64_t drained_pairs;         /* pairs that are without a path because of drained LIDs */
    struct fab_transition made;
    size_t step_room, write_room;
};

/* ---- paths.c --------------------------------------------------------------------------------- */

void fab_transition_load(struct fab_transition_work *w, uint32_t block);
/* Finds how a LID may move without a loss, from the loaded block: sets along and loss. */
void fab_transition_find_losses(struct fab_transition_work *w, uint32_t lid);
/* Computes in ret_wave[n] how many changed entries a packet meets after each switch by the new
 * entries of a LID of the loaded block. */
void fab_transition_find_waves(struct fab_transition_work *w, uint32_t lid, uint16_t *ret_wave);
/* Returns how many pairs have a path by the standing entries and by the new ones, but none if all
 * changed entries of the LID drop packets. */
uint64_t fab_transition_count_drained(struct fab_transition_work *w, uint32_t lid);

/* ---- rounds.c -------------------------------------------------------------------------------- */

enum fab_transition_tables {                     /* whose dependencies are collected */
                             FAB_TRANSITION_ALL, /* standing entries; of waiting LIDs all mixtures
                                                  */
                             FAB_TRANSITION_STANDING,
                             FAB_TRANSITION_UNMIXED, /* standing entries and new ones, but not mixed
                                                      */
                             FAB_TRANSITION_FINAL,   /* new entries with new SLs */
                             FAB_TRANSITION_FINAL_BOTH, /* new entries with old and new SLs */
                             FAB_TRANSITION_COMMON /* standing entries; of waiting LIDs those that
                                                      stay */
};
/* Collects the dependencies anew, and returns whether they have no cycle. */
bool fab_transition_is_acyclic(struct fab_transition_work *w, enum fab_transition_tables which);
/* Moves all LIDs in one round without a proof. Returns NOMEM. */
int fab_transition_move_all(struct fab_transition_work *w);
/* Moves all LIDs in as many rounds as needed. The old and the new tables have no cycle. Returns
 * NOMEM. */
int fab_transition_move_in_rounds(struct fab_transition_work *w);

#endif
