/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the traffic model. For this folder only.
 *
 * A port sends into the input buffer of the port at the other end of its link. A channel is one VL
 * of a sending port. The credits of a channel, in blocks of 64 bytes, are the free space for its VL
 * in this buffer. In a switch, a packet waits in a virtual output queue; there is one for each pair
 * of an output channel and an input port. In any queue, a packet occupies buffer space of the
 * channel by which it arrived. A channel serves its queues by round robin, and VL arbitration
 * chooses among the channels of a port.
 *
 * Forwarding is cut-through: a switch can send a packet as soon as it has processed the header. If
 * the output link is faster than the input link, the switch starts later, so that each byte has
 * arrived when its turn comes. The buffer space of a packet becomes free when the last byte of the
 * packet has left, and the credits reach the sender one cable delay later.
 *
 * Not modelled: buffers shared among the ports of a switch, link-level retries, windows of queue
 * pairs, and adaptive routing. Crossbars have no limits: an input may send to several outputs at
 * once. There are no acknowledgements, except BECNs, which travel as packets of 64 bytes. Receivers
 * are never slow: endports accept everything at once.
 */
#ifndef LIBFABMGR_TRAFFIC_MODEL_H
#define LIBFABMGR_TRAFFIC_MODEL_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/traffic/events.h"
#include "libfabmgr/traffic/traffic.h"

#define TRAFFIC_NONE UINT32_MAX
/* number of bytes of buffer for one credit */
#define TRAFFIC_BLOCK 64
#define TRAFFIC_HOPS 64
#define TRAFFIC_BECN_BYTES 64 /* bytes of a BECN packet, including headers */
/* number of 64-bit words in a set of input ports */
#define TRAFFIC_INPUT_WORDS 4

enum traffic_kind {
    /* a packet can now leave the switch at which it arrived */
    TRAFFIC_ARRIVE,
    /* the last byte of a packet arrives at an endport */
    TRAFFIC_DELIVER,
    TRAFFIC_CREDIT, /* credits return to a channel */
    TRAFFIC_WAKE,   /* a port can send again */
    TRAFFIC_READY,  /* a flow can send */
    /* congestion control no longer delays an SL, which can therefore send (arg: endport * 16 +
     * SL) */
    TRAFFIC_SL,
    /* the receiver of a flow sends a BECN */
    TRAFFIC_NOTIFY,
};

struct traffic_packet {
    /* flow: index of the packet's flow; TRAFFIC_NONE: this element of packets[] is free. next:
     * index of the next packet in the same queue, or of the next free element. */
    uint32_t flow, next;
    /* the channel by which the packet arrived; the packet occupies credits and buffer space of this
     * channel. TRAFFIC_NONE: none, because the packet is new, or arrives at an endport */
    uint32_t from;
    /* the channel by which the packet will leave, and for which it may wait */
    uint32_t to;
    /* time in ps at which the sending endport sent the packet */
    uint64_t born;
    uint16_t bytes; /* including headers */
    /* the input port at the switch where the packet waits */
    uint8_t in;
    uint8_t hops;
    /* marked: the packet has FECN; becn: the packet is a BECN */
    bool marked, becn;
};
struct traffic_fifo {
    uint32_t head, tail;
};
struct traffic_channel {
    /* credits: present credits of the channel, in blocks of 64 bytes. capacity: credits of the
     * channel when the receiving buffer is empty. */
    uint32_t credits, capacity;
    /* number of bytes that wait for the channel */
    uint32_t queued;
    /* input port (port number - 1) of the packet that the channel sent last */
    uint32_t last;
    /* number of packets that the channel must still send without FECN before it may mark a
     * packet */
    uint32_t gap;
    /* index in fifos[] of the queue of input 0; the queues of the other inputs follow */
    uint32_t fifos;
    /* true: the next packet had to wait because the channel had no credits */
    bool starved;
    /* bitset of the input ports from which packets wait for the channel */
    uint64_t waiting[TRAFFIC_INPUT_WORDS];
};
/* state of one VL arbitration table of a port */
struct traffic_arbiter {
    uint16_t at; /* index of the current entry of the table */
    /* remaining weight of the current entry, in blocks of 64 bytes */
    int32_t left;
};
struct traffic_port {
    /* port id at the other end of the link; TRAFFIC_NONE: the link is not up */
    uint32_t peer;
    /* index of the port in fab_traffic.endports[]; TRAFFIC_NONE: the port belongs to a switch */
    uint32_t endport;
    /* rate of the link, as the time in ps that 64 KiB take */
    uint64_t ps;
    /* delay of the cable, and of the switch at the other end, both in ps */
    uint64_t cable, switch_delay;
    /* time in ps at which the port finishes the packet that it is sending */
    uint64_t free_at;
    /* number of packets that wait in the queues of all channels of this port; only for ports of
     * switches */
    uint32_t pending;
    /* the port marks packets of a channel with FECN if more bytes than this wait for the channel;
     * UINT32_MAX: the port marks no packets */
    uint32_t limit;
    uint16_t rate; /* Marking_Rate (IBA A10) */
    /* packets with fewer bytes than this are not marked with FECN */
    uint16_t least;
    /* number of ports of the switch to which the port belongs; 0 if it is an endport */
    uint8_t inputs;
    bool to_endport;  /* true: the link of this port leads to an endport */
    bool wake_queued; /* true: a TRAFFIC_WAKE event is queued */
    /* true: Victim_Mask is set for this port, so packets that had to wait for credits are also
     * marked */
    bool victim;
    struct traffic_arbiter high, low;
    /* number of bytes that the high-priority VLs may still send before a packet of low priority may
     * follow */
    int64_t high_left;
};
/* state of congestion control for one flow, or, if congestion control works by SL, for one SL of an
 * endport */
