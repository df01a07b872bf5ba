/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of which the headroom of priority flow control consists. roce.c adds them up, and
 * roce_explain.c lists them. For this folder only. */
#ifndef LIBFABMGR_CONGESTION_ROCE_PARTS_H
#define LIBFABMGR_CONGESTION_ROCE_PARTS_H

#include "libfabmgr/congestion/roce.h"

/* delay of fibre in ns per metre; SONiC assumes 198,000 km/s */
#define ROCE_NS_A_METRE 5
/* length of a pause quantum, 512 bits (802.3 31B.2), in bytes */
#define ROCE_QUANTUM 64u
/* bytes of a pause frame on the wire: the frame has 64, gap and preamble have 20 */
#define ROCE_PAUSE_FRAME 84
/* bytes of a jumbo frame on the wire: the frame has usually 9216, gap and preamble have 20 */
#define ROCE_JUMBO 9236

/* Returns the number of bytes in flight on the port's cable, in both directions together. */
uint32_t fab_congestion_roce_cable_bytes(const struct fab_congestion_roce *r);

#endif
