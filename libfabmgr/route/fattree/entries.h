/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations for the files that compute the LFT entries of a fat tree. Only these files include
 * this header:
 *
 *   fill.c           fills the LFTs of all switches; finds switches with equal entries
 *   batch.c          prepares a batch: 64 destination switches and their LIDs
 *   slot_patterns.c  makes LFT rows in which all LIDs take their slots
 *   decisions.c      decides how one switch chooses the port for each destination of a batch
 *   columns.c        writes the entries of one switch for a batch, in long pieces
 *   candidates.c     writes the entries of one switch for a destination with several candidates
 */
#ifndef LIBFABMGR_ROUTE_FATTREE_ENTRIES_H
#define LIBFABMGR_ROUTE_FATTREE_ENTRIES_H

#include "libfabmgr/route/fattree/dmodk.h"

/* ---- entries by slots ------------------------------------------------------------------------ */

struct fab_slot_patterns {
    uint32_t count;
    /* [count] the patterns; each is an LFT row with 64 additional entries at its end, so that
     * copies may go past the last LID */
    uint8_t **pattern;
    /* [switches] the pattern of each switch; NULL: none. A pattern has the port of each LID for the
     * case that all DLIDs take their slots (slot_patterns.c). */
    const uint8_t **of;
};
/* Makes the patterns. Returns NOMEM if there is no memory. */
int fab_route_slot_patterns_make(const struct fab_tree *t, const struct fab_dmodk *dmodk,
                                 uint32_t top, struct fab_slot_patterns *ret);
void fab_route_slot_patterns_fini(struct fab_slot_patterns *p);

/* ---- a batch of 64 destinations -------------------------------------------------------------- */

/* The positions of the LIDs of one destination switch in the LFT. In the files of this folder, a
 * column is a destination switch of the batch, with all its LIDs. */
enum fab_span {
    FAB_SPAN_NONE, /* the LIDs fit none of the other values */
    /* the LIDs are consecutive, except for at most one further LID */
    FAB_SPAN_BEGINS,
    /* like FAB_SPAN_BEGINS; in addition, the column continues the column before it: its run of
       consecutive LIDs begins just after the run of that column, and its further LID is just after
       the further LID of that column, or neither column has a further LID */
    FAB_SPAN_FOLLOWS
};
#define FAB_BATCH_RANGES 8
#define FAB_BATCH_CACHE 256
struct fab_batch {
    const struct fab_tree *t;
    const struct fab_dmodk *dmodk;
    const struct fab_slot_patterns *patterns;
    const struct fab_lft *lft;
    /* the destinations are dmodk->sw[first] to dmodk->sw[first + count - 1] */
    uint32_t first, count;
    /* [switches][64] path lengths from each switch to the 64 destinations, as
     * fab_route_legal_rows() wrote them. Those of switch s are the 64 elements of paths[] from
     * index 64 * row_of[s] on. */
    uint8_t *paths;
    const uint32_t *row_of;
    const bool *descends;
    /* The LIDs of the batch, as ranges. Range i begins with LID from[i] and ends before LID to[i].
     * If there are too many ranges, `ranges` is 0. */
    uint32_t ranges, from[FAB_BATCH_RANGES], to[FAB_BATCH_RANGES];
    /* true: the LIDs of the batch form one range, and each destination switch has exactly one of
     * these LIDs */
    bool single;
    uint8_t span[FAB_LEGAL_BATCH]; /* [column] enum fab_span */
    /* [class id] Cache of entries for this batch, by full class of switches (tree.h). class_row: an
     * LFT row (of a switch, or a pattern) that has the entries of one member of the class.
     * class_row_of: row_of[] of this member; FAB_NONE: no entries are known yet. Other members have
     * the same entries if they have the same row_of[], which means that they have the same path
     * lengths. Entries that needed a choice among several candidates are not stored. */
    uint32_t *class_row_of;
    const uint8_t **class_row;
    /* Cache of entries for this batch. The index is a hash of a switch's port class and row_of[].
     * cached: the last switch with this hash value; FAB_NONE: none. cached_row: an LFT row (of a
     * switch, or a pattern) that has the entries of this switch. */
    uint32_t cached[FAB_BATCH_CACHE];
    const uint8_t *cached_row[FAB_BATCH_CACHE];
};
/* Allocates the arrays. Before this call, the caller must set `t`, `dmodk`, `patterns` and `lft`.
 * Returns NOMEM if there is no memory; the caller must call fab_route_batch_fini() then, too. */
int fab_route_batch_init(struct fab_batch *b);
void fab_route_batch_fini(struct fab_batch *b);
void fab_route_batch_begin(struct fab_batch *b, uint32_t first);
/* Returns true if batches `b` and `before` have equally many ranges of LIDs, and each range i of
 * `b` directly follows range i of `before`. */
bool fab_route_batch_follows(const struct fab_batch *b, const struct fab_batch *before);

/* ---- one switch ------------------------------------------------------------------------------ */

/* Values of fab_decisions.key[] that are not port numbers. SLOTS: all DLIDs take their slots.
 * CHOOSE: the port must be chosen for each DLID separately. No port to a neighbour has these
 * numbers. */
#define FAB_DECISION_SLOTS 0xff
#define FAB_DECISION_CHOOSE 0
struct fab_decisions {
    /* the port that all DLIDs take, or FAB_DECISION_SLOTS or FAB_DECISION_CHOOSE */
    uint8_t key[FAB_LEGAL_BATCH];
    uint8_t count[FAB_LEGAL_BATCH]; /* number of candidates */
    /* if there is only one candidate, it is updown.nbr[updown.at[s] + last[i]]; otherwise undefined
     */
    uint8_t last[FAB_LEGAL_BATCH];
};
/* Decides for all destination switches of the batch how switch s forwards. Returns true if all keys
 * are FAB_DECISION_SLOTS. */
bool fab_route_decisions_find(const struct fab_batch *b, uint32_t s, struct fab_decisions *ret);
/* Writes the entries of switch s for the batch. Returns false if some ports had to be chosen for
 * each LID separately (fab_route_entry_choose). */
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

/* Returns true if `dest` lacks one of several parallel uplinks, and has the same rank and the same
 * number of slots as switch s. Both must be regular (slots.c). Packets that leave s by a slot
 * arrive at `dest` by the link in the same slot of `dest`. If that link is missing, the packets
 * must take another slot of s; otherwise a remaining parallel link would carry twice the load. */
bool fab_route_parallel_missing(const struct fab_batch *b, uint32_t s, uint32_t dest);
/* Writes the entries of one switch for all DLIDs of one destination switch, however many candidates
 * there are; without any, it writes nothing. */
void fab_route_entry_choose(const struct fab_entry_choice *c);

#endif
