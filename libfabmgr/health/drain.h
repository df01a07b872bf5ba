/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operator drains switches or links for maintenance: no traffic should pass through them. The
 * functions decide which ISLs routes must avoid for this purpose.
 *
 * A drained switch stays in the subnet: the manager needs a path to its port 0, to read counters
 * and to write tables. So a drained switch without hosts keeps one ISL, and routes avoid its other
 * ISLs. With a single ISL, it forwards no packets between other switches; only management packets
 * from and to its port 0 use this ISL.
 *
 * No host may lose its path. A drained switch with hosts therefore keeps its ISLs. But if other
 * switches send packets through it (in a grid, for example), it keeps only the links to one
 * neighbour; then only packets from and to its own hosts use them. If all neighbours of a drained
 * switch with hosts are drained, too, the neighbours without hosts keep all their ISLs, so that the
 * hosts of the switch have paths.
 */
#ifndef LIBFABMGR_HEALTH_DRAIN_H
#define LIBFABMGR_HEALTH_DRAIN_H

#include <stddef.h>

#include "libfabmgr/fabric/fabric.h"

struct fab_drain_input {
    const struct fab_fabric *fabric;
    const uint64_t *switches; /* bitset of the ids of the switches to drain */
    /* Bitset of the ids of the switches that forward packets between other switches
     * (libfabmgr/study/transit.h). Only the bits of switches with hosts have a meaning. */
    const uint64_t *transit;
    /* [link_count] links to drain; each is given by the id of one of its ports */
    const uint32_t *link;
    size_t link_count;
};
struct fab_drain {
    /* [out_count] the ISLs that routes must avoid, in ascending order; an ISL is given by the lower
     * id of its two ports */
    uint32_t *out;
    uint32_t out_count;
    /* [kept_count] the ISLs that drained switches without hosts keep for management packets; an ISL
     * is given by the lower id of its two ports */
    uint32_t *kept;
    uint32_t kept_count;
    uint32_t hosts;  /* number of endports that are connected to the drained switches */
    uint32_t needed; /* number of drained switches without hosts that must keep all their ISLs */
    /* About the switches to which the manager has no path that avoids the links in out[].
     * cut_switches: their number. cut_others: number of endports that are connected to them.
     * first_cut: the lowest id of these switches; FAB_NONE: there are none. */
    uint32_t cut_switches, cut_others, first_cut;
};
/* Decides which ISLs routes must avoid. Returns NOMEM, or INVAL if one of the links to drain is not
 * an ISL or not up. */
int fab_health_drain(const struct fab_drain_input *in, struct fab_drain *ret);
void fab_health_drain_fini(struct fab_drain *d);

/* Finds the pod of switch `sw`: all switches that can be reached from `sw` without passing through
 * the switches that are farthest from hosts. Sets the bits of these switches in the bitset ret[].
 * Returns NOMEM, or NOT_FOUND if `sw` itself is one of the switches farthest from hosts, which
 * belong to no pod. */
int fab_health_drain_pod(const struct fab_fabric *f, uint32_t sw, uint64_t *ret);
/* Sets ret_pod[] of each switch to the lowest switch id in its pod; FAB_NONE: the switch belongs to
 * no pod. Returns NOMEM. */
int fab_health_drain_pods(const struct fab_fabric *f, uint32_t *ret_pod);

#endif
