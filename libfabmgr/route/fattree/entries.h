/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files that compute entries share. For these files only:
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
    uint8_t **pattern;  /* [count][top LID + 1 + 64] */
    const uint8_t **of; /* [switches] by LID, the ports if all DLIDs take their slots; or NULL */
};
/* Fails only with NOMEM. */
int fab_route_slot_patterns_make(const struct fab_tree *t, const struct fab_dmodk *dmodk,
                                 uint32_t top, struct fab_slot_patterns *ret);
void fab_route_slot_patterns_fini(struct fab_slot_patterns *p);

/* ---- a batch of 64 destinations -------------------------------------------------------------- */

enum fab_span {
    FAB_SPAN_NONE,   /* the LIDs of the column are in several ranges */
    FAB_SPAN_BEGINS, /* the LIDs are one range, and at most one LID more */
    FAB_SPAN_FOLLOWS /* as BEGINS, and both parts are adjacent to those of the column before */
};
#define FAB_BATCH_RANGES 8
#define FAB_BATCH_CACHE 256
struct fab_batch {
    const struct fab_tree *t;
    const struct fab_dmodk *dmodk;
    const struct fab_slot_patterns *patterns;
    const struct fab_lft *lft;
    uint32_t first, count; /* the destinations: dmodk->sw[first..first + count) */
    uint8_t *paths;        /* [n][64] of fab_route_legal_rows(): s has row row_of[s] */
    const uint32_t *row_of;
    const bool *descends;
    /* The LIDs of the batch as ranges [from, to); 0: there are too many ranges. */
    uint32_t ranges, from[FAB_BATCH_RANGES], to[FAB_BATCH_RANGES];
    bool single;                   /* one range, with one LID for each column */
    uint8_t span[FAB_LEGAL_BATCH]; /* enum fab_span, by column */
    /* [2 n] by full class (tree.h): row_of[] of a member whose entries needed no choice among
     * several candidates, or FAB_NONE; and a row with its entries. */
    uint32_t *class_row_of;
    const uint8_t **class_row;
    /* Cache by a hash of port class and row_of[]: the last switch with that hash, or FAB_NONE, and
     * a row with its entries. */
    uint32_t cached[FAB_BATCH_CACHE];
    const uint8_t *cached_row[FAB_BATCH_CACHE];
};
/* t, dmodk, patterns and lft must be set. Fails only with NOMEM; the caller must call
 * fab_route_batch_fini() then, too. */
int fab_route_batch_init(struct fab_batch *b);
void fab_route_batch_fini(struct fab_batch *b);
void fab_route_batch_begin(struct fab_batch *b, uint32_t first);
/* Returns whether each range of `b` follows the same range of `before`. */
bool fab_route_batch_follows(const struct fab_batch *b, const struct fab_batch *before);

/* ---- one switch ------------------------------------------------------------------------------ */

/* Values of fab_decisions.key[] if it is not the port that all DLIDs take. No port has these
 * numbers. */
#define FAB_DECISION_SLOTS 0xff
#define FAB_DECISION_CHOOSE 0
struct fab_decisions {
    uint8_t key[FAB_LEGAL_BATCH];   /* one of the above, or a port */
    uint8_t count[FAB_LEGAL_BATCH]; /* number of candidates */
    uint8_t last[FAB_LEGAL_BATCH];  /* if count is 1: the neighbour, counted from updown.at[] */
};
/* Returns whether all columns take their slots. */
bool fab_route_decisions_find(const struct fab_batch *b, uint32_t s, struct fab_decisions *ret);
/* Writes the entries. Returns false if candidates.c had to choose some of them. */
bool fab_route_columns_fill(const struct fab_batch *b, uint32_t s,
                            const struct fab_decisions *keys);

/* ---- one destination at one switch ----------------------------------------------------------- */

struct fab_entry_choice {
    const struct fab_batch *b;
    uint32_t s, dest;
    unsigned column;
    uint8_t *row; /* of the table */
    const struct fab_dmodk_dlid *dlid;
    struct fab_dmodk_dest dlids;
};

/* Returns whether one of several parallel links from an upper switch s down to the destination
 * switch is missing. All leaves send the packets for this link up by the same slot. These packets
 * must take another upper switch, or else the remaining parallel links would carry twice as
 * much. */
bool fab_route_parallel_missing(const struct fab_batch *b, uint32_t s, uint32_t dest);
/* Writes the entries of all DLIDs of the destination, from any number of candidates. */
void fab_route_entry_choose(const struct fab_entry_choice *c);

#endif
