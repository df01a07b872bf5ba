/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives settings of congestion control from a basis (the facts about a port and the fabric). For
 * this folder only. */
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
 * fan_in, but at most the number of endports and at least fan_in. */
uint32_t fab_congestion_derive_senders(const struct fab_congestion_basis *b, uint32_t fan_in);
/* the times from which the timer (CCTI_Timer) is derived */
struct fab_congestion_derive_times {
    /* time in ns of the longest packet: a mean of the times on the sender's own link and on the
     * slowest endport's link (derive.c) */
    uint32_t packet_ns;
    /* number of senders that share the marked packets (fab_congestion_derive_senders) */
    uint32_t senders;
    /* minimum of the timer period (CCTI_Timer), in round-trip times */
    uint32_t loops;
    /* Two minimum values of the timer, in ns. notify_ns: the time in which each sender gets one
     * notification. loop_ns: `loops` times the round-trip time without queues. */
    uint64_t notify_ns, loop_ns;
};
void fab_congestion_derive_times(const struct fab_congestion_basis *b,
                                 const struct fab_policy_congestion *p, uint32_t fan_in,
                                 struct fab_congestion_derive_times *ret);
/* Fills in the table entries 0 to `limit`. The higher the index, the more the delay grows from
 * one entry to the next. The last entry divides the rate by `ratio` (1 or more). */
void fab_congestion_derive_table(double ratio, uint16_t limit, struct fab_congestion_table *ret);

#endif
