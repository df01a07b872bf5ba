/* SPDX-License-Identifier: BSD-3-Clause */
/* Trends of error rates, and differences between the two ends of a link. */
#ifndef LIBFABMGR_COUNTERS_TREND_H
#define LIBFABMGR_COUNTERS_TREND_H

#include <stdbool.h>
#include <stdint.h>

#define FAB_TREND_STEPS 8

/*
 * Returns true if an error rate rises. `errors` has the numbers of errors in successive periods of
 * equal length, oldest first. Two conditions must hold, so that neither a single burst nor the
 * noise of a constant rate is a trend:
 *
 * - The second half of the periods has clearly more errors than the first half: by five standard
 *   deviations of Poisson numbers or more, which happens by chance in one of some million cases.
 * - In most pairs of periods, the later period has more errors (Mann-Kendall statistic of at least
 *   16 of 28).
 */
bool fab_counters_rises(const uint64_t errors[FAB_TREND_STEPS]);

/* Returns true if two ends of a link differ: the rate that one end sent differs from the rate that
 * the other end received by more than a tenth of the higher rate, and by 1 MB/s or more. sent,
 * received: means over the same period, in bytes per second. */
bool fab_counters_differ(uint64_t sent, uint64_t received);

#endif
