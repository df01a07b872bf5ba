/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks ports by a value: keeps the ports with the highest values. */
#ifndef LIBFABMGR_COUNTERS_RANK_H
#define LIBFABMGR_COUNTERS_RANK_H

#include <stddef.h>
#include <stdint.h>

struct fab_rank_entry {
    uint64_t value;
    /* number that identifies the port for the caller; ports with equal values are sorted by
     * ascending id */
    uint64_t id;
};
struct fab_rank {
    /* [most] the entries, as a heap whose first entry is the lowest */
    struct fab_rank_entry *entry;
    uint32_t count, most;
};
/* Initialises *r, which uses the caller's array of `most` entries. */
void fab_counters_rank_init(struct fab_rank *r, struct fab_rank_entry *entry, uint32_t most);
void fab_counters_rank_add(struct fab_rank *r, uint64_t id, uint64_t value);
/* Sorts the entries, the greatest value first. No entry can be added after that. */
void fab_counters_rank_sort(struct fab_rank *r);

#endif
