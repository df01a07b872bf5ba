/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that make entries share: 64 destinations at hand, and one of them at one switch.
 * Private to fill.c and pick.c. */
#ifndef LIBFABMGR_ROUTE_ENTRIES_H
#define LIBFABMGR_ROUTE_ENTRIES_H

#include "libfabmgr/route/lanes.h"

#define FAB_FILL_RANGES 8
enum fab_span {
    FAB_SPAN_NONE,   /* LIDs of one column in several pieces */
    FAB_SPAN_BEGINS, /* a run, and at most one LID apart */
    FAB_SPAN_FOLLOWS /* likewise, and both follow on those of the column before */
};
struct fab_fill {
    const struct fab_tree *t;
    const struct fab_lanes *lanes;
    uint32_t first, count; /* the destinations at hand: lanes->sw[first..first + count) */
    const uint8_t *way;    /* [n][64] of fab_legal_ways */
    const struct fab_lft *lft;
    /* The LIDs at hand as ranges; 0: too many. */
    uint32_t ranges, from[FAB_FILL_RANGES], len[FAB_FILL_RANGES];
    uint8_t span[FAB_LEGAL_BATCH]; /* enum fab_span, by column */
    uint32_t *model; /* [gears] a switch all of whose lanes at hand take their slots, or FAB_NONE */
    /* [n] by twins (tree.h): one of them at which nothing had to be chosen, so that the entries of
     * others that are as far from all are the same; likewise one that sends all up. Or FAB_NONE. */
    uint32_t *twin, *half_twin;
};

/* One destination at one switch. */
struct fab_cell {
    const struct fab_fill *f;
    uint32_t s, dest;
    unsigned column;
    uint8_t *row; /* of the table */
    const struct fab_dest *lane;
    struct fab_lane_set set;
};

/* Does one of several cables from a switch above to the destination's own lack? What comes down by
 * it is that which all leaves send up by the same slot: it goes elsewhere, before the cables beside
 * carry twice as much. */
bool fab_entries_short(const struct fab_fill *f, uint32_t s, uint32_t dest);
/* The entries of all lanes of a cell, whatever there is to choose from. */
void fab_cell_choose(const struct fab_cell *c);

#endif
