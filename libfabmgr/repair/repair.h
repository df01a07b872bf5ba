/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repairs tables when links between switches (ISLs) fail or come back: computes the entries that
 * change, proves that the new tables are correct, and orders the table writes. All of this takes
 * time proportional to the change, not to the fabric.
 *
 * The baseline consists of the tables that a routing engine computed for a fabric. The active
 * tables are those that the switches hold. A repair gives each entry its baseline value if the path
 * of this value still works, and no other path is shorter. Otherwise the entry keeps its active
 * value, if the path of that value works and no other path is shorter. If neither value is
 * possible, a rule that depends on the LID and the switch selects one of the shortest paths. This
 * rule spreads the new paths over all shortest paths (column/column.c). So equal baselines, active
 * tables and sets of dead links give equal results, and without dead links, the tables equal the
 * baseline byte for byte. A rebalance, which may follow, compares the loads of links (balance.c). A
 * repair never changes service levels.
 *
 * The proof uses labels. A channel is an ISL in one direction, on one virtual lane. Each channel
 * has a number, its label. In the baseline and after every repair, packets continue from a channel
 * only on channels with greater labels. Such tables contain no loop, and their channel dependency
 * graph contains no cycle (Dally & Seitz 1987). Each entry can be checked against the entries of
 * the neighbours alone. For up/down routing, the labels follow from the order of the switches; for
 * other engines, from a topological order of the channel dependency graph. If the VL depends on the
 * pair of source and destination switch, a repair changes this order as it needs.
 *
 * A repair names switches, ports and dead links by the ids of the fabric of its baseline. A fabric
 * with a new switch, or with a link that did not exist or was not up, needs a new baseline.
 *
 * Typical use, on one thread:
 *     fab_repair_new(&in, &r)                           in idle time
 *     fab_repair_plan(r, &lft, dead, count, &delta)     for each change of the set of dead links
 *     fab_repair_prove(r, &lft, &delta, &witness)
 *     fab_repair_order(r, &lft, &delta)                 delta.write[]: what to send
 *     fab_repair_commit(r, &lft, &delta)                patches the tables in place
 * A contingency plan takes the same calls except fab_repair_commit. If another thread makes it,
 * that thread works on a clone.
 */
#ifndef LIBFABMGR_REPAIR_REPAIR_H
#define LIBFABMGR_REPAIR_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

struct fab_repair;

struct fab_repair_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_lids *lids;
    const struct fab_lft *lft; /* the baseline, which fab_verify has proved */
    const struct fab_vls *vls; /* NULL: one VL */
};
/* Creates a repair. Reads every table entry once. The result does not refer to the input. Returns
 * UNSUPPORTED if no labels exist for these tables (why[] receives a sentence), INVAL if tables or
 * LIDs belong to another fabric, or NOMEM. */
int fab_repair_new(const struct fab_repair_input *in, struct fab_repair **ret, char *why,
                   size_t why_len);
void fab_repair_free(struct fab_repair *r);
/* Copies the state of a repair, so that another thread can work with the copy. The copy shares the
 * network and the labels, which never change. Returns NOMEM. */
int fab_repair_clone(const struct fab_repair *r, struct fab_repair **ret);
/* Returns the size of the repair in bytes, including memory that clones share. */
size_t fab_repair_memory(const struct fab_repair *r);
/* Returns the number of entries in which the active tables differ from the baseline. */
size_t fab_repair_overlay_size(const struct fab_repair *r);
/* Returns the number of commits that changed the state; fab_repair_contingencies_adopt may have
 * increased it. */
uint64_t fab_repair_commits(const struct fab_repair *r);
/* Returns a text for the log that says where the labels come from, for example "order of the
 * ranks". */
const char *fab_repair_label_source(const struct fab_repair *r);

/* Returns the position of each switch in the order from which the labels of the active tables
 * follow: every path first leads to greater positions, and then to lower ones. The array has one
 * element for each switch of the baseline, and is valid until the next fab_repair_commit. NULL: the
 * labels do not follow from an order, or switches are relabelled. */
const uint32_t *fab_repair_positions(const struct fab_repair *r);
/* Returns the ids of both ports of each link that the last fab_repair_commit recorded as dead,
 * ascending. The array is valid until the next commit. */
const uint32_t *fab_repair_dead(const struct fab_repair *r, size_t *ret_count);

