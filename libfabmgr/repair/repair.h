/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repair: what changes in the tables in force when cables between switches fail or come back, the
 * proof of it, and the order of the writes, all in time proportional to the change.
 *
 * The baseline is what an engine (any) computed for a fabric. Tables in force are always
 * repair(baseline, dead cables), a pure function: neither the order of faults nor what was in
 * between has an influence, and with no cable dead it is the baseline, byte for byte. Service
 * levels never change.
 *
 * Everything rests on labels: every channel (a cable between switches in one direction, on one
 * lane) has a number such that packets which use a channel go on by channels of greater numbers
 * only, in the baseline and after every repair. Tables of that kind have no loop, and no cycle of
 * channels that wait for each other (Dally & Seitz 1987), and each entry can be judged by its
 * neighbours alone. Up*|down* routing gives such labels by its order of the switches; for other
 * engines a topological order of the channel dependency graph is one.
 *
 * A repair knows fabric and dead cables by the ids of the fabric it was made for. A fabric that has
 * something new (a switch, a cable that was not there or not up) needs a new baseline.
 *
 * Typical use, on one thread:
 *     fab_repair_new(&in, &r)                           in idle time
 *     fab_repair_plan(r, &lft, dead, count, &delta)     for each change of the set of dead cables
 *     fab_repair_prove(r, &lft, &delta, &witness)
 *     fab_repair_order(r, &lft, &delta)                 delta.write[]: what to send
 *     fab_repair_commit(r, &lft, &delta)                patches the tables in place
 * A contingency is the same without commit, on a twin if on another thread.
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
    const struct fab_lft *lft; /* the baseline, good by fab_verify */
    const struct fab_vls *vls; /* NULL: one lane */
};
/* Costs a look at all entries, and memory that fab_repair_memory tells; refers to nothing of the
 * input afterwards. UNSUPPORTED: there are no labels (why[]: a sentence); NOMEM. */
int fab_repair_new(const struct fab_repair_input *in, struct fab_repair **ret, char *why,
                   size_t why_len);
void fab_repair_free(struct fab_repair *r);
/* The same state once more, to work with on another thread; what does not change is shared. */
int fab_repair_clone(const struct fab_repair *r, struct fab_repair **ret);
size_t fab_repair_memory(const struct fab_repair *r); /* bytes, with what is shared */
size_t
fab_repair_overlay_size(const struct fab_repair *r); /* entries in force unlike the baseline */
/* How the labels were found, for people: "order of the ranks", ... */
const char *fab_repair_label_source(const struct fab_repair *r);

struct fab_repair_change {
    uint32_t lid, sw;
    uint8_t was, now; /* ports */
    bool stale;       /* an entry that must drop (was: NO_ROUTE) when cables come up, until others
                         have their new entries: of a switch that was cut off, and leads into such
                         a cable; or of a detour that the labels allow no more */
};
/* One table block to be written. */
struct fab_repair_write {
    uint32_t sw, block;
    uint32_t step;           /* sent when all writes of lesser steps are answered; from 0 */
    uint32_t entries;        /* that this write changes */
    uint64_t weight;         /* hosts at the switch times entries: more is more urgent */
    uint32_t first, changes; /* of the block: by_write[first..first + changes) */
    uint64_t keep;  /* a bit for each entry that stays as it was; a later write changes it */
    uint64_t drain; /* a bit for each entry that drops until a later write: no order is safe */
    bool early;     /* to be answered before cables that are back carry traffic (Active) */
};
struct fab_repair_delta {
    struct fab_repair_change *change; /* by LID, then as found */
    size_t changes;
    struct fab_repair_write *write; /* in the order to send; fab_repair_order */
    size_t writes;
    uint32_t *by_write; /* [changes] their indices, by switch, then LID */
    size_t blocks;      /* that differ: writes beyond are parts */
    uint32_t steps;     /* 1: any order is safe */
    size_t drained;     /* entries, stale ones among them */
    size_t cut;     /* entries (switch, LID) that no cables join any more: they stay as they are */
    size_t lost;    /* entries that cables join but the labels do not, that matter to no packet
                       from end to end (a spine to a spine): it takes an engine, soon */
    uint32_t *dead; /* ports, both ends, ascending */
    size_t deads;
    struct fab_repair_entry *entry; /* all entries unlike the baseline, then; private */
    size_t entries;
    struct fab_repair_relabel
        *lift; /* how labels differ from those of the baseline, then; private */
    size_t lifts;
    uint32_t set; /* which labels; private */
};

/* What changes when exactly the cables of these ports (either end, any order, more than once is
 * fine; those to ends change nothing) are dead. lft: the tables in force, as the last commit left
 * them. UNSUPPORTED: some switches have no way left that the labels allow (why[]: a sentence), and
 * ends send there: it takes an engine. NOMEM. */
int fab_repair_plan(struct fab_repair *r, const struct fab_lft *lft, const uint32_t *dead,
                    size_t count, struct fab_repair_delta *ret, char *why, size_t why_len);
void fab_repair_delta_fini(struct fab_repair_delta *d);

/* Proof of a delta from its entries and the tables alone, given that the tables in force are good:
 * every changed entry leads to its destination over living cables, by ascending labels and in no
 * more than max_hops, from each neighbour that sends there it is reached by ascending labels, and
 * no entry leads into a dead cable unless nothing joins the switch with the destination, or no end
 * sends to an end that way (at most d->lost). OK;
 * otherwise what is wrong, as fab_witness.kind (UNREACHABLE, LOOP, CYCLE, LIMIT, INVAL), and
 * *ret_at, the entry; NOMEM. */
int fab_repair_prove(struct fab_repair *r, const struct fab_lft *lft,
                     const struct fab_repair_delta *d, struct fab_repair_change *ret_at);

/* Fills d->write: the blocks that differ, in steps such that after each single write, in whatever
 * order within a step, no loop and no cycle of dependencies is possible and nothing that works is
 * lost; the most urgent first. NOMEM. */
int fab_repair_order(struct fab_repair *r, const struct fab_lft *lft, struct fab_repair_delta *d);
/* The 64 bytes of a write. lft: the tables before, or after the delta was committed. */
void fab_repair_write_bytes(const struct fab_lft *lft, const struct fab_repair_delta *d,
                            const struct fab_repair_write *w, uint8_t ret[FAB_LFT_BLOCK]);

/* Patches the tables in force and makes the delta's dead cables the present ones; takes what is
 * private from the delta, which stays to be read. */
void fab_repair_commit(struct fab_repair *r, struct fab_lft *lft, struct fab_repair_delta *d);

#endif
