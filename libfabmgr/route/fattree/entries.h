/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations for the files that compute the LFT entries of a fat tree. Only these files use them:
 *
 *   fill.c           all switches; which switches have equal entries
 *   batch.c          64 destinations and their LIDs
 *   slot_patterns.c  the entries of all LIDs by slots
 *   decisions.c      how one switch chooses, for each of the 64 destinations
 *   columns.c        the entries of one switch, in long pieces
 *   candidates.c     one destination at one switch with several candidates
 */
#ifndef LIBFABMGR_ROUTE_FATTREE_ENTRIES_H
#define LIBFABMGR_ROUTE_FATTREE_ENTRIES_H

#include "libfabmgr/route/fattree/dmodk.h"

/* ---- entries by slots ------------------------------------------------------------------------ */

struct fab_slot_patterns {
    uint32_t count;
    uint8_t **pattern; /* [count][top LID + 1 + 64] */
    /* [switches] pattern of each switch (slot_patterns.c): its port for each LID, with all DLIDs in
     * their slots; NULL: the switch has no pattern */
    const uint8_t **of;
};
/* Makes the patterns. Returns NOMEM if there is no memory. */
int fab_route_slot_patterns_make(const struct fab_tree *t, const struct fab_dmodk *dmodk,
                                 uint32_t top, struct fab_slot_patterns *ret);
void fab_route_slot_patterns_fini(struct fab_slot_patterns *p);

/* ---- a batch of 64 destinations -------------------------------------------------------------- */

/* How the LIDs of a column lie in the LFT. A column is one destination switch of the batch, and its
 * LIDs are the destination LIDs (DLIDs) of this switch. */
enum fab_span {
    FAB_SPAN_NONE, /* neither of the following */
    /* the LIDs are consecutive, except for at most one further LID */
    FAB_SPAN_BEGINS,
    /* as FAB_SPAN_BEGINS; in addition, the consecutive LIDs come directly after those of the column
     * before, and the further LID directly after the further LID of that column */
    FAB_SPAN_FOLLOWS
};
#define FAB_BATCH_RANGES 8
#define FAB_BATCH_CACHE 256
struct fab_batch {
    const struct fab_tree *t;
    const struct fab_dmodk *dmodk;
    const struct fab_slot_patterns *patterns;
    const struct fab_lft *lft;
    uint32_t first, count; /* the destinations are dmodk->sw[first] to dmodk->sw[first + count -
                              1] */
    /* [n][64] path lengths, which fab_route_legal_rows() wrote. Those of switch s are paths[64 *
     * row_of[s]] and the 63 elements after it. */
    uint8_t *paths;
    const uint32_t *row_of;
    const bool *descends;
    /* The LIDs of the batch form the ranges from[i] to to[i] - 1. ranges is 0 if there are too many
     * ranges. */
    uint32_t ranges, from[FAB_BATCH_RANGES], to[FAB_BATCH_RANGES];
    bool single;                   /* there is one range, with one LID for each column */
    uint8_t span[FAB_LEGAL_BATCH]; /* by column: enum fab_span */
    /* [2 n] For each full class (tree.h), one member whose entries needed no choice among several
     * candidates. class_row_of: row_of[] of this member; FAB_NONE: no member yet. class_row: the
     * LFT of a switch, or a pattern, that has the member's entries for the batch. */
    uint32_t *class_row_of;
    const uint8_t **class_row;
    /* Cache of entries, by a hash of port class and row_of[]. cached: the last switch with that
     * hash; FAB_NONE: no switch. cached_row: the LFT of a switch, or a pattern, that has the
     * entries of this switch for the batch. */
    uint32_t cached[FAB_BATCH_CACHE];
    const uint8_t *cached_row[FAB_BATCH_CACHE];
};
/* Allocates the arrays. The caller has set t, dmodk, patterns and lft. Returns NOMEM if there is no
 * memory; the caller must call fab_route_batch_fini() then, too. */
int fab_route_batch_init(struct fab_batch *b);
void fab_route_batch_fini(struct fab_batch *b);
void fab_route_batch_begin(struct fab_batch *b, uint32_t first);
/* Returns true if each range of batch `b` follows the same range of batch `before`. */
bool fab_route_batch_follows(const struct fab_batch *b, const struct fab_batch *before);

/* ---- one switch ------------------------------------------------------------------------------ */

/* Values of fab_decisions.key[] that are not ports. SLOTS: all DLIDs take their slots. CHOOSE: the
 * port is chosen for each DLID. No output port of a decision has these numbers. */
#define FAB_DECISION_SLOTS 0xff
#define FAB_DECISION_CHOOSE 0
struct fab_decisions {
    /* the port that all DLIDs take, or FAB_DECISION_SLOTS or FAB_DECISION_CHOOSE */
    uint8_t key[FAB_LEGAL_BATCH];
    uint8_t count[FAB_LEGAL_BATCH]; /* number of candidates */
    /* if count is 1: the candidate, counted from updown.at[s]; otherwise not valid */
    uint8_t last[FAB_LEGAL_BATCH];
};
/* Decides for all columns of the batch how switch s forwards. Returns true if all columns take
 * their slots. */
bool fab_route_decisions_find(const struct fab_batch *b, uint32_t s, struct fab_decisions *ret);
/* Writes the entries of switch s for the batch. Returns false if fab_route_entry_choose() had to
 * choose some of the entries. */
bool fab_route_columns_fill(const struct fab_batch *b, uint32_t s,
                            const struct fab_decisions *keys);

/* ---- one destination at one switch ----------------------------------------------------------- */

struct fab_entry_choice {
    const struct fab_batch *b;
    uint32_t s, dest;
    unsigned column;
    uint8_t *row; /* the LFT of switch s */
    const struct fab_dmodk_dlid *dlid;
    struct fab_dmodk_dest dlids;
};

/* Returns true if a parallel link from an upper switch s down to the destination switch is missing.
 * Packets that D-mod-k would send over the missing link must take another upper switch; otherwise a
 * remaining parallel link would carry twice the load. */
bool fab_route_parallel_missing(const struct fab_batch *b, uint32_t s, uint32_t dest);
/* Writes the entries of all DLIDs of one destination, for any number of candidates. */
void fab_route_entry_choose(const struct fab_entry_choice *c);

#endif
