/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates data traffic with given tables, packet by packet, with virtual cut-through switching,
 * credits for each virtual lane, and congestion control (IBA annex A10). With it, operators can
 * study the effect of tables and settings before they are programmed.
 *
 * Time is in picoseconds from 0. The same input gives the same run, event by event. The comment in
 * model.h describes the model and its limits.
 */
#ifndef LIBFABMGR_TRAFFIC_TRAFFIC_H
#define LIBFABMGR_TRAFFIC_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/congestion/congestion.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

#define FAB_TRAFFIC_US UINT64_C(1000000) /* ps */
#define FAB_TRAFFIC_FOREVER UINT64_MAX
/* value for the `sl` of a flow: use the SL that the tables assign to the path */
#define FAB_TRAFFIC_PATH_SL 0xff
/* number of bytes of a packet on the wire in addition to its data: LRH, BTH, CRCs */
#define FAB_TRAFFIC_HEADER_BYTES 26

/* The VL arbitration tables of every port (IBA 7.6.9). Weights are in units of 64 bytes. A port
 * sends packets from the VLs of the high-priority table first. After high_limit * 4,096 bytes from
 * these VLs, a packet of low priority (from a VL of the low-priority table) may follow. high_limit
 * 0: a packet of low priority may go after each packet of the high-priority table. high_limit 255:
 * packets of low priority may go only while no VL of the high-priority table can send. */
struct fab_traffic_arbitration {
    struct {
        uint8_t vl, weight;
    } high[64], low[64];
    uint8_t high_count, low_count, high_limit;
};

struct fab_traffic_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    const struct fab_vls *vls; /* NULL: one VL */
    /* NULL: the VLs send by round robin, packet by packet */
    const struct fab_traffic_arbitration *arbitration;
    const struct fab_congestion *congestion; /* NULL: no congestion control */
    /* true: congestion control at adapters delays whole SLs; false: single flows */
    bool by_sl;
    /* maximum number of bytes of data in a packet; 0: 4096 */
    uint32_t mtu;
    /* size of the input buffer of each port in bytes; 0: 65536. The VLs get equal parts of the
     * buffer, but each VL gets space for at least four packets. */
    uint32_t buffer;
    /* time in ns from the arrival of a packet's header at a switch to the departure of the header;
     * 0: 200 */
    uint32_t switch_ns;
    /* delay of each cable in ns; 0: 25, which is the delay of 5 m */
    uint32_t cable_ns;
    /* time in ns from the arrival of a marked packet at an adapter to the BECN; 0: 1200 */
    uint32_t adapter_ns;
    /* [port_count] length in m of the cable at each port; 0: cable_ns applies; NULL: cable_ns
     * applies to all ports */
    const uint32_t *cable_m;
    /* seed of the random numbers for marks and timer phases */
    uint64_t seed;
};

/* A flow of data from one endport to another; both have LIDs. Each flow has a send queue of its
 * own. The flows of one adapter send packets by round robin. */
struct fab_traffic_flow {
    uint32_t from, to; /* port ids */
    /* the DLID of the packets minus the base LID of the destination; selects one of its 2^LMC
     * LIDs */
    uint32_t offset;
    uint8_t sl; /* 0..15, or FAB_TRAFFIC_PATH_SL */
    /* times in ps: the flow sends its first packet at `start` or later, and its last packet before
     * `end` */
    uint64_t start, end;
    uint64_t bytes; /* amount of data; FAB_TRAFFIC_FOREVER: no limit */
    /* maximum rate in Mb/s; 0: the rate of the link */
    uint32_t rate;
};
struct fab_traffic_flow_stats {
    uint64_t sent, delivered; /* bytes of data */
    uint64_t packets;         /* data packets delivered */
    /* time in ps at which all data was delivered, except data of dropped packets;
     * FAB_TRAFFIC_FOREVER: not yet */
    uint64_t done;
    /* Latency of packets in ps, from the first byte that the source sends to the last byte that the
     * destination receives. latency: sum over all delivered packets; latency_max: maximum. */
    uint64_t latency, latency_max;
};
struct fab_traffic_totals {
    /* number of events, number of packets that endports sent, and number of packets that were
     * delivered; all include BECNs */
    uint64_t events, injected, delivered;
    /* number of packets that were dropped, because they had no route or had passed 64 hops */
    uint64_t dropped;
};

struct fab_traffic;
/* Creates the model. The objects to which *in points must outlive the model; flows[] is copied.
 * Returns INVAL if a flow has 0 bytes, or does not connect two different endports whose links are
 * up. Returns NOT_FOUND if the source of a flow has no LID, or its destination has no LID with the
 * flow's offset. Returns RANGE if the MTU is above 4096 or not a multiple of 64, the buffer is
 * above 1 GiB, or an SL is out of range. Also returns NOMEM. */
int fab_traffic_new(const struct fab_traffic_input *in, const struct fab_traffic_flow *flows,
                    uint32_t count, struct fab_traffic **ret);
void fab_traffic_free(struct fab_traffic *t);

/* Runs until the time `until`, or until no event is left. Searches for deadlocks (channels that
 * wait for each other for ever) every 50 us of simulated time, and when no event is left. Returns
 * CYCLE if it finds a deadlock; the model can then not run any further. Also returns NOMEM. */
int fab_traffic_run(struct fab_traffic *t, uint64_t until);
/* Returns the simulated time, in ps, up to which the model has run. */
uint64_t fab_traffic_now(const struct fab_traffic *t);
bool fab_traffic_idle(const struct fab_traffic *t); /* returns true if no event is left */
/* Returns the ids of the *ret_count ports that form the deadlock which fab_traffic_run has found.
 * Each port waits for the port after it in this list, and the last port waits for the first one. */
const uint32_t *fab_traffic_cycle(const struct fab_traffic *t, uint32_t *ret_count);

void fab_traffic_flow_stats(const struct fab_traffic *t, uint32_t flow,
                            struct fab_traffic_flow_stats *ret);
struct fab_traffic_totals fab_traffic_totals(const struct fab_traffic *t);

/* Computes the numbers of credits, packets and bytes from all packets and events, and compares them
 * with the counts that the model keeps. Returns false if they differ, which would be a bug of the
 * model, or if memory runs out. The function is slow, and meant for tests. */
bool fab_traffic_is_consistent(const struct fab_traffic *t);

#endif
