/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Roll-ups: the samples of a long time as one sample. The roll-up of a rate is the mean over all
 * samples that have this rate, weighted by the durations of the samples. The roll-up of a count is
 * the sum.
 */
#ifndef LIBFABMGR_COUNTERS_ROLLUP_H
#define LIBFABMGR_COUNTERS_ROLLUP_H

#include "libfabmgr/counters/block.h"

/* Durations in seconds: a roll-up of level 1 covers a quarter of an hour, a roll-up of level 2 a
 * day. Level 0 has the samples. */
#define FAB_ROLLUP_LEVELS 3
#define FAB_ROLLUP_QUARTER 900
#define FAB_ROLLUP_DAY 86400

/* Sums over the samples of one port. */
struct fab_rollup_port {
    uint64_t sum[FAB_COLUMNS];     /* rates: rate * seconds; peaks: maximum; counts: sum */
    uint64_t seconds[FAB_COLUMNS]; /* rates: duration in s of the samples that have the rate */
};
/* Adds the samples of a block that end in (after, until] to the sums r[b->ports]. columns: bitset
 * of the columns to add. */
void fab_counters_rollup_add(struct fab_rollup_port *r, const struct fab_counters_block *b,
                             uint64_t columns, int64_t after, int64_t until);
/* Returns the code that the roll-up of these sums has in a column. */
uint16_t fab_counters_rollup_code(const struct fab_rollup_port *r, unsigned column);
/* Makes a roll-up: a block with one sample that sums up all samples of the block `from`. Returns
 * NOMEM. */
int fab_counters_rollup(const struct fab_counters_block *from, struct fab_counters_time time,
                        struct fab_counters_block *ret);

#endif