struct traffic_throttle {
    /* the timer period in which `index` was last updated; periods are counted from time 0 */
    uint64_t tick;
    uint16_t index; /* CCTI: index into the congestion control table */
};
struct traffic_flow {
    /* endport, to_endport: sender and receiver of the flow, as indices in fab_traffic.endports[].
     * dlid, slid: destination and source LID of its packets. */
    uint32_t endport, to_endport, dlid, slid;
    uint32_t throttle; /* index in throttles[] */
    /* next flow in the queue of flows of the same endport and SL */
    uint32_t next;
    /* next flow in the receiver's queue of BECNs to send */
    uint32_t next_becn;
    /* SL of the flow's packets, and of its BECNs */
    uint8_t sl, back_sl;
    /* true: the receiver must still send a BECN for this flow */
    bool becn;
    /* true: the flow has more data to send, and its end time has not passed */
    bool open;
    /* left: bytes of data that the flow has not yet sent. stop: time in ps at which the flow stops
     * sending. */
    uint64_t left, stop;
    /* maximum rate that is configured for the flow, as the time in ps that 64 KiB take; 0: no limit
     */
    uint64_t pace;
    /* number of data packets that were sent but neither delivered nor dropped */
    uint64_t in_flight;
    struct fab_traffic_flow_stats stats;
};
struct traffic_endport {
    uint32_t port;                                   /* id of the port */
    const struct fab_congestion_adapter *congestion; /* NULL: no congestion control */
    /* random offset in ps of the endport's congestion control timers */
    uint64_t phase;
    /* For each SL, the queue of the flows that wait to send. They may send unless `held` has the
     * SL, or their end time has passed. */
    struct traffic_fifo sl[16];
    /* queue of the flows for which the endport must send a BECN */
    struct traffic_fifo becns;
    /* bitset of the SLs that have flows in sl[] */
    uint16_t waiting;
    /* bitset of the SLs that congestion control delays at present */
    uint16_t held;
    uint8_t last_sl; /* the SL that sent last */
};

struct fab_traffic {
    struct fab_arena arena; /* memory of the arrays */
    struct fab_traffic_input in;
    /* a value for tables with a single VL; `vls` points to it if in.vls is NULL */
    struct fab_vls one;
    const struct fab_vls *vls;
    uint8_t vl_count;
    uint32_t mtu;
    /* time in ps between the arrival of a packet with FECN and the BECN for it */
    uint64_t adapter;
    struct fab_prng prng;
    struct traffic_events events;
    struct traffic_port *ports;       /* [port_count] */
    struct traffic_channel *channels; /* [port_count * vl_count] */
    struct traffic_fifo *fifos;
    size_t fifo_count;
    struct traffic_packet *packets;
    size_t packet_room, packet_used;
    uint32_t packet_free;
    struct traffic_endport *endports;
    uint32_t endport_count;
    struct traffic_throttle *throttles;
    struct traffic_flow *flows;
    uint32_t flow_count;
    /* the ports of a deadlock, which fab_traffic_cycle returns */
    uint32_t *cycle, cycle_count;
    /* now: present time. checked: time of the last search for deadlocks. Both are in ps. */
    uint64_t now, checked;
    struct fab_traffic_totals totals;
    int status; /* the first error; it ends the run */
};

