/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the whole fabric that congestion control needs. For this folder only. */
#ifndef LIBFABMGR_CONGESTION_SUMMARY_H
#define LIBFABMGR_CONGESTION_SUMMARY_H

#include "libfabmgr/fabric/fabric.h"

struct fab_congestion_summary {
    /* number of endports in use (fab_congestion_is_edge) */
    uint32_t endports;
    /* rate of the slowest link of an endport in Mb/s; 0: there are no endports */
    uint32_t slowest;
    uint16_t mtu; /* largest MTU of the endports, in bytes */
    /* number of switches on the longest of the shortest paths between endports */
    uint8_t hops;
    /* [switch_count] distance in hops to the nearest switch with endports; UINT8_MAX: there is no
     * path */
    uint8_t *rank;
    /* [switch_count] taper: total rate of the switch's endports in percent of the total rate of its
     * ISLs, in steps of 50, 100 to 1000 */
    uint16_t *taper;
};
int fab_congestion_summary_init(const struct fab_fabric *f,
                                struct fab_congestion_summary *ret); /* returns OK or NOMEM */
void fab_congestion_summary_fini(struct fab_congestion_summary *s);
/* Returns true if `port` is an endport whose link is up, and does not belong to an aggregation
 * node. To ask about the link of a switch port, the caller passes the port at the other end of the
 * link. */
bool fab_congestion_is_edge(const struct fab_fabric *f, uint32_t port);

#endif
