/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lowers the greatest link load of all-to-all traffic, even in large fabrics. Local search
 * (local_search.h) also considers shifts, but its counters would need too much memory and time in
 * large fabrics.
 *
 * The work is divided into slices, so that a manager can do it in the background. The amount of
 * work is counted, not timed, so equal input gives equal tables, whatever the size of the slices.
 *
 * Typical use:
 *     fab_route_polish_new(&in, lft, &p)
 *     while (!fab_route_polish_slice(p, work)) ...
 *     fab_route_polish_take(p, &better)
 *     fab_route_polish_free(p)
 */
#ifndef LIBFABMGR_ROUTE_LOCAL_SEARCH_POLISH_H
#define LIBFABMGR_ROUTE_LOCAL_SEARCH_POLISH_H

#include "libfabmgr/route/local_search/local_search.h"

/* Maximum number of entries (switches x LIDs) of tables that are polished. The search needs a copy
 * of the tables, one byte for each entry. */
#define FAB_POLISH_ENTRIES (UINT64_C(1) << 28)

struct fab_polish;
/* The loads are those of all-to-all traffic among the endports, weighted by the rate of the
 * links. */
struct fab_polish_progress {
    uint64_t work; /* work done so far, in table entries that were visited */
    /* greatest load in the given tables, and now; 0 until the loads are counted */
    uint64_t before, load;
    uint64_t bound; /* lower bound of the greatest load, as long as no path gets shorter */
};
/* Prepares a search that improves `lft`. in->vls must outlive *ret; the other inputs need not.
 * Copies the tables and numbers the channels, which takes a few visits of each entry. Returns LIMIT
 * if the tables have more than FAB_POLISH_ENTRIES entries, UNSUPPORTED if the channels cannot be
 * numbered in ascending order, or NOMEM. */
int fab_route_polish_new(const struct fab_local_search_input *in, const struct fab_lft *lft,
                         struct fab_polish **ret);
void fab_route_polish_free(struct fab_polish *p);
/* Continues the search until it has visited about `work` more entries. Returns true if the search
 * has ended: the load is close to its bound or to a goal that the search gave up, the limit of the
 * work is reached, or memory ran out. */
bool fab_route_polish_slice(struct fab_polish *p, uint64_t work);
void fab_route_polish_get(const struct fab_polish *p, struct fab_polish_progress *ret);
/* Moves the improved tables to *ret, after the search has ended. Packets still pass channels with
 * ascending numbers (channel_numbering.h), so tables that pass the proof still pass it. All paths
 * have the same length as before. SLs do not change. Returns NOMEM if memory ran out during the
 * search; *ret is then not set. */
int fab_route_polish_take(struct fab_polish *p, struct fab_lft *ret);
/* Counts the entries and the LFT blocks in which two tables of the same size differ. */
void fab_route_polish_count(const struct fab_lft *was, const struct fab_lft *now,
                            uint64_t *ret_entries, uint32_t *ret_blocks);

#endif
