/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the computation that makes the steps of a transition. Old entries are the entries
 * that the switches hold before the transition. New entries are the entries of the new tables.
 * Present entries are those that the switches hold after the rounds made so far. Enum
 * fab_transition_mode explains the modes ANY and ALONG, in which the entries for a LID are written.
 * A pair is a source port and a destination LID. Only the .c files of this folder include this
 * header. */
#ifndef LIBFABMGR_TRANSITION_WORK_H
#define LIBFABMGR_TRANSITION_WORK_H

#include "libfabmgr/transition/internal.h"

/* whether and how the switches have the new entries for a LID */
enum fab_transition_progress {
    FAB_TRANSITION_UNCHANGED, /* no entry for this LID changes */
    /* the LID has its old entries, or is drained, and must still be updated */
    FAB_TRANSITION_WAITS,
    /* UPDATED_ANY and UPDATED_ALONG: the LID is updated in this round, in mode ANY or in mode
     * ALONG. */
    FAB_TRANSITION_UPDATED_ANY,
    FAB_TRANSITION_UPDATED_ALONG,
    /* the changed entries for this LID drop packets, or will drop them in this round */
    FAB_TRANSITION_IS_DRAINED,
    FAB_TRANSITION_DONE, /* the LID has its new entries */
};
struct fab_transition_lid {
    /* the switch that delivers packets to the LID; FAB_NONE: no packets are sent to the LID */
    uint32_t home;
    /* Number of pairs (source port, this LID) that may lose their path while the LID is updated in
     * mode ANY. */
    uint32_t loss;
    /* number of pairs (source port, this LID) that have no path because the LID is drained */
    uint32_t drained_pairs;
    uint8_t progress; /* enum fab_transition_progress */
    /* true: an update of the LID in mode ANY may cut a working path of some source ports, and mode
     * ALONG avoids this */
    bool along;
    /* true: some source ports have no path to the LID by the present entries, but have one by the
     * new entries */
    bool broken;
    /* true: the present entries for the LID cause a channel dependency that the new tables do not
     * have */
    bool foreign;
};
struct fab_transition_work {
    const struct fab_transition_input *in;
    struct fab_verify_input verify; /* input of the graph of libfabmgr/verify */
    struct fab_verify_graph graph;
    struct fab_lft at; /* the present entries */
    struct fab_transition_deps deps;
    struct fab_transition_order order;
    /* lanes: &lanes_state if there are several VLs, otherwise NULL */
    struct fab_transition_lanes lanes_state, *lanes;
    uint32_t top;
    struct fab_transition_lid *lid; /* [top + 1] state of each LID */
    /* [switches][64] the loaded LFT block of each switch. was: its present entries; now: its new
     * entries. */
    uint8_t *was, *now;
    /* [2][switches] whether packets from each switch arrive at the LID: [0] by the present entries,
     * [1] by the new entries (values: enum in paths.c). */
    uint8_t *fate;
    uint32_t *stack; /* [switches] the switches on the path that is being followed */
    /* [64][switches] for each LID of the loaded block and each switch, in which wave (0, 1, ...)
     * the switch's entry is written. The writes of a wave are sent when all writes of the previous
     * wave are acknowledged. */
    uint16_t *wave;
    /* true: the new tables have a path from every switch to every LID, and every switch has a LID
     * owner (its own port 0, or an attached endport) */
    bool new_arrive;
    /* number of LFT entries and channels that the search has visited, and the maximum */
    uint64_t visits, visits_most;
    /* number of pairs that have no path now, because of drained LIDs */
    uint64_t drained_pairs;
    bool any_broken; /* true: `broken` is set for some LID */
    /* The channel dependencies of the new tables, as if there were one VL. Empty if
     * fab_transition_check_union did not compute them. */
    struct fab_verify_deps wanted;
    bool stopped; /* the caller has stopped the search */
    struct fab_transition made;
    size_t step_room, write_room;
};

/* ---- paths.c --------------------------------------------------------------------------------- */

/* Loads the present and new entries of an LFT block into w->was and w->now. Sets w->stopped if the
 * caller has stopped the search. */
