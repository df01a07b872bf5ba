/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepares a batch of 64 destination switches: the paths to them, and their LIDs.
 *
 * If LIDs were assigned switch by switch, the LIDs of a batch form a few ranges. The entries of a
 * switch are then copied in few pieces. The LIDs of successive destination switches are then also
 * adjacent, so entries with the same next hop are written in one piece.
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
    b->paths = fab_route_legal_alloc(b->t->g->n);
    b->row_of = b->paths != NULL ? fab_route_legal_row_of(b->paths, b->t->g->n) : NULL;
    b->descends = b->paths != NULL ? fab_route_legal_descends(b->paths, b->t->g->n) : NULL;
    b->class_row_of = fab_base_alloc_array(n, 2 * sizeof(*b->class_row_of));
    b->class_row = fab_base_alloc_array(n, 2 * sizeof(*b->class_row));
    return b->paths && b->class_row_of && b->class_row ? FAB_OK : FAB_E_NOMEM;
}

void fab_route_batch_fini(struct fab_batch *b)
{
    free(b->paths);
    free(b->class_row_of);
    free(b->class_row);
    memset(b, 0, sizeof(*b));
}

/* Adds `len` LIDs, beginning with LID `from`, to the ranges of LIDs of the batch. Extends a range
 * that ends just before `from`. Returns false if the batch would need more than FAB_BATCH_RANGES
 * ranges. */
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
        const struct fab_dmodk_dest *dest = &b->dmodk->dest[d];
        few = add_range(b, dest->lid, dest->run);
        for (uint32_t i = dest->run; i < dest->count && few; i++)
            few = add_range(b, b->dmodk->dlid[dest->at + i].lid, 1);
    }
    if (!few)
        b->ranges = 0;
}

/* Sets span[] for each destination switch of the batch, and b->single. The consecutive LIDs of a
 * switch are its run; LIDs outside the run are further LIDs. A switch with several further LIDs
 * gets FAB_SPAN_NONE. A switch gets FAB_SPAN_FOLLOWS if its LIDs continue those of the switch
 * before it, on three conditions: that switch does not have FAB_SPAN_NONE; the run begins just
 * after the run of that switch; and the further LID is just after the further LID of that switch,
 * or neither of the two has a further LID. All other switches get FAB_SPAN_BEGINS. */
static void join_columns(struct fab_batch *b)
{
    const struct fab_dmodk_dest *dest = b->dmodk->dest + b->first;
    const struct fab_dmodk_dlid *dlid = b->dmodk->dlid;
    b->single = b->ranges == 1;
    for (uint32_t i = 0; i < b->count; i++, dest++) {
        bool tail = dest->count > dest->run, first = i == 0 || b->span[i - 1] == FAB_SPAN_NONE;
        b->single = b->single && dest->count == 1;
        b->span[i] = dest->count > dest->run + 1 ? FAB_SPAN_NONE : FAB_SPAN_BEGINS;
        if (b->span[i] == FAB_SPAN_NONE || first || dest[-1].lid + dest[-1].run != dest->lid ||
            tail != (dest[-1].count > dest[-1].run))
            continue;
        if (!tail || dlid[dest[-1].at + dest[-1].run].lid + 1 == dlid[dest->at + dest->run].lid)
            b->span[i] = FAB_SPAN_FOLLOWS;
    }
}

void fab_route_batch_begin(struct fab_batch *b, uint32_t first)
{
    uint32_t left = b->dmodk->dests - first;
    b->first = first;
    b->count = left < BATCH ? left : BATCH;
    fab_route_legal_rows(b->t->updown, b->dmodk->sw + first, b->count, b->paths);
    /* sets all elements to FAB_NONE */
    memset(b->class_row_of, 0xff, b->t->g->n * 2 * sizeof(*b->class_row_of));
    /* sets all elements to FAB_NONE */
    memset(b->cached, 0xff, sizeof(b->cached));
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
