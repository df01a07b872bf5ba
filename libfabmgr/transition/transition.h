/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transition from the forwarding tables that switches hold to new ones, in steps.
 *
 * Switches replace their tables one after the other, so packets meet mixtures of old and new
 * entries. Old tables without a cycle of channel dependencies and new ones without a cycle may have
 * mixtures with one. The steps are made so that no mixture has a forwarding loop or a cycle on any
 * VL, whatever the order in which the writes of one step take effect:
 *
 *   - The entries of one destination LID do not depend on those of other LIDs. So the dependencies
 *     of all mixtures are the union, over all LIDs, of the dependencies that some mixture of that
 *     LID's old and new entries has. If this union has no cycle, any order is safe (Dally & Seitz
 *     1987; for mixtures: Lysne, Montanana, Flich, Duato, Pinkston, Skeie, IEEE ToC 57(6), 2008).
 *     A forwarding loop in a mixture is a cycle of this union, too.
 *   - Else the LIDs move in rounds. In each round, the union is that of the LIDs that have moved
 *     (new entries), of those that move (old, new, mixed), and of those that wait (old entries). A
 *     round begins when the writes of the round before are answered and its packets are gone. Old
 *     dependencies count until then, also those of packets in flight ("ghost dependencies":
 * Pinkston, Pang, Duato, IEEE TPDS 14(8), 2003, the Double Scheme). Adding and removing
 * dependencies step by step is the idea of UPR (Crespo et al., arXiv 2006.02332).
 *   - A LID whose entries cannot move in any order moves "along its paths": a switch is written
 *     when all switches behind it on its new path are written. Packets then follow old entries
 *     first and new ones afterwards, which has fewer dependencies. Such a round has several steps.
 *   - If no LID can move, some are drained: their changed entries drop packets in one round, the
 *     others move in the next round, and the drained LIDs get their new entries in a third one.
 *     As few LIDs are drained as a greedy choice finds.
 *
 * Several VLs: packets keep the SL that a path record gave their host, and hosts ask again only
 * long after the tables have changed. So the steps are proven with the SLs that hosts use now. In
 * the end hosts use old and new SLs together; if the new tables have a cycle then, `stale_sls` is
 * set. If they have a cycle with the old SLs alone, no steps help, and the verdict is NEW_CYCLE:
 * only hosts that ask again end that risk. SLtoVLMappingTables change before the forwarding tables;
 * the old tables with all mixtures of old and new SL-to-VL tables are checked, too
 * (`unproven_lanes`). A cycle of channel dependencies with several VLs is one with a single VL, so
 * the VLs are considered only if the tables have a cycle without them.
 *
 * Not covered: intermediate tables (for instance up/down) for LIDs that are drained now; a unit of
 * a round that would be safe only because some of its packets cannot exist.
 */
#ifndef LIBFABMGR_TRANSITION_TRANSITION_H
#define LIBFABMGR_TRANSITION_TRANSITION_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_transition_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;   /* of the new tables */
    const struct fab_lft *old_lft; /* the entries that switches hold */
    const uint64_t *known;         /* bitset [switch][blocks of old_lft's stride] of the blocks that
                                      are known; NULL: all. Unknown entries count as dropping. */
    const struct fab_lft *new_lft;
    const struct fab_vls
        *old_vls; /* the SLs that hosts use, and the SL-to-VL tables; NULL: one VL */
    const struct fab_vls *new_vls; /* NULL: one VL */
};

enum fab_transition_verdict {
    FAB_TRANSITION_NOTHING,   /* no entry of a known block changes */
    FAB_TRANSITION_ANY_ORDER, /* every mixture of old and new entries is free of loops and cycles */
    FAB_TRANSITION_STEPS,     /* safe in steps, and no LID is drained */
    FAB_TRANSITION_DRAINS,    /* safe in steps, and some LIDs are drained */
    FAB_TRANSITION_OLD_CYCLE, /* not proven: the old tables have a cycle (with the new SL-to-VL
                                 tables) */
    FAB_TRANSITION_NEW_CYCLE, /* not proven: the new tables have a cycle with the SLs that hosts use
                               */
};

/* The writes of a step may be in flight together and take effect in any order. The first write of a
 * step is sent when all writes of earlier steps are answered. */
struct fab_transition_step {
    uint32_t first, count; /* its writes */
    /* The packets of earlier steps must be gone before this step begins: the time that a packet can
     * stay in the fabric (HOQLife at each switch) passes after the last answer. */
    bool settle;
    uint32_t moved, drained; /* number of LIDs that begin to move, and that are drained */
    /* Number of pairs (source port, destination LID) with a path before and after the transition
     * that may have none while this step's writes are under way or after them, until the next
     * step. */
    uint64_t lost_pairs;
};
struct fab_transition_write {
    uint32_t sw, block, step;
    uint64_t set;   /* entries that get their new value */
    uint64_t drain; /* entries that become FAB_LFT_NO_ROUTE; a later write sets them */
};
struct fab_transition {
    enum fab_transition_verdict verdict;
    struct fab_transition_step *steps;
    struct fab_transition_write *writes; /* in the order of steps, then block and switch */
    uint32_t step_count, write_count;
    uint32_t rounds;     /* number of rounds: 1 + number of steps with `settle` */
    uint32_t drained;    /* number of LIDs that are drained */
    uint64_t lost_pairs; /* the most lost_pairs of a step */
    uint32_t unknown;    /* number of blocks that are not known and change */
    uint64_t sl_pairs;   /* number of pairs (source switch, destination LID) whose SL changes */
    bool stale_sls; /* the new tables have a cycle while some hosts use old SLs and others new ones
                     */
    bool unproven_lanes; /* mixtures of old and new SL-to-VL tables may have a cycle */
};
/* Makes the steps. Returns NOMEM, or INVAL if the tables belong to another fabric. */
int fab_transition_make(const struct fab_transition_input *in, struct fab_transition *ret);
void fab_transition_fini(struct fab_transition *t);
/* Applies a write to tables of the size of new_lft. */
void fab_transition_apply(const struct fab_transition_write *w, const struct fab_lft *new_lft,
                          struct fab_lft *lft);
/* Returns a name for logs: "any-order" and so on. */
const char *fab_transition_verdict_name(enum fab_transition_verdict v);

/* The judge of a mixture: it uses libfabmgr/verify alone and shares no code with the steps. */
struct fab_transition_judgement {
    bool loop, cycle;     /* a forwarding loop; a cycle of channel dependencies on some VL */
    uint64_t unreachable; /* number of pairs without a path */
};
/* Judges tables `lft` that stand in the switches while hosts use the SLs of `sls`, and the
 * switches have the SL-to-VL tables of `lanes` (both NULL: one VL). Returns NOMEM or INVAL. */
int fab_transition_judge(const struct fab_fabric *f, const struct fab_lids *lids,
                         const struct fab_lft *lft, const struct fab_vls *sls,
                         const struct fab_vls *lanes, struct fab_transition_judgement *ret);

#endif
