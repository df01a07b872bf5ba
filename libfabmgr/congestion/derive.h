/* SPDX-License-Identifier: BSD-3-Clause */
/* From the basis to settings. For this folder only. */
#ifndef LIBFABMGR_CONGESTION_DERIVE_H
#define LIBFABMGR_CONGESTION_DERIVE_H

#include "libfabmgr/congestion/congestion.h"

void fab_congestion_derive_port(const struct fab_congestion_basis *b,
                                const struct fab_policy_congestion *p,
                                struct fab_congestion_port *ret);
void fab_congestion_derive_adapter(const struct fab_congestion_basis *b,
                                   const struct fab_policy_congestion *p,
                                   struct fab_congestion_adapter *ret);
/* The number of senders that must be throttled where `fan_in` is assumed: twice as many, limited by
 * the number of endports. */
uint32_t fab_congestion_derive_senders(const struct fab_congestion_basis *b, uint32_t fan_in);
/* The times that a timer is derived from. */
struct fab_congestion_derive_times {
    uint32_t packet_ns; /* of the longest packet, at a typical endport */
    uint32_t senders;   /* senders that share the marks: fab_congestion_derive_senders */
    uint32_t loops;
    uint64_t notify_ns, loop_ns; /* the timer is no shorter than either: the time in which each
                                  sender is notified; the control loop */
};
void fab_congestion_derive_times(const struct fab_congestion_basis *b,
                                 const struct fab_policy_congestion *p, uint32_t fan_in,
                                 struct fab_congestion_derive_times *ret);
/* A table whose steps grow as the rate falls. The last entry slows down by `ratio` (1 or more). */
void fab_congestion_derive_table(double ratio, uint16_t limit, struct fab_congestion_table *ret);

#endif