static inline uint64_t traffic_ps(uint64_t per_64k, uint64_t bytes)
{
    return per_64k * bytes >> 16;
}
static inline uint32_t traffic_blocks(uint32_t bytes)
{
    return (bytes + TRAFFIC_BLOCK - 1) / TRAFFIC_BLOCK;
}
static inline uint32_t traffic_channel_id(const struct fab_traffic *t, uint32_t port, uint8_t vl)
{
    return port * t->vl_count + vl;
}
static inline uint32_t traffic_channel_port(const struct fab_traffic *t, uint32_t channel)
{
    return t->vl_count == 1 ? channel : channel / t->vl_count;
}
static inline uint8_t traffic_channel_vl(const struct fab_traffic *t, uint32_t channel)
{
    return (uint8_t)(t->vl_count == 1 ? 0 : channel % t->vl_count);
}
/* Returns true if the channel has credits for a packet of `bytes` bytes. Always returns true for
 * channels to endports, which accept everything. */
static inline bool traffic_has_room(const struct fab_traffic *t, uint32_t channel, uint32_t bytes)
{
    return t->ports[traffic_channel_port(t, channel)].to_endport ||
           t->channels[channel].credits >= traffic_blocks(bytes);
}

static inline bool traffic_endport_has_work(const struct traffic_endport *e)
{
    return (e->waiting & ~e->held) != 0 || e->becns.head != TRAFFIC_NONE;
}

/* Queues an event. blocks: number of credits that a TRAFFIC_CREDIT event returns; other kinds of
 * events ignore it. If memory runs out, stores NOMEM in t->status. */
void fab_traffic_schedule(struct fab_traffic *t, uint64_t time, enum traffic_kind kind,
                          uint32_t arg, uint32_t blocks);
/* Makes the port send its next packet: now, or, if it is sending a packet, after this packet. */
void fab_traffic_wake_port(struct fab_traffic *t, uint32_t port);

/* Functions of build.c. fab_traffic_build builds the ports, channels and endports of the initial
 * state, and fab_traffic_build_flows then adds the flows. Both return NOMEM if there is no memory.
 * fab_traffic_build_flows also returns the other errors of fab_traffic_new. */
int fab_traffic_build(struct fab_traffic *t);
int fab_traffic_build_flows(struct fab_traffic *t, const struct fab_traffic_flow *flows,
                            uint32_t count);

/* link.c: allocates packets and moves them over links */
uint32_t fab_traffic_packet_new(struct fab_traffic *t); /* returns TRAFFIC_NONE if memory ran out */
void fab_traffic_packet_free(struct fab_traffic *t, uint32_t packet);
/* Sends a packet now, over the channel packet->to. The channel must have enough credits. */
void fab_traffic_send_packet(struct fab_traffic *t, uint32_t packet);
void fab_traffic_return_credits(struct fab_traffic *t, uint32_t channel, uint32_t blocks);

/* forward.c: switches */
void fab_traffic_arrive(struct fab_traffic *t, uint32_t packet);
void fab_traffic_serve_switch(struct fab_traffic *t, uint32_t port);
/* Returns the input port (port number - 1) whose queue the channel serves next. At least one of its
 * queues must not be empty. inputs: number of input ports of the switch. */
uint32_t fab_traffic_next_input(const struct traffic_channel *channel, uint32_t inputs);

/* adapter.c: endports */
void fab_traffic_flow_ready(struct fab_traffic *t, uint32_t flow);
void fab_traffic_release_sl(struct fab_traffic *t, uint32_t endport, uint8_t sl);
void fab_traffic_serve_endport(struct fab_traffic *t, uint32_t port);
void fab_traffic_deliver(struct fab_traffic *t, uint32_t packet);
void fab_traffic_queue_becn(struct fab_traffic *t, uint32_t flow);

/* reaction.c: congestion control. fab_traffic_marks returns true if the port marks the packet with
 * FECN. */
bool fab_traffic_marks(struct fab_traffic *t, const struct traffic_port *p,
                       struct traffic_channel *channel, const struct traffic_packet *packet);
void fab_traffic_receive_becn(struct fab_traffic *t, struct traffic_flow *f);
/* Returns the time in ps by which congestion control delays the next packet of the flow, after a
 * packet for which the port needs `ps` picoseconds. */
uint64_t fab_traffic_injection_delay(struct fab_traffic *t, const struct traffic_flow *f,
                                     uint64_t ps);

/* arbitration.c: VL arbitration. fab_traffic_arbitrate returns the VL whose packet the port sends
 * next; mask: bitset of the VLs that can send, at least one. When a VL sends a packet,
 * fab_traffic_arbitration_charge lowers the remaining weight of this VL by the bytes of the
 * packet. */
uint8_t fab_traffic_arbitrate(struct fab_traffic *t, struct traffic_port *p, uint32_t mask);
void fab_traffic_arbitration_charge(struct fab_traffic *t, struct traffic_port *p, uint8_t vl,
                                    uint32_t bytes);

/* Searches for a deadlock (cycle.c). Returns OK if there is none, CYCLE if there is one, or NOMEM.
 * After CYCLE, t->cycle has the ports of the deadlock. */
int fab_traffic_find_cycle(struct fab_traffic *t);

#endif
