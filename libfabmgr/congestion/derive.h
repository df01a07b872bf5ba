/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives the settings of congestion control of a port from its basis. For this folder only. */
#ifndef LIBFABMGR_CONGESTION_DERIVE_H
#define LIBFABMGR_CONGESTION_DERIVE_H

#include "libfabmgr/congestion/congestion.h"

void fab_congestion_derive_port(const struct fab_congestion_basis *b,
                                const struct fab_policy_congestion *p,
                                struct fab_congestion_port *ret);
void fab_congestion_derive_adapter(const struct fab_congestion_basis *b,
                                   const struct fab_policy_congestion *p,
                                   struct fab_congestion_adapter *ret);
/* Returns the number of senders that the settings must be able to throttle: twice the assumed
 * fan-in `fan_in`, or the number of endports if that is less, but at least `fan_in`. */
uint32_t fab_congestion_derive_senders(const struct fab_congestion_basis *b, uint32_t fan_in);
/* the times from which the timer (CCTI_Timer) is derived */
struct fab_congestion_derive_times {
    /* time in ns of the longest packet: a mean of the time on the sender's own link and that on the
     * slowest endport's link (derive.c) */
    uint32_t packet_ns;
    /* number of senders among which the marked packets are divided
     * (fab_congestion_derive_senders) */
    uint32_t senders;
    /* minimum of CCTI_Timer, as a number of round-trip times */
    uint32_t loops;
    /* Two minimum values of the timer, in ns. notify_ns: nine eighths of the mean time between two
     * notifications of one sender, divided by the increase. loop_ns: `loops` round-trip times
     * without queues. */
    uint64_t notify_ns, loop_ns;
};
void fab_congestion_derive_times(const struct fab_congestion_basis *b,
                                 const struct fab_policy_congestion *p, uint32_t fan_in,
                                 struct fab_congestion_derive_times *ret);
/* Fills in the entries 0 to `limit` of the table. The delays ascend, in growing steps. The last
 * entry divides the rate by `ratio`, which is at least 1. */
void fab_congestion_derive_table(double ratio, uint16_t limit, struct fab_congestion_table *ret);

#endif
