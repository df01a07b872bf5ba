/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A roll-up combines the samples of a long time into one sample. It has the mean of a rate over all
 * samples that have this rate, weighted by their durations, and the sum of a count.
 */
#ifndef LIBFABMGR_COUNTERS_ROLLUP_H
#define LIBFABMGR_COUNTERS_ROLLUP_H

#include "libfabmgr/counters/block.h"

/* Duration of a roll-up in seconds: level 1: a quarter of an hour; level 2: three hours; level 3: a
 * day. Level 0 is the samples themselves. */
#define FAB_ROLLUP_LEVELS 4
#define FAB_ROLLUP_QUARTER 900
#define FAB_ROLLUP_3_HOURS 10800
#define FAB_ROLLUP_DAY 86400

/* Sums over the samples of the ports of a block. */
struct fab_rollup {
    /* [column][port] rates: sum of rate * seconds; peaks: maximum; counts: sum */
    uint64_t sum[FAB_COLUMNS][FAB_BLOCK_PORTS];
    /* [column][port] rates: total duration in s of the samples that have this rate; peaks: 1 if any
     * sample has the rate */
    uint64_t seconds[FAB_COLUMNS][FAB_BLOCK_PORTS];
};
/* Sets the sums of columns to 0. columns: bitset of the columns. */
void fab_counters_rollup_clear(struct fab_rollup *r, uint64_t columns);
/* Adds samples of a block: those that end after the time `after`, and not later than `until`.
 * columns: bitset of the columns to add. */
void fab_counters_rollup_add(struct fab_rollup *r, const struct fab_counters_block *b,
                             uint64_t columns, int64_t after, int64_t until);
/* Returns the code of the mean, the peak or the sum that *r has for a column of a port. */
uint16_t fab_counters_rollup_code(const struct fab_rollup *r, unsigned column, uint32_t port);
/* Makes a roll-up of all samples of the block `from`. The roll-up is a block with one sample, which
 * gets the time `time`. Returns OK or NOMEM. */
int fab_counters_rollup(const struct fab_counters_block *from, struct fab_counters_time time,
                        struct fab_counters_block *ret);

#endif
