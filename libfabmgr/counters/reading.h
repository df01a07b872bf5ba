/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns two readings of the counters of a port into a sample: rates of traffic, and increases of
 * error counters. The caller never needs to clear counters, so that other programs can read them,
 * too. Each function sets only the columns that it computes.
 */
#ifndef LIBFABMGR_COUNTERS_READING_H
#define LIBFABMGR_COUNTERS_READING_H

#include "libfabmgr/counters/column.h"

struct fab_sample {
    uint16_t code[FAB_COLUMNS];
};

/* Sets the increases of the error counters. If a counter is lower than before, it was cleared, and
 * its increase is its present value. Exception: if a 64-bit counter was close to its maximum and is
 * now close to 0, it has wrapped. */
void fab_counters_sample_errors(const struct fab_counters *was, const struct fab_counters *now,
                                struct fab_sample *ret);
/* Returns true if an error counter is lower than before: the device was restarted, or a program
 * cleared its counters. */
bool fab_counters_was_reset(const struct fab_counters *was, const struct fab_counters *now);

struct fab_traffic {
    uint64_t at_us; /* time in us of any monotonic clock; 0: not read yet */
    /* xmit_data, rcv_data: in words of 4 bytes. xmit_wait: in ticks of PortXmitWait. */
    uint64_t xmit_data, rcv_data, xmit_pkts, rcv_pkts, xmit_wait;
    /* wide: the counters of data and packets have 64 bits. wide_wait: PortXmitWait has 64 bits. If
     * false: these counters have 32 bits, and stop at their maximum. */
    bool wide, wide_wait;
    bool has_wait; /* true: the device has PortXmitWait */
};
/*
 * Computes the rates between two readings. most_bytes_per_s is the greatest rate that the link can
 * carry; 0: not known. A missing rate leaves its column unchanged.
 *
 * - All rates are missing in two cases. First, `was` is not a reading (at_us 0), is not older than
 *   `now`, or has counters of another width. Second, a counter is lower than before, because it was
 *   reset at an unknown time or has wrapped.
 * - The rate of a counter of 32 bits is missing if the counter has stopped at its maximum.
 * - A rate of bytes above most_bytes_per_s is missing, because one of the readings must be wrong.
 * - If the rate of bytes of a direction is missing, its rate of packets is missing, too. If the
 *   rate of sent bytes is missing, the share of waiting is missing, too.
 */
void fab_counters_sample_traffic(const struct fab_traffic *was, const struct fab_traffic *now,
                                 uint64_t most_bytes_per_s, struct fab_sample *ret);

/* PortVLXmitWait (IBA 16.1.4.6). The counters have 16 bits, and stop at their maximum. */
struct fab_vl_wait {
    uint16_t value[FAB_COLUMN_VLS];
};
/* Divides the time in ret->code[FAB_COLUMN_XMIT_WAIT] among the VLs, in proportion to the increases
 * of their counters. A VL that did not wait gets no value. If a counter has stopped at its maximum
 * or is lower than before, its increase is not known, and no VL gets a value. */
void fab_counters_sample_vls(const struct fab_vl_wait *was, const struct fab_vl_wait *now,
                             struct fab_sample *ret);

#endif
