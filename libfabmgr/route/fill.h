/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of all switches for up to 64 destination switches. Private to the room. */
#ifndef LIBFABMGR_ROUTE_FILL_H
#define LIBFABMGR_ROUTE_FILL_H

#include "libfabmgr/base/crew.h"
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
/* All of them: 64 destinations are a piece of work for one hand of the crew (or NULL). */
int fab_fill_all(const struct fab_tree *t, const struct fab_lanes *lanes,
                 const struct fab_crew *crew, const struct fab_lft *lft);

#endif
