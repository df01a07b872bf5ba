/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files that make entries share. Private to them:
 *
 *   fill.c     all switches: who has the entries of whom
 *   batch.c    64 destinations at hand, and their LIDs
 *   pattern.c  what slots give, for all LIDs at once
 *   keys.c     what the columns of one switch take
 *   columns.c  its entries, in long pieces
 *   pick.c     one destination where there is something to choose
 */
#ifndef LIBFABMGR_ROUTE_FATTREE_ENTRIES_H
#define LIBFABMGR_ROUTE_FATTREE_ENTRIES_H

#include "libfabmgr/route/fattree/dmodk.h"

/* ---- what slots give ------------------------------------------------------------------------- */

struct fab_slot_patterns {
    uint32_t count;
    uint8_t **pattern;  /* [count][top LID + 1 + 64] */
    const uint8_t **of; /* [switches] by LID, the ports if all lanes take their slots; or NULL */
};
int fab_route_slot_patterns_make(const struct fab_tree *t, const struct fab_dmodk *lanes,
                                 uint32_t top, struct fab_slot_patterns *ret);
void fab_route_slot_patterns_fini(struct fab_slot_patterns *p);

/* ---- 64 destinations at hand ----------------------------------------------------------------- */

enum fab_span {
    FAB_SPAN_NONE,   /* LIDs of one column in several pieces */
    FAB_SPAN_BEGINS, /* a run, and at most one LID apart */
    FAB_SPAN_FOLLOWS /* likewise, and both follow on those of the column before */
};
#define FAB_BATCH_RANGES 8
#define FAB_BATCH_CACHE 256
struct fab_batch {
    const struct fab_tree *t;
    const struct fab_dmodk *lanes;
    const struct fab_slot_patterns *patterns;
    const struct fab_lft *lft;
    uint32_t first, count; /* the destinations at hand: lanes->sw[first..first + count) */
    uint8_t *way;          /* [n][64] of fab_route_legal_rows: s has row alike[s] */
    const uint32_t *alike;
    const bool *descends;
    /* The LIDs at hand as ranges [from, to); 0: too many. */
    uint32_t ranges, from[FAB_BATCH_RANGES], to[FAB_BATCH_RANGES];
    bool single;                   /* they are one range, a LID a column */
    uint8_t span[FAB_LEGAL_BATCH]; /* enum fab_span, by column */
    /* [2 n], by twins (tree.h): the value of alike[] of one at which nothing had to be chosen, or
     * FAB_NONE; and a row with its entries. */
    uint32_t *seen;
    const uint8_t **seen_row;
    /* Likewise the last ones seen, by a signature of cousins and that value: the switch, or
     * FAB_NONE, and a row. */
    uint32_t like[FAB_BATCH_CACHE];
    const uint8_t *like_row[FAB_BATCH_CACHE];
};
/* From t, lanes, patterns, lft. NOMEM; fini is due then, too. */
int fab_route_batch_init(struct fab_batch *b);
void fab_route_batch_fini(struct fab_batch *b);
void fab_route_batch_begin(struct fab_batch *b, uint32_t first);
/* Do the ranges of `b` follow on those of `before`, one by one? */
bool fab_route_batch_follows(const struct fab_batch *b, const struct fab_batch *before);

/* ---- one switch ------------------------------------------------------------------------------ */

/* What a column takes, other than the lone port of a neighbour. No port has such a number. */
#define FAB_DECISION_SLOTS 0xff
#define FAB_DECISION_CHOOSE 0
struct fab_decisions {
    uint8_t key[FAB_LEGAL_BATCH];
    uint8_t count[FAB_LEGAL_BATCH]; /* neighbours that lead on */
    uint8_t last[FAB_LEGAL_BATCH];  /* which one, counted from slopes.at[], if it is one */
};
/* Returns whether all columns take their slots. */
bool fab_route_decisions_find(const struct fab_batch *b, uint32_t s, struct fab_decisions *ret);
/* Writes the entries. Returns false if something had to be chosen. */
bool fab_route_columns_fill(const struct fab_batch *b, uint32_t s,
                            const struct fab_decisions *keys);

/* ---- one destination at one switch ----------------------------------------------------------- */

struct fab_entry_choice {
    const struct fab_batch *b;
    uint32_t s, dest;
    unsigned column;
    uint8_t *row; /* of the table */
    const struct fab_dmodk_dlid *lane;
    struct fab_dmodk_dest set;
};

/* Does one of several cables from a switch above to the destination's own lack? What comes down by
 * it is that which all leaves send up by the same slot: it goes elsewhere, before the cables beside
 * carry twice as much. */
bool fab_route_parallel_missing(const struct fab_batch *b, uint32_t s, uint32_t dest);
/* The entries of all lanes of a cell, whatever there is to choose from. */
void fab_route_entry_choose(const struct fab_entry_choice *c);

#endif