struct fab_repair_change {
    uint32_t lid, sw;
    uint8_t was, now; /* old and new out port, or FAB_LFT_NO_ROUTE */
    /* true: the entry must drop packets while links come up, until other switches have their new
     * entries. There are three reasons: the entry leads into a link that comes up, and the switch
     * that has the entry was cut off; the entry is part of a detour that the new labels do not
     * allow; or the VL depends on the source, and the old paths to the LID close a cycle with
     * dependencies of the new tables. The member `was` of such an entry is FAB_LFT_NO_ROUTE; but if
     * `now` is FAB_LFT_NO_ROUTE, `was` is the old entry. */
    bool stale;
};
/* one LFT block to write */
struct fab_repair_write {
    uint32_t sw, block;
    /* Number of the step, from 0. The manager sends this write when all writes of lower steps are
     * acknowledged. */
    uint32_t step;
    uint32_t entries; /* number of entries that this write changes */
    /* How urgent the write is: the number of endports at the switch, multiplied by `entries`.
     * Within a step, writes with greater weight are sent first. `early` writes have weight 0. */
    uint64_t weight;
    /* by_write[first] to by_write[first + changes - 1] are the indices in change[] of all changes
     * of the block */
    uint32_t first, changes;
    /* bit i: this write leaves entry i of the block unchanged, and a later write of the same block
     * changes it */
    uint64_t keep;
    /* bit i: entry i of the block is written as NO_ROUTE, even if its bit in `keep` is set, because
     * the entry is stale or no order of the writes is safe; it drops packets until a later write */
    uint64_t drain;
    /* true: the switch must acknowledge this write before the links that come back become Active */
    bool early;
};
struct fab_repair_delta {
    /* the changed entries, sorted by LID; the entries of one LID are in no particular order */
    struct fab_repair_change *change;
    size_t changes;
    /* the writes that fab_repair_order makes, in sending order */
    struct fab_repair_write *write;
    size_t writes;
    /* indices of change[], sorted by switch, then by LID */
    uint32_t *by_write;
    /* number of blocks that differ; if there are more writes, some blocks are written in parts */
    size_t blocks;
    /* number of steps of the writes; if there is only one step, any order of the writes is safe */
    uint32_t steps;
    /* number of entries that drop packets for a time, including stale ones */
    size_t drained;
    /* the result of fab_repair_count_paused; only in fab_repair_session.last, otherwise 0 */
    uint64_t paused;
    /* number of entries whose packets do not reach the LID and need not reach it, because no living
     * links connect the switch with the destination */
    size_t cut;
    /* Number of entries whose switch is connected with the LID, but has no path that the labels
     * allow. No endport sends to an endport through them; for example, they lead from one spine to
     * another spine. An engine should compute new tables soon. */
    size_t lost;
    /* true if the labels connect a plane of a tree with the root over a leaf switch of
     * another pod (labels/reorder.c) */
    bool detours;
    /* ids of the ports at both ends of the dead links, ascending */
    uint32_t *dead;
    size_t deads;
    /* private: all entries that will differ from the baseline */
    struct fab_repair_entry *entry;
    size_t entries;
    /* private: the differences of the labels from the labels of the baseline */
    struct fab_repair_relabel *relabel;
    size_t relabels;
    /* private: number of the set of labels that the delta uses */
    uint32_t label_set;
};

/* Computes what changes when exactly the links of these ports are dead. A link may be named by
 * either of its ports, several times, and in any order. Links to endports change nothing. `lft` are
 * the active tables, which must not have changed since the last fab_repair_commit. Returns
 * UNSUPPORTED if living links connect a switch that has endports with an endport to which the
 * labels allow no path; an engine must then compute new tables, and why[] receives a sentence. Also
 * returns UNSUPPORTED as fab_repair_permit_detours says. Returns INVAL for tables of another
 * fabric, BUSY if another thread has stopped the work of a contingency maker, or NOMEM. */
int fab_repair_plan(struct fab_repair *r, const struct fab_lft *lft, const uint32_t *dead,
                    size_t count, struct fab_repair_delta *ret, char *why, size_t why_len);
/* Permits or forbids detours; a new state permits them. A detour leads over a leaf switch of
 * another pod into a plane of a tree that has lost the spine next to the root (labels/reorder.c).
 * If the dead links are still up, so that packets still pass them, a delta with detours would not
 * be safe: the caller must forbid detours while fab_repair_plan runs. While they are forbidden,
 * fab_repair_plan returns UNSUPPORTED if the active tables have detours. */
void fab_repair_permit_detours(struct fab_repair *r, bool permit);
void fab_repair_delta_fini(struct fab_repair_delta *d);
/* Computes a delta for the same dead links that spreads load better. Moves entries that differ from
 * the baseline to other paths of the same length, if the links of these paths then have less load.
 * Begins with the LID after *at, and stops at the LID at which the number of changed entries
 * reaches `most`. Sets *at to this LID, or to 0 if no LIDs are left. After some calls, nothing is
 * left to improve: the delta has no changes, and *at is 0. Proof, order and commit follow as for
 * fab_repair_plan. Returns the errors of fab_repair_plan. */
