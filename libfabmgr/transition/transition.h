/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes in which steps the manager can replace the forwarding tables in the switches by new
 * ones, so that no deadlock can occur in between.
 *
 * Switches replace their tables one after the other, so for some time packets meet a mixture: some
 * switches hold their new entries, others still their old ones. Even if neither the old nor the new
 * tables have a cycle of channel dependencies, a mixture may have one. The steps are chosen so that
 * no mixture has a forwarding loop, or a cycle on any VL, in whatever order the writes of a step
 * take effect. There are four methods:
 *
 *   - Any order. Take, for each LID, the channel dependencies of all mixtures of its old and new
 *     entries. The union of these sets over all LIDs contains the dependencies of every mixture,
 *     because packets to one LID meet only entries for this LID. If the union has no cycle, any
 *     order of writes is safe (Dally & Seitz 1987; for mixtures: Lysne, Montanana, Flich, Duato,
 *     Pinkston, Skeie, IEEE ToC 57(6), 2008). A forwarding loop in a mixture is also a cycle of the
 *     union.
 *   - Rounds. If the union has a cycle, the LIDs are updated (get their new entries) in rounds. The
 *     union of a round has the new entries of the LIDs updated earlier, all mixtures of the LIDs
 *     updated in this round, and the old entries of the other LIDs. A round begins when the writes
 *     of the round before are answered and its packets have left the fabric. Until then, packets in
 *     flight still have their old dependencies (ghost dependencies of the Double Scheme: Pinkston,
 *     Pang, Duato, IEEE TPDS 14(8), 2003). UPR, another method of the literature, also adds and
 *     removes dependencies step by step (Crespo et al., arXiv 2006.02332).
 *   - Along paths. If some orders of the writes for a LID could close a cycle, each switch is
 *     written after all later switches on its new path. A packet then meets old entries first and
 *     only new entries afterwards, so there are fewer dependencies. Such a round has several steps.
 *     LIDs that some source ports cannot reach are updated first. LIDs with old dependencies that
 *     the new tables do not have come next, because while these dependencies remain, fewer other
 *     LIDs can be updated.
 *   - Draining. If no LID can be updated, some LIDs are drained: their changed entries drop packets
 *     in one round, other LIDs are updated in the next round, and the drained LIDs get their new
 *     entries in a third round. The LIDs to be drained are chosen greedily. If the search takes too
 *     long, all remaining LIDs are drained.
 *
 * Several VLs: hosts keep the SL from a path record, and ask for a new path record only long after
 * the tables have changed.
 *
 *   - The steps are proved for the SLs that hosts use now. If the new tables have a cycle with the
 *     old SLs alone, no steps help, and the verdict is NEW_CYCLE.
 *   - Later, hosts use old and new SLs together. If the new tables then have a cycle, stale_sls is
 *     set.
 *   - SL-to-VL tables change before the forwarding tables. If the old forwarding tables have a
 *     cycle with some mixture of old and new SL-to-VL tables, unproven_lanes is set.
 *   - Tables that have no cycle on a single VL have none on several VLs. So VLs are considered only
 *     if there is a cycle without them.
 *
 * Three possibilities are not used: intermediate tables (for example, up/down tables) could avoid
 * draining; SL-to-VL tables could be changed after the forwarding tables, if only that order is
 * safe; and a mixture could count as safe if its cycle needs packets that no host can send.
 */
#ifndef LIBFABMGR_TRANSITION_TRANSITION_H
#define LIBFABMGR_TRANSITION_TRANSITION_H

#include "libfabmgr/base/pool.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_transition_write {
    uint32_t sw, block, step;
    /* bit i: entry i of the block gets its new value */
    uint64_t set;
    /* Bit i: entry i of the block becomes FAB_LFT_NO_ROUTE; a later write sets the entry. */
    uint64_t drain;
};
struct fab_transition_input {
    const struct fab_fabric *fabric;
    /* the LIDs and their owners, for which the new tables were made */
    const struct fab_lids *lids;
    const struct fab_lft *old_lft; /* the entries that the switches hold now */
    /* Bitset [switch][blocks of old_lft's stride] of the LFT blocks that are known; NULL: all of
     * them. Unknown entries count as entries that drop packets. */
    const uint64_t *known;
    const struct fab_lft *new_lft;
    /* Writes that take effect before the transition begins, such as the writes of stage EARLY of a
     * plan; NULL: none. */
    const struct fab_transition_write *before;
    uint32_t before_count;
    /* The SLs that hosts use now, and the present SL-to-VL tables. NULL: one VL. */
    const struct fab_vls *old_vls;
    /* the new SLs and SL-to-VL tables; NULL: one VL */
    const struct fab_vls *new_vls;
    /* thread pool; NULL: the calling thread does all the work */
    const struct fab_pool *pool;
    /* The search for steps visits at most this number of LFT entries and channels. 0 means
     * FAB_TRANSITION_VISITS, which takes some seconds of CPU time. */
    uint64_t visits;
    /* Called during the search; returns true to end it early. NULL: the search always runs to its
     * end. */
    bool (*stopped)(void *ctx);
    void *stopped_ctx;
};
#define FAB_TRANSITION_VISITS 400000000u

