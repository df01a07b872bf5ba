/* SPDX-License-Identifier: BSD-3-Clause */
/* From what is known to values. For this room's files only. */
#ifndef LIBFABMGR_CONGESTION_DERIVE_H
#define LIBFABMGR_CONGESTION_DERIVE_H

#include "libfabmgr/congestion/congestion.h"

void fab_congestion_derive_port(const struct fab_congestion_basis *b,
                                const struct fab_policy_congestion *p,
                                struct fab_congestion_port *ret);
void fab_congestion_derive_adapter(const struct fab_congestion_basis *b,
                                   const struct fab_policy_congestion *p,
                                   struct fab_congestion_adapter *ret);
/* The senders that have to be held where `fan_in` are counted on: a bound, and room to spare. */
uint32_t fab_congestion_derive_senders(const struct fab_congestion_basis *b, uint32_t fan_in);
/* What a timer is made of. */
struct fab_congestion_derive_times {
    uint32_t packet_ns; /* of the greatest packet, at a typical end */
    uint32_t crowd;     /* senders that share the marks: fab_congestion_derive_senders */
    uint32_t loops;
    uint64_t told_ns, loop_ns; /* the timer is no shorter than either */
};
void fab_congestion_derive_times(const struct fab_congestion_basis *b,
                                 const struct fab_policy_congestion *p, uint32_t fan_in,
                                 struct fab_congestion_derive_times *ret);
/* A table whose steps grow as the rate falls, the last one `ratio` (1..) times slower. */
void fab_congestion_derive_table(double ratio, uint16_t limit, struct fab_congestion_table *ret);

#endif
