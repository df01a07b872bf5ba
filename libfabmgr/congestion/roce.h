/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings for RoCE that correspond to the InfiniBand settings: ECN thresholds of switches
 * (RED), threshold and headroom of priority flow control (IEEE 802.1Qbb), and the reaction of
 * adapters (DCQCN). They are for sites that run both kinds of fabric. The comment in roce.c names
 * the sources.
 */
#ifndef LIBFABMGR_CONGESTION_ROCE_H
#define LIBFABMGR_CONGESTION_ROCE_H

#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/congestion/explain.h"

/* Constants of DCQCN's authors, independent of the fabric. */
#define FAB_DCQCN_CNP_US 50        /* least time between two notifications of a flow */
#define FAB_DCQCN_ALPHA_US 55      /* time without a notification after which alpha is lowered */
#define FAB_DCQCN_INCREASE_US 55   /* timer of rate increases */
#define FAB_DCQCN_INCREASE_MB 10   /* megabytes sent that count as one timer period */
#define FAB_DCQCN_INVERSE_GAIN 256 /* 1 / g, where g is the gain of alpha */
/* Steps of fast recovery before additive increase begins. */
#define FAB_DCQCN_RECOVERY_STAGES 5

struct fab_congestion_roce {
    uint32_t speed; /* Ethernet speed in Mb/s, 10,000 to 800,000: the speed nearest to the rate of
                       the links */
    uint32_t ports; /* number of switch ports that have the settings in this struct */
    bool edge;      /* true: ports to endports; false: ports between switches */
    /* RED thresholds, in bytes in the queue of an egress port. Below kmin, the switch marks no
     * packets; at kmax, it marks pmax percent; above kmax, all. */
    uint32_t kmin, kmax, pmax;
    uint32_t pause; /* Xoff: the switch may pause the sender if it holds more bytes of one priority
                       from one ingress port; above kmax */
    uint32_t headroom; /* bytes of this priority that may still arrive after the pause */
    /* additive and hyper increase of adapters, in Mb/s; only with edge */
    uint32_t ai_mbps, hai_mbps;
    /* The inputs from which the values above are computed. */
    uint32_t rtt_ns, fan_in, cable_m;
    uint32_t slowest;             /* Ethernet speed in Mb/s of the slowest port to an endport */
    uint32_t frame;               /* bytes on the wire of the longest packet */
    uint16_t response, interface; /* delays of the peer and of the own port, in 512 bits */
};
/* Computes one setting for each speed and kind of port, sorted by speed; none if the profile is
 * "off". The caller frees *ret. NOMEM. */
int fab_congestion_roce_compute(const struct fab_congestion *c, const struct fab_fabric *f,
                                const struct fab_policy *policy, struct fab_congestion_roce **ret,
                                size_t *ret_count);

#define FAB_CONGESTION_ROCE_VALUES 13
/* Writes all values with their reasons; a name ends with the unit, such as "kmin_bytes". Returns
 * their number: 5 values of switches and, if the ports lead to endports, 8 of adapters. */
unsigned fab_congestion_roce_explain(const struct fab_congestion_roce *r,
                                     struct fab_congestion_reason ret[FAB_CONGESTION_ROCE_VALUES]);

#endif