enum fab_transition_verdict {
    /* no LFT block is known, or no entry changes, so there are no steps */
    FAB_TRANSITION_NOTHING,
    /* No mixture of old and new entries has a forwarding loop or a cycle of channel dependencies,
     * whatever the order of the writes. */
    FAB_TRANSITION_ANY_ORDER,
    /* If each step is sent only when the step before has been answered, no mixture of old and new
     * entries has a loop or a cycle. No LID is drained. */
    FAB_TRANSITION_STEPS,
    /* Like FAB_TRANSITION_STEPS, but some LIDs are drained. */
    FAB_TRANSITION_DRAINS,
    /* Like FAB_TRANSITION_DRAINS, but more LIDs than necessary may be drained, because the search
     * for steps reached its limit (`visits`). */
    FAB_TRANSITION_LIMIT,
    /* Mixtures of old and new entries may have a cycle, because the old tables have one, perhaps
     * only together with the new SL-to-VL tables. */
    FAB_TRANSITION_OLD_CYCLE,
    /* Mixtures of old and new entries may have a cycle, because the new tables have one with the
     * SLs that hosts use now. */
    FAB_TRANSITION_NEW_CYCLE,
};

/* A step is a set of writes that may be in flight together and take effect in any order. Its first
 * write is sent when all writes of earlier steps are answered. */
struct fab_transition_step {
    /* the writes of the step: index of the first in writes[], and their number */
    uint32_t first, count;
    /* true: the packets of earlier steps must have left the fabric before the step begins. So the
     * manager waits for some time after the last answer; a packet may stay in the fabric for
     * HOQLife at each switch. */
    bool settle;
    /* moved: number of LIDs whose first new entries this step writes. drained: number of LIDs that
     * this step drains. */
    uint32_t moved, drained;
    /* Number of pairs (source port, destination LID) that have a path before and after the
     * transition, but may have none for some time: from the first write of this step until the
     * first write of the next step. */
    uint64_t lost_pairs;
};
struct fab_transition {
    enum fab_transition_verdict verdict;
    struct fab_transition_step *steps;
    /* The writes, sorted by step, then by block, then by switch. */
    struct fab_transition_write *writes;
    uint32_t step_count, write_count;
    /* number of rounds: 1 + the number of steps for which `settle` is set; 0 if there are no
     * steps */
    uint32_t rounds;
    uint32_t drained; /* number of LIDs that are drained */
    /* the largest value of lost_pairs of any step */
    uint64_t lost_pairs;
    /* number of LFT blocks, over all switches, whose old entries are not known */
    uint32_t unknown;
    /* number of pairs (source switch, destination LID) whose SL changes */
    uint64_t sl_pairs;
    /* true: the new tables have a cycle while some hosts use old SLs and other hosts use new SLs */
    bool stale_sls;
    /* true: a mixture of old and new SL-to-VL tables may have a cycle */
    bool unproven_lanes;
};
/* Makes the steps of a transition. Returns OK; NOMEM; INVAL if the tables belong to another fabric,
 * or if SLs, VLs or port classes are out of range; BUSY if in->stopped returned true. */
int fab_transition_make(const struct fab_transition_input *in, struct fab_transition *ret);
void fab_transition_fini(struct fab_transition *t);
/* Makes a copy of the snapshot without the ISLs that are not Active. An ISL that is not Active
 * carries no data packets, so entries that lead into it cause no channel dependencies. If all ISLs
 * are Active, *ret is another reference to f. Returns OK or NOMEM. */
int fab_transition_carrying(const struct fab_fabric *f, struct fab_fabric **ret);
/* Carries out a write on `lft`, which must be of the same size as new_lft. */
void fab_transition_apply(const struct fab_transition_write *w, const struct fab_lft *new_lft,
                          struct fab_lft *lft);
/* Returns the name of a verdict for the log, such as "any-order". */
const char *fab_transition_verdict_name(enum fab_transition_verdict v);

/* The result of the proof of libfabmgr/verify for a mixture of old and new tables. The proof shares
 * no code with the functions that make steps. */
struct fab_transition_judgement {
    /* loop: the first path that fails (that of the lowest LID) has a forwarding loop; loops of
     * later LIDs show only as `cycle`. cycle: channel dependencies have a cycle on some VL. */
    bool loop, cycle;
    uint64_t unreachable; /* number of pairs that have no path */
};
/* Judges the tables `lft` as if they were in the switches, while hosts use the SLs of `sls` and the
 * switches have the SL-to-VL tables of `lanes`. If `sls` and `lanes` are NULL, there is one VL.
 * Returns OK, NOMEM or INVAL. */
int fab_transition_judge(const struct fab_fabric *f, const struct fab_lids *lids,
                         const struct fab_lft *lft, const struct fab_vls *sls,
                         const struct fab_vls *lanes, struct fab_transition_judgement *ret);

#endif
