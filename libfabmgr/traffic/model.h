/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's state. For this room.
 *
 * A port sends; what it sends to is the buffer of the port at the other end of the cable. A lane is
 * a sending port's VL: its credits (in blocks of 64 bytes) are the room left in that buffer. A
 * packet in a switch waits in the queue of (the lane it leaves by, the port it came in by): virtual
 * output queues, that share the room of the lane that they came in by. Lanes take from these queues
 * in turn; the lanes of a port take turns by VL arbitration. A packet is sent as soon as its head
 * has been looked at (cut through), where the next cable is not faster than the one it comes by;
 * else so late that its tail is there in time. Its room is free when its tail has left, and its
 * credits are back one cable later.
 *
 * Left out: what switches have in common buffers beyond ports, the limits of crossbars (an input
 * may send to several outputs at once), link-level retries, acknowledgments (but for BECNs, which
 * travel as packets of 64 bytes), windows of queue pairs, adaptive routing, slow receivers (ends
 * take all that comes).
 */
#ifndef LIBFABMGR_TRAFFIC_MODEL_H
#define LIBFABMGR_TRAFFIC_MODEL_H

#include "libfabmgr/base/prng.h"
#include "libfabmgr/traffic/events.h"
#include "libfabmgr/traffic/traffic.h"

#define TRAFFIC_NONE UINT32_MAX
#define TRAFFIC_BLOCK 64 /* bytes a credit */
#define TRAFFIC_HOPS 64
#define TRAFFIC_NOTICE 64 /* bytes of a BECN's packet */
#define TRAFFIC_SETS 4    /* words of a set of ports */

enum traffic_kind {
    TRAFFIC_ARRIVE,  /* a packet may leave the switch it came to */
    TRAFFIC_DELIVER, /* its tail is at an end */
    TRAFFIC_CREDIT,  /* to a lane */
    TRAFFIC_WAKE,    /* a port may send again */
    TRAFFIC_READY,   /* a flow may send */
    TRAFFIC_SL,      /* an SL of an end may (arg: end * 16 + SL) */
    TRAFFIC_NOTIFY,  /* a flow's receiver sends a BECN */
};

struct traffic_packet {
    uint32_t flow, next;
    uint32_t from; /* the lane whose credits it holds */
    uint32_t to;   /* the lane it leaves by, or waits for */
    uint64_t born;
    uint16_t bytes; /* with header */
    uint8_t in;     /* the port it came in by, of this switch */
    uint8_t hops;
    bool marked, notice; /* FECN; a BECN on its way back */
};
struct traffic_fifo {
    uint32_t head, tail;
};
struct traffic_lane {
    uint32_t credits, capacity;
    uint32_t queued;                /* bytes that wait for it */
    uint32_t last;                  /* the input that was served last */
    uint32_t gap;                   /* packets to go before the next mark */
    uint32_t fifos;                 /* its first one, of input 0 */
    bool starved;                   /* its next packet had to wait for credits */
    uint64_t waiting[TRAFFIC_SETS]; /* inputs with packets for it */
};
struct traffic_turn { /* of one table of VL arbitration */
    uint16_t at;
    int32_t left; /* blocks of 64 bytes */
};
struct traffic_port {
    uint32_t peer;         /* or TRAFFIC_NONE: no cable in use */
    uint32_t end;          /* index of the end that it is a port of, or TRAFFIC_NONE */
    uint64_t ps;           /* for 64 KiB */
    uint64_t cable, ahead; /* ps: of its cable; and of what the peer does then */
    uint64_t free_at;
    uint32_t pending; /* packets that wait, of a switch's port */
    uint32_t limit;   /* bytes: marks when more wait; UINT32_MAX: never */
    uint16_t rate;    /* of marks */
    uint16_t least;   /* bytes of packets that are marked */
    uint8_t inputs;   /* ports of its switch */
    bool to_end;      /* its cable leads to one */
    bool awake;       /* a WAKE is to come */
    bool victim;      /* marks without credits, too */
    struct traffic_turn high, low;
    int64_t high_left; /* bytes until the low table has a turn */
};
struct traffic_throttle { /* of a flow, or of an end's SL */
    uint64_t tick;        /* of the timer, when index was right */
    uint16_t index;       /* CCTI */
};
struct traffic_flow {
    uint32_t end, to_end, dlid, slid;
    uint32_t throttle;
    uint32_t next; /* in a fifo of ready flows */
    uint32_t next_notice;
    uint8_t sl, back_sl;
    bool notice; /* waits at the receiver, to be sent */
    bool open;   /* may send more */
    uint64_t left, stop;
    uint64_t pace;   /* ps for 64 KiB; 0: none */
    uint64_t flying; /* packets under way */
    struct fab_traffic_flow_stats stats;
};
struct traffic_end {
    uint32_t port;
    const struct fab_congestion_adapter *congestion; /* or NULL */
    uint64_t phase;                                  /* of its timers */
    struct traffic_fifo sl[16];                      /* flows that may send */
    struct traffic_fifo notices;
    uint16_t waiting; /* SLs with such flows */
    uint16_t held;    /* SLs that may not send for a while */
    uint8_t last_sl;
};

