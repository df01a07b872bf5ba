/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 64 destinations at hand: the ways to them, and their LIDs. In a fabric whose LIDs were given
 * switch by switch these are few ranges, so that rows are copied in few pieces; and those of
 * neighbouring columns follow on, so that columns that go the same way are set in one.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/fattree/entries.h"

#define BATCH FAB_LEGAL_BATCH

int fab_route_batch_init(struct fab_batch *b)
{
    size_t n = (size_t)b->t->g->n + 1;
    b->way = fab_route_legal_alloc(b->t->g->n);
    b->alike = b->way != NULL ? fab_route_legal_row_of(b->way, b->t->g->n) : NULL;
    b->descends = b->way != NULL ? fab_route_legal_descends(b->way, b->t->g->n) : NULL;
    b->seen = fab_alloc_array(n, 2 * sizeof(*b->seen));
    b->seen_row = fab_alloc_array(n, 2 * sizeof(*b->seen_row));
    return b->way && b->seen && b->seen_row ? FAB_OK : FAB_E_NOMEM;
}

void fab_route_batch_fini(struct fab_batch *b)
{
    free(b->way);
    free(b->seen);
    free(b->seen_row);
    memset(b, 0, sizeof(*b));
}

/* Adds [from, from + len) to the ranges, at the end of one if it follows on. False: too many. */
static bool add_range(struct fab_batch *b, uint32_t from, uint32_t len)
{
    uint32_t i = 0;
    while (i < b->ranges && b->to[i] != from)
        i++;
    if (i == FAB_BATCH_RANGES)
        return false;
    if (i == b->ranges) {
        b->from[i] = from;
        b->ranges++;
    }
    b->to[i] = from + len;
    return true;
}

static void find_ranges(struct fab_batch *b)
{
    bool few = true;
    b->ranges = 0;
    for (uint32_t d = b->first; d < b->first + b->count && few; d++) {
        const struct fab_dmodk_dest *set = &b->lanes->dest[d];
        few = add_range(b, set->lid, set->run);
        for (uint32_t i = set->run; i < set->count && few; i++)
            few = add_range(b, b->lanes->lane[set->at + i].lid, 1);
    }
    if (!few)
        b->ranges = 0;
}

/* Columns whose LIDs follow on, the runs and the one that may be behind each run. */
static void join_columns(struct fab_batch *b)
{
    const struct fab_dmodk_dest *set = b->lanes->dest + b->first;
    const struct fab_dmodk_dlid *lane = b->lanes->lane;
    b->single = b->ranges == 1;
    for (uint32_t i = 0; i < b->count; i++, set++) {
        bool tail = set->count > set->run, first = i == 0 || b->span[i - 1] == FAB_SPAN_NONE;
        b->single = b->single && set->count == 1;
        b->span[i] = set->count > set->run + 1 ? FAB_SPAN_NONE : FAB_SPAN_BEGINS;
        if (b->span[i] == FAB_SPAN_NONE || first || set[-1].lid + set[-1].run != set->lid ||
            tail != (set[-1].count > set[-1].run))
            continue;
        if (!tail || lane[set[-1].at + set[-1].run].lid + 1 == lane[set->at + set->run].lid)
            b->span[i] = FAB_SPAN_FOLLOWS;
    }
}

void fab_route_batch_begin(struct fab_batch *b, uint32_t first)
{
    uint32_t left = b->lanes->dests - first;
    b->first = first;
    b->count = left < BATCH ? left : BATCH;
    fab_route_legal_rows(b->t->slopes, b->lanes->sw + first, b->count, b->way);
    memset(b->seen, 0xff, b->t->g->n * 2 * sizeof(*b->seen)); /* FAB_NONE */
    memset(b->like, 0xff, sizeof(b->like));                   /* likewise */
    find_ranges(b);
    join_columns(b);
}

bool fab_route_batch_follows(const struct fab_batch *b, const struct fab_batch *before)
{
    bool follows = b->ranges == before->ranges;
    for (uint32_t i = 0; i < b->ranges && follows; i++)
        follows = b->from[i] == before->to[i];
    return follows;
}
