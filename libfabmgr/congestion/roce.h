/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same analysis said in the words of Ethernet: ECN thresholds of switches (RED), threshold and
 * headroom of priority flow control (IEEE 802.1Qbb), and the reaction of adapters (DCQCN). For
 * sites that run both kinds of fabric. The essay of roce.c names the sources.
 */
#ifndef LIBFABMGR_CONGESTION_ROCE_H
#define LIBFABMGR_CONGESTION_ROCE_H

#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/congestion/explain.h"

/* What DCQCN's authors set, whatever the fabric. */
#define FAB_DCQCN_CNP_US 50         /* least time between two notifications of a flow */
#define FAB_DCQCN_ALPHA_US 55       /* without notification after which alpha falls */
#define FAB_DCQCN_INCREASE_US 55    /* timer of rate increases */
#define FAB_DCQCN_INCREASE_MB 10    /* sent megabytes that count as much as the timer */
#define FAB_DCQCN_INVERSE_GAIN 256  /* alpha's gain g is 1/256 */
#define FAB_DCQCN_RECOVERY_STAGES 5 /* of fast recovery, before rates rise beyond the last one */

struct fab_congestion_roce {
    uint32_t speed; /* Mb/s of Ethernet, 10,000 to 800,000: the nearest to the rate of the links */
    uint32_t ports; /* of switches */
    bool edge;      /* ports to ends, else between switches */
    /* bytes in the queue of an egress port: no mark below kmin, pmax percent at kmax, all beyond */
    uint32_t kmin, kmax, pmax;
    uint32_t pause;    /* bytes of a priority that came by one port, at which it is paused at the
                          earliest: more than kmax */
    uint32_t headroom; /* bytes of a priority that may still come then */
    uint32_t ai_mbps, hai_mbps; /* of adapters, edge only: additive and hyper increase */
    /* what that follows from */
    uint32_t rtt_ns, fan_in, cable_m;
    uint32_t slowest;             /* Mb/s of Ethernet: of any port to an end */
    uint32_t frame;               /* bytes on the wire that the longest packet takes */
    uint16_t response, interface; /* in quanta of 512 bits: peer's response; own interface */
};
/* One for each speed and kind of port, the slowest first; none where the profile is off. *ret is
 * malloc'd. NOMEM. */
int fab_congestion_roce_compute(const struct fab_congestion *c, const struct fab_fabric *f,
                                const struct fab_policy *policy, struct fab_congestion_roce **ret,
                                size_t *ret_count);

#define FAB_CONGESTION_ROCE_VALUES 13
/* All values and why they are what they are; names end in the unit: "kmin_bytes". Returns how many:
 * 5 of switches, and where ports lead to ends, 8 of adapters. */
unsigned fab_congestion_roce_explain(const struct fab_congestion_roce *r,
                                     struct fab_congestion_reason ret[FAB_CONGESTION_ROCE_VALUES]);

#endif