struct fab_traffic {
    struct fab_traffic_input in;
    struct fab_vls one; /* where the input has none */
    const struct fab_vls *vls;
    uint8_t vl_count;
    uint32_t mtu;
    uint64_t adapter; /* ps */
    struct fab_traffic_arbitration arbitration;
    struct fab_prng prng;
    struct traffic_events events;
    struct traffic_port *ports; /* [port_count] */
    struct traffic_lane *lanes; /* [port_count * vl_count] */
    struct traffic_fifo *fifos;
    size_t fifo_count;
    struct traffic_packet *packets;
    size_t packet_room, packet_used;
    uint32_t packet_free;
    struct traffic_end *ends;
    uint32_t end_count;
    struct traffic_throttle *throttles;
    struct traffic_flow *flows;
    uint32_t flow_count;
    uint32_t *cycle, cycle_count;
    uint64_t now, checked;
    struct fab_traffic_totals totals;
    int status; /* of the run: sticks */
};

static inline uint64_t traffic_ps(uint64_t per_64k, uint64_t bytes)
{
    return per_64k * bytes >> 16;
}
static inline uint32_t traffic_blocks(uint32_t bytes)
{
    return (bytes + TRAFFIC_BLOCK - 1) / TRAFFIC_BLOCK;
}
static inline uint32_t traffic_lane_id(const struct fab_traffic *t, uint32_t port, uint8_t vl)
{
    return port * t->vl_count + vl;
}
static inline uint32_t traffic_lane_port(const struct fab_traffic *t, uint32_t lane)
{
    return t->vl_count == 1 ? lane : lane / t->vl_count;
}
static inline uint8_t traffic_lane_vl(const struct fab_traffic *t, uint32_t lane)
{
    return (uint8_t)(t->vl_count == 1 ? 0 : lane % t->vl_count);
}
/* Its credits are counted: it does not lead to an end, where there is always room. */
static inline bool traffic_has_room(const struct fab_traffic *t, uint32_t lane, uint32_t bytes)
{
    return t->ports[traffic_lane_port(t, lane)].to_end ||
           t->lanes[lane].credits >= traffic_blocks(bytes);
}

static inline bool traffic_end_has_work(const struct traffic_end *e)
{
    return (e->waiting & ~e->held) != 0 || e->notices.head != TRAFFIC_NONE;
}

/* Faults stick in t->status. */
void fab_traffic_schedule(struct fab_traffic *t, uint64_t time, enum traffic_kind kind,
                          uint32_t arg, uint32_t blocks);
void fab_traffic_wake_port(struct fab_traffic *t, uint32_t port); /* now, or when it is free */

/* build.c: what is there at the start, and what is to be sent */
int fab_traffic_build(struct fab_traffic *t);
int fab_traffic_build_flows(struct fab_traffic *t, const struct fab_traffic_flow *flows,
                            uint32_t count);

/* link.c: packets and cables */
uint32_t fab_traffic_packet_new(struct fab_traffic *t); /* TRAFFIC_NONE: no memory */
void fab_traffic_packet_free(struct fab_traffic *t, uint32_t packet);
/* The first one may leave now, by its lane `to` with room for it. */
void fab_traffic_send_packet(struct fab_traffic *t, uint32_t packet);
void fab_traffic_return_credits(struct fab_traffic *t, uint32_t lane, uint32_t blocks);

/* forward.c: switches */
void fab_traffic_arrive(struct fab_traffic *t, uint32_t packet);
void fab_traffic_serve_switch(struct fab_traffic *t, uint32_t port);
uint32_t fab_traffic_next_input(const struct traffic_lane *lane, uint32_t inputs); /* that waits */

/* adapter.c: ends */
void fab_traffic_flow_ready(struct fab_traffic *t, uint32_t flow);
void fab_traffic_release_sl(struct fab_traffic *t, uint32_t end, uint8_t sl);
void fab_traffic_serve_endport(struct fab_traffic *t, uint32_t port);
void fab_traffic_deliver(struct fab_traffic *t, uint32_t packet);
void fab_traffic_send_becn(struct fab_traffic *t, uint32_t flow);

/* reaction.c: congestion control */
bool fab_traffic_marks(struct fab_traffic *t, const struct traffic_port *p,
                       struct traffic_lane *lane, const struct traffic_packet *packet);
void fab_traffic_receive_becn(struct fab_traffic *t, struct traffic_flow *f);
/* How long to wait after a packet that takes ps. */
uint64_t fab_traffic_injection_delay(struct fab_traffic *t, const struct traffic_flow *f,
                                     uint64_t ps);

/* arbitration.c: the VL, of those in the mask (not 0), that sends now; and so many bytes went. */
uint8_t traffic_turn(struct fab_traffic *t, struct traffic_port *p, uint32_t mask);
void fab_traffic_arbitration_charge(struct fab_traffic *t, struct traffic_port *p, uint8_t vl,
                                    uint32_t bytes);

/* cycle.c: NOMEM, CYCLE with t->cycle. */
int fab_traffic_find_cycle(struct fab_traffic *t);

#endif
