/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transition from the forwarding tables that switches hold now to new tables, in steps.
 *
 * Switches replace their tables one after the other, so packets meet mixtures of old and new
 * entries. Even if neither the old nor the new tables have a cycle of channel dependencies, a
 * mixture may have one. The steps are made so that no mixture has a forwarding loop, or a cycle on
 * any VL, in whatever order the writes of a step take effect.
 *
 * Any order: the entries for one destination LID do not depend on the entries for other LIDs. So
 * the dependencies of all mixtures are the union, over all LIDs, of the dependencies of all
 * mixtures of the LID's old and new entries. If this union has no cycle, any order of writes is
 * safe (Dally & Seitz 1987; for mixtures: Lysne, Montanana, Flich, Duato, Pinkston, Skeie, IEEE ToC
 * 57(6), 2008). A forwarding loop in a mixture is also a cycle of this union.
 *
 * Rounds: otherwise the LIDs move in rounds, that is, they get their new entries. In each round,
 * the union has the new entries of the LIDs that have moved, all mixtures of the LIDs that move,
 * and the old entries of the LIDs that wait. A round begins when the writes of the round before are
 * answered and its packets have left the fabric. Until then, the dependencies of packets in flight
 * count, too (ghost dependencies of the Double Scheme: Pinkston, Pang, Duato, IEEE TPDS 14(8),
 * 2003). UPR also adds and removes dependencies step by step (Crespo et al., arXiv 2006.02332).
 *
 * Along its paths: if a LID cannot move in any order, each switch is written after all switches
 * behind it on its new path. A packet then meets old entries first and only new entries afterwards,
 * which has fewer dependencies. Such a round has several steps.
 *
 * Drained LIDs: if no LID can move, some LIDs are drained. Their changed entries drop packets in
 * one round, other LIDs move in the next round, and the drained LIDs get their new entries in a
 * third round. The LIDs to be drained are chosen greedily.
 *
 * Several VLs: hosts keep the SL from a path record, and ask for a new path record only long after
 * the tables have changed. So the steps are proved for the SLs that hosts use now. Later, hosts use
 * old and new SLs together; if the new tables then have a cycle, stale_sls is set. If the new
 * tables have a cycle with the old SLs alone, no steps help and the verdict is NEW_CYCLE. SL-to-VL
 * tables change before the forwarding tables; the old tables with all mixtures of old and new
 * SL-to-VL tables are checked as well (unproven_lanes). Tables that have no cycle on a single VL
 * have none on several VLs, so VLs are considered only if there is a cycle without them.
 *
 * Not covered: intermediate tables, for example up/down, that would avoid draining; and mixtures
 * that are safe only because some of their packets cannot exist.
 */
#ifndef LIBFABMGR_TRANSITION_TRANSITION_H
#define LIBFABMGR_TRANSITION_TRANSITION_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_transition_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;   /* LIDs of the new tables */
    const struct fab_lft *old_lft; /* the entries that the switches hold now */
    /* Bitset [switch][blocks of old_lft's stride] of the LFT blocks that are known. NULL: all
     * blocks are known. Unknown entries are taken to drop packets. */
    const uint64_t *known;
    const struct fab_lft *new_lft;
    const struct fab_vls
        *old_vls; /* SLs that hosts use now, and present SL-to-VL tables; NULL: one VL */
    const struct fab_vls *new_vls; /* new SLs and SL-to-VL tables; NULL: one VL */
};

enum fab_transition_verdict {
    FAB_TRANSITION_NOTHING, /* no entry in a known block changes */
    /* Every mixture of old and new entries is free of loops and cycles. */
    FAB_TRANSITION_ANY_ORDER,
    FAB_TRANSITION_STEPS,  /* the transition is safe in steps, and no LID is drained */
    FAB_TRANSITION_DRAINS, /* the transition is safe in steps, and some LIDs are drained */
    /* Not proved: the old tables have a cycle, perhaps only with the new SL-to-VL tables. */
    FAB_TRANSITION_OLD_CYCLE,
    /* Not proved: the new tables have a cycle with the SLs that hosts use now. */
    FAB_TRANSITION_NEW_CYCLE,
};

/* A step is a set of writes that may be in flight together and take effect in any order. Its first
 * write is sent when all writes of earlier steps are answered. */
struct fab_transition_step {
    uint32_t first, count; /* the writes of the step: index of the first, and their number */
    /* Packets that were sent before this step must have left the fabric before it begins. This is
     * so when the time that a packet can stay in the fabric (HOQLife at each switch) has passed
     * since the last answer. */
    bool settle;
    /* Number of LIDs that begin to move, and number of LIDs that are drained. */
    uint32_t moved, drained;
    /* Number of pairs (source port, destination LID) that have a path before and after the
     * transition, but may have none from the writes of this step until the next step. */
    uint64_t lost_pairs;
};
struct fab_transition_write {
    uint32_t sw, block, step;
    uint64_t set; /* bitset of the entries that get their new values */
    /* Bitset of the entries that become FAB_LFT_NO_ROUTE; a later write sets them. */
    uint64_t drain;
};
struct fab_transition {
    enum fab_transition_verdict verdict;
    struct fab_transition_step *steps;
    /* The writes, sorted by step, then by block, then by switch. */
    struct fab_transition_write *writes;
    uint32_t step_count, write_count;
    uint32_t rounds;     /* number of rounds, which is 1 + number of steps with `settle` */
    uint32_t drained;    /* number of LIDs that are drained */
    uint64_t lost_pairs; /* the largest lost_pairs of all steps */
    uint32_t unknown;    /* number of LFT blocks that change and were not known */
    uint64_t sl_pairs;   /* number of pairs (source switch, destination LID) whose SL changes */
    /* The new tables have a cycle while some hosts use old SLs and other hosts use new SLs. */
    bool stale_sls;
    bool unproven_lanes; /* mixtures of old and new SL-to-VL tables may have a cycle */
};
/* Makes the steps of a transition. Returns NOMEM, or INVAL if the tables belong to another
 * fabric. */
int fab_transition_make(const struct fab_transition_input *in, struct fab_transition *ret);
void fab_transition_fini(struct fab_transition *t);
/* Applies a write to `lft`, which must be of the size of new_lft. */
void fab_transition_apply(const struct fab_transition_write *w, const struct fab_lft *new_lft,
                          struct fab_lft *lft);
/* Returns the name of a verdict for the log, such as "any-order". */
const char *fab_transition_verdict_name(enum fab_transition_verdict v);

/* The judgement of a mixture of old and new tables. It is made by libfabmgr/verify alone, and
 * shares no code with the making of steps. */
struct fab_transition_judgement {
    /* There is a forwarding loop; there is a cycle of channel dependencies on some VL. */
    bool loop, cycle;
    uint64_t unreachable; /* number of pairs that have no path */
};
/* Judges the tables `lft` as if they were in the switches, while hosts use the SLs of `sls` and the
 * switches have the SL-to-VL tables of `lanes`. `sls` and `lanes` NULL: one VL. Returns NOMEM or
 * INVAL. */
int fab_transition_judge(const struct fab_fabric *f, const struct fab_lids *lids,
                         const struct fab_lft *lft, const struct fab_vls *sls,
                         const struct fab_vls *lanes, struct fab_transition_judgement *ret);

#endif