void fab_transition_load(struct fab_transition_work *w, uint32_t block);
/* Returns a bitset of the waiting LIDs of the LFT block that may lose a path while entries are
 * replaced. The caller must call fab_transition_find_losses for each of these LIDs. */
uint64_t fab_transition_find_lossy(const struct fab_transition_work *w, uint32_t block);
/* Sets three members of a LID in the loaded LFT block. loss: how many pairs may lose their path if
 * the LID is updated in mode ANY. along: whether mode ALONG avoids the loss. broken: whether some
 * pairs get a path only by the new entries. */
void fab_transition_find_losses(struct fab_transition_work *w, uint32_t lid);
/* For each switch s whose entry for the LID changes, sets ret_wave[s] to the number of changed
 * entries that packets to the LID meet after s on the new path. Sets ret_wave[] of all other
 * switches to 0. Switches with a smaller number are written earlier. The LID must be in the loaded
 * LFT block. */
void fab_transition_find_waves(struct fab_transition_work *w, uint32_t lid, uint16_t *ret_wave);
/* Returns how many pairs have no path while the changed entries for the LID drop packets. Counts
 * only pairs that have a path by the present entries, and also by the new entries. */
uint64_t fab_transition_count_drained(struct fab_transition_work *w, uint32_t lid);

/* ---- union.c --------------------------------------------------------------------------------- */

/* Returns a bitset of the entries in which two LFT blocks differ. */
uint64_t fab_transition_find_changes(const uint8_t *was, const uint8_t *now);
/* Checks whether the mixtures of present and new entries of all waiting LIDs have no cycle of
 * channel dependencies, as if there were one VL. Sets *ret_any to true if they have none when the
 * writes take effect in any order. Sets *ret_along to true if they have none when all LIDs are
 * updated in mode ALONG. Sets both to false if the check is not possible, because some switch has
 * no LID owner or the new tables lack a path. Also sets w->new_arrive. Returns OK or NOMEM. */
int fab_transition_check_union(struct fab_transition_work *w, bool *ret_along, bool *ret_any);

/* ---- rounds.c -------------------------------------------------------------------------------- */

/* Selects the entries from which fab_transition_is_acyclic collects channel dependencies. Present
 * entries are those that the switches hold after the rounds made so far. Waiting LIDs are those
 * with the progress FAB_TRANSITION_WAITS. */
enum fab_transition_tables {
    /* waiting LIDs: all mixtures of present and new entries; other LIDs: present entries */
    FAB_TRANSITION_ALL,
    /* waiting LIDs: the mixtures of present and new entries that occur in mode ALONG; other LIDs:
     * present entries */
    FAB_TRANSITION_ALL_ALONG,
    FAB_TRANSITION_PRESENT, /* all LIDs: present entries */
    /* waiting LIDs: all packets meet only present entries, or only new entries; other LIDs: present
     * entries */
    FAB_TRANSITION_UNMIXED,
    /* all LIDs: new entries, with the SLs that hosts use now */
    FAB_TRANSITION_FINAL,
    /* all LIDs: new entries, with old and new SLs */
    FAB_TRANSITION_FINAL_BOTH,
    /* waiting LIDs: only present entries that do not change; other LIDs: present entries */
    FAB_TRANSITION_COMMON
};
/* Collects the channel dependencies of the entries that `which` describes. Returns true if they
 * have no cycle. */
bool fab_transition_is_acyclic(struct fab_transition_work *w, enum fab_transition_tables which);
/* Makes the steps of a single round in which all waiting LIDs get their new entries. If `along` is
 * true, all of them are updated in mode ALONG (each switch is written after all later switches on
 * its new path). Otherwise mode ALONG is used only for LIDs that would lose working paths in mode
 * ANY. This function does not check for cycles of channel dependencies: the caller knows that the
 * round has none, or that no steps can avoid them. Returns OK or NOMEM. */
int fab_transition_move_all(struct fab_transition_work *w, bool along);
/* Updates all LIDs in as many rounds as necessary. Neither the old nor the new tables may have a
 * cycle. After visits_most visits, the remaining LIDs are drained and then updated in one round,
 * and the verdict is LIMIT. Returns OK or NOMEM. */
int fab_transition_move_in_rounds(struct fab_transition_work *w);

#endif
