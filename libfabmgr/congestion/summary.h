/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the whole fabric that congestion control needs. For this folder only. */
#ifndef LIBFABMGR_CONGESTION_SUMMARY_H
#define LIBFABMGR_CONGESTION_SUMMARY_H

#include "libfabmgr/fabric/fabric.h"

struct fab_congestion_summary {
    uint32_t endports; /* adapter ports that can send and receive */
    uint32_t slowest;  /* Mb/s of the slowest link of an endport; 0: no endport */
    uint16_t mtu;      /* largest MTU of the endports, in bytes */
    uint8_t hops;      /* switches on the longest of the shortest paths between endports */
    uint8_t *rank;     /* [switch_count] links to the nearest switch with endports */
    uint16_t *taper;   /* [switch_count] total rate of the switch's endports in percent of the total
                          rate of its ISLs, in steps of 50, at least 100 */
};
int fab_congestion_summary_init(const struct fab_fabric *f,
                                struct fab_congestion_summary *ret); /* NOMEM */
void fab_congestion_summary_fini(struct fab_congestion_summary *s);
/* Returns whether `port` is an endport in use. For a port of a switch, pass its peer. */
bool fab_congestion_is_edge(const struct fab_fabric *f, uint32_t port);

#endif
