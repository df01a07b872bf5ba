/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same analysis said in the words of Ethernet: ECN thresholds of switches (RED), headroom of
 * priority flow control (IEEE 802.1Qbb), and the reaction of adapters (DCQCN, Zhu et al., SIGCOMM
 * 2015). For sites that run both kinds of fabric.
 */
#ifndef LIBFABMGR_CONGESTION_ROCE_H
#define LIBFABMGR_CONGESTION_ROCE_H

#include "libfabmgr/congestion/congestion.h"

struct fab_roce {
    uint32_t rate;  /* Mb/s: for ports of that rate */
    uint32_t ports; /* of switches */
    bool edge;      /* ports to ends, else between switches */
    /* switches: marks none below kmin, pmax percent at kmax, all beyond (bytes) */
    uint32_t kmin, kmax, pmax;
    uint32_t headroom; /* bytes a priority, for what still comes after a pause was sent */
    /* adapters (edge only) */
    uint32_t cnp_us;            /* least time between two notifications of a flow */
    uint32_t increase_us;       /* timer of rate increases */
    uint32_t ai_mbps, hai_mbps; /* additive and hyper increase */
};
/* One for each rate and kind of port. *ret is malloc'd. NOMEM. */
int fab_roce_compute(const struct fab_congestion *c, const struct fab_fabric *f,
                     const struct fab_policy *policy, struct fab_roce **ret, size_t *ret_count);

#endif
