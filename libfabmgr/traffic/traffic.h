/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data traffic through a fabric, packet by packet and event by event, under the tables in force:
 * virtual cut-through switching, credits for each virtual lane, and the standard's congestion
 * control (IBA annex A10). To judge tables and settings by, before they are written anywhere.
 *
 * Time is in picoseconds from 0. The same input gives the same run, event by event. What the model
 * has and what it leaves out is at the top of model.h.
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
#define FAB_TRAFFIC_PATH_SL 0xff /* the SL that the tables give the path */
#define FAB_TRAFFIC_HEADER_BYTES                                                                   \
    26 /* bytes on the wire beside each packet's data: LRH, BTH, CRCs */

/* VL arbitration (IBA 7.6.9), the same at every port. Weights are of 64 bytes; the high table goes
 * first until `high_limit` * 4,096 bytes of it (0: one packet; 255: no limit) have gone before
 * waiting packets of the low table. */
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
    const struct fab_vls *vls;                         /* NULL: one lane */
    const struct fab_traffic_arbitration *arbitration; /* NULL: all VLs alike */
    const struct fab_congestion *congestion;           /* NULL: none */
    bool by_sl;         /* adapters slow down all flows of an SL together, else each alone */
    uint32_t mtu;       /* bytes of data in a packet at most; 0: 4096 */
    uint32_t buffer;    /* bytes of each port for what comes in, shared evenly by the VLs; 0: 64 Ki,
                           and for each VL room for four packets at least */
    uint32_t switch_ns; /* from the head of a packet coming in to its going out; 0: 200 */
    uint32_t cable_ns;  /* 0: 25, that is 5 m */
    uint32_t adapter_ns;     /* from a marked packet to the sender's reaction, beside the way back;
                                0: 1200 */
    const uint32_t *cable_m; /* [port_count] metres, 0: as above; or NULL */
    uint64_t seed;           /* of marks and of the timers' phases */
};

/* Ports are those of ends, with LIDs. A flow has a send queue of its own; those of an adapter take
 * turns packet by packet. */
struct fab_traffic_flow {
    uint32_t from, to;   /* port ids */
    uint32_t offset;     /* of the destination's LIDs, below 2^LMC */
    uint8_t sl;          /* or FAB_TRAFFIC_PATH_SL */
    uint64_t start, end; /* ps: packets go out from start on, and before end */
    uint64_t bytes;      /* FAB_TRAFFIC_FOREVER: no end */
    uint32_t rate;       /* Mb/s at most; 0: as the link */
};
struct fab_traffic_flow_stats {
    uint64_t sent, delivered;      /* bytes of data */
    uint64_t packets;              /* delivered */
    uint64_t done;                 /* when all of it was; FAB_TRAFFIC_FOREVER: not yet */
    uint64_t latency, latency_max; /* ps from first byte out to last byte in: sum, and most */
};
struct fab_traffic_totals {
    uint64_t events, injected, delivered; /* packets, notifications included */
    uint64_t dropped;                     /* for want of a way, or after 64 hops */
};

struct fab_traffic;
/* What the input points to must outlive it; the flows need not. INVAL: a flow from or to what is no
 * end in use; NOT_FOUND: no LID there; RANGE: MTU, SL or VL. */
int fab_traffic_new(const struct fab_traffic_input *in, const struct fab_traffic_flow *flows,
                    uint32_t count, struct fab_traffic **ret);
void fab_traffic_free(struct fab_traffic *t);

/* Goes on until `until`, or until nothing is left to happen. CYCLE: some lanes wait for each other
 * for ever (it is looked for every 50 us, and where all stands still); nothing moves any more by
 * more runs. NOMEM: the run cannot go on. */
int fab_traffic_run(struct fab_traffic *t, uint64_t until);
uint64_t fab_traffic_now(const struct fab_traffic *t); /* of the last event, or run */
bool fab_traffic_idle(const struct fab_traffic *t);    /* nothing will happen any more */
/* After CYCLE: the ports that wait, each for the next one and the last one for the first. */
const uint32_t *fab_traffic_cycle(const struct fab_traffic *t, uint32_t *ret_count);

void fab_traffic_flow_stats(const struct fab_traffic *t, uint32_t flow,
                            struct fab_traffic_flow_stats *ret);
struct fab_traffic_totals fab_traffic_totals(const struct fab_traffic *t);

/* Everything that there is counted anew: every credit, packet and byte is somewhere, once. False:
 * a fault of this room. For tests; takes time. */
bool fab_traffic_is_consistent(const struct fab_traffic *t);

#endif
