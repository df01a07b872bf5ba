/* SPDX-License-Identifier: BSD-3-Clause */
/* Trends of error rates, and differences between the two ends of a link. */
#ifndef LIBFABMGR_COUNTERS_TREND_H
#define LIBFABMGR_COUNTERS_TREND_H

#include <stdbool.h>
#include <stdint.h>

#define FAB_TREND_STEPS 8

/*
 * Returns true if an error rate rises. `errors` has the numbers of errors in successive times of
 * equal length, oldest first. Two conditions must hold, so that neither a single burst nor the
 * noise of a constant rate is a trend:
 *
 * - the second half has so many more errors than the first that chance explains the difference only
 *   once in some million cases (five standard deviations of Poisson numbers);
 * - most pairs of times are in ascending order (Mann-Kendall statistic of at least 16 of 28).
 */
bool fab_counters_rises(const uint64_t errors[FAB_TREND_STEPS]);

/* Returns true if the data that one end of a link sent, and those that the other end received,
 * differ by more than a tenth, and by more than noise. Both are means of the same time in bytes per
 * second. */
bool fab_counters_differ(uint64_t sent, uint64_t received);

#endif
