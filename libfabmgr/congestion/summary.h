/* SPDX-License-Identifier: BSD-3-Clause */
/* What congestion control has to know of the fabric as a whole. For this room's files only. */
#ifndef LIBFABMGR_CONGESTION_SUMMARY_H
#define LIBFABMGR_CONGESTION_SUMMARY_H

#include "libfabmgr/fabric/fabric.h"

struct fab_congestion_summary {
    uint32_t ends;    /* ports of adapters that can send and receive */
    uint32_t slowest; /* Mb/s, of their links; 0: no end */
    uint16_t mtu;     /* bytes: the greatest of theirs */
    uint8_t hops;     /* switches on the longest of the shortest ways between ends */
    uint8_t *rank;    /* [switch_count] cables to the nearest switch with ends */
    uint16_t *taper;  /* [switch_count] percent, in steps of 50 from 100 on: what ends bring in to
                         what leads on to other switches */
};
int fab_congestion_summary_init(const struct fab_fabric *f,
                                struct fab_congestion_summary *ret); /* NOMEM */
void fab_congestion_summary_fini(struct fab_congestion_summary *s);
/* The cable of `port` leads to an end (from a switch), or `port` is an end. */
bool fab_congestion_is_edge(const struct fab_fabric *f, uint32_t port);

#endif