int fab_repair_rebalance(struct fab_repair *r, const struct fab_lft *lft, size_t most, uint32_t *at,
                         struct fab_repair_delta *ret);

/* Proves that the tables are correct after a delta, from its entries, the labels and the tables
 * alone. Assumes that the active tables are correct. Returns OK, NOMEM, or BUSY like
 * fab_repair_plan. If the proof fails, returns what is wrong, as in fab_witness.kind: UNREACHABLE,
 * LOOP, CYCLE, LIMIT, or INVAL (an entry leads into a dead link, or the new labels do not allow
 * turns that the baseline's labels allow). *ret_at is then the failing entry; lid 0: no single
 * entry fails. The function checks that
 *   - every changed entry leads to its destination over living links, by ascending labels, and
 *     over at most max_hops switches;
 *   - every neighbour that sends to the switch of a changed entry uses a lower label;
 *   - if an entry leads into a dead link, no living links connect its switch with the destination,
 *     or no endport sends to an endport through it (at most d->lost entries). */
int fab_repair_prove(struct fab_repair *r, const struct fab_lft *lft,
                     const struct fab_repair_delta *d, struct fab_repair_change *ret_at);

/* Makes and proves a delta of entries that another manager has written into the switches.
 * change[changes]: the entries that differ from the active tables `lft`, in any order, with `stale`
 * false; the function takes over the array. The dead links are named as for fab_repair_plan. The
 * delta has no writes; only a commit may follow. Its `lost` is the number of entries without a path
 * through which no endport sends to an endport; its `cut` is not set. Returns what fab_repair_prove
 * returns, with the labels that come closest; INVAL for tables of another fabric; or NOMEM. */
int fab_repair_follow(struct fab_repair *r, const struct fab_lft *lft, const uint32_t *dead,
                      size_t count, struct fab_repair_change *change, size_t changes,
                      struct fab_repair_delta *ret);

/* Returns true if each repair changes the labels as it needs (labels/dependencies.c), because the
 * VL depends on the pair of source and destination switch. Otherwise most repairs leave the labels
 * as they are. */
bool fab_repair_labels_vary(const struct fab_repair *r);
/* Returns true if the labels of the delta differ, or may differ, from the labels of the active
 * tables. */
bool fab_repair_labels_differ(const struct fab_repair *r, const struct fab_repair_delta *d);
/* Fills d->write with the LFT blocks that differ, in steps. Within a step, the writes may take
 * effect in any order: after each of them, the tables have no loop and no cycle of channel
 * dependencies, and no working path is lost except through entries that drop packets for a time
 * (d->drained). d->write lists the most urgent writes of a step first. Returns NOMEM. */
int fab_repair_order(struct fab_repair *r, const struct fab_lft *lft, struct fab_repair_delta *d);
/* Counts the pairs of a source endport and the LID of another endport (not of a switch) that lose
 * their path while the delta's drained entries drop packets. `lft` are the tables before the
 * commit. The number is an upper limit. Returns NOMEM; *ret_pairs is then 0. */
int fab_repair_count_paused(const struct fab_repair *r, const struct fab_lft *lft,
                            const struct fab_repair_delta *d, uint64_t *ret_pairs);
/* Sets ret[] to the 64 entries of the LFT block that the write w sends. `lft` may be the tables
 * before the commit of the delta, or after it: the result is the same. */
void fab_repair_write_bytes(const struct fab_lft *lft, const struct fab_repair_delta *d,
                            const struct fab_repair_write *w, uint8_t ret[FAB_LFT_BLOCK]);

/* Prepares the tables for fab_repair_commit. If other owners share the tables, makes a new version
 * of them, which shares only the pages without changes. to_sw[]: the id that the tables use for
 * each switch of the repair, or FAB_NONE; NULL: the ids are the same. Returns NOMEM. */
int fab_repair_prepare_commit(const struct fab_repair_delta *d, const uint32_t *to_sw,
                              struct fab_lft *lft);
/* Applies the delta to the tables, which fab_repair_prepare_commit has prepared. Records the
 * delta's dead links as the present dead links. Moves the array dead[] of the delta, and its
 * private arrays, into the repair. The other members of the delta can still be read. */
void fab_repair_commit(struct fab_repair *r, struct fab_lft *lft, struct fab_repair_delta *d);
/* Exchanges the link loads of the repair and of its clone. The clone must have the same state, and
 * fab_repair_rebalance must have counted its loads. The next rebalance of the repair then counts
 * only the paths that have changed. */
void fab_repair_balance_take(struct fab_repair *r, struct fab_repair *clone);

#endif
