/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings for RoCE that correspond to the InfiniBand settings, for sites that run both kinds
 * of fabric. They are ECN thresholds of switches (RED), threshold and headroom of priority flow
 * control (IEEE 802.1Qbb), and the reaction of adapters (DCQCN). The comment in roce.c names the
 * sources. */
#ifndef LIBFABMGR_CONGESTION_ROCE_H
#define LIBFABMGR_CONGESTION_ROCE_H

#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/congestion/explain.h"

/* The following constants are those of DCQCN's authors, and do not depend on the fabric. */
/* minimum time between two notifications of a flow, in us */
#define FAB_DCQCN_CNP_US 50
/* time in us after which an adapter lowers alpha (DCQCN's estimate of the congestion) if no
 * notification arrives */
#define FAB_DCQCN_ALPHA_US 55
/* period in us of the timer that raises the rate */
#define FAB_DCQCN_INCREASE_US 55
/* number of megabytes that an adapter sends before its rate rises; the rate also rises after each
 * period of the timer */
#define FAB_DCQCN_INCREASE_MB 10
/* 1 / g, where g is the gain of DCQCN's alpha (its estimate of the congestion) */
#define FAB_DCQCN_INVERSE_GAIN 256
/* number of steps of fast recovery before additive increase begins */
#define FAB_DCQCN_RECOVERY_STAGES 5

struct fab_congestion_roce {
    /* Ethernet speed in Mb/s, 10,000 to 800,000: the one nearest to the rate of the InfiniBand
     * links */
    uint32_t speed;
    /* number of switch ports to which this setting corresponds */
    uint32_t ports;
    /* true: the setting is for ports to endports; false: for ports between switches */
    bool edge;
    /* RED thresholds of an egress queue, in bytes, and probability in percent. Below kmin, the
     * switch marks no packets; at kmax, it marks pmax percent of them; above kmax, all. */
    uint32_t kmin, kmax, pmax;
    /* Xoff in bytes, greater than kmax: the switch pauses the sender at an ingress port if packets
     * of one priority from this port fill more than this of the switch's buffer. */
    uint32_t pause;
    /* number of bytes of this priority that may still arrive after the pause */
    uint32_t headroom;
    /* additive and hyper increase of an adapter's rate, in Mb/s; only if `edge` is true */
    uint32_t ai_mbps, hai_mbps;
    /* the values from which the others are computed: round-trip time in ns, assumed number of
     * senders to one endport, length of the cable in m */
    uint32_t rtt_ns, fan_in, cable_m;
    /* Ethernet speed in Mb/s of the slowest port to an endport */
    uint32_t slowest;
    /* bytes of the longest packet on the wire */
    uint32_t frame;
    /* Delays in pause quanta of 512 bits. response: until the peer responds to a pause frame.
     * interface: in the port's own interface. */
    uint16_t response, interface;
};
/* Computes a setting for each combination of Ethernet speed and kind of port (to endports, or
 * between switches) in the fabric, sorted by speed. There are no settings if the profile is "off".
 * The caller frees *ret. Returns OK or NOMEM. */
int fab_congestion_roce_compute(const struct fab_congestion *c, const struct fab_fabric *f,
                                const struct fab_policy *policy, struct fab_congestion_roce **ret,
                                size_t *ret_count);

#define FAB_CONGESTION_ROCE_VALUES 13
/* Writes to ret[] all values of the setting *r, each with its reason. The names end with the unit,
 * as in "kmin_bytes". Returns the number of values: 5 for switches and, if the setting is for ports
 * to endports (r->edge), 8 more for adapters. */
unsigned fab_congestion_roce_explain(const struct fab_congestion_roce *r,
                                     struct fab_congestion_reason ret[FAB_CONGESTION_ROCE_VALUES]);

#endif
