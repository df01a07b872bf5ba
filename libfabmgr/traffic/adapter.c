/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates endports. VL arbitration chooses the VL that sends. The SLs of this VL take turns
 * (round robin), and so do the flows of each SL. An endport sends its BECNs before its data.
 *
 * A flow that must wait, because of its configured rate or because of congestion control, leaves
 * the queue until it may send again. If congestion control works by SL, all flows of the SL must
 * wait.
 */
#include "libfabmgr/traffic/model.h"

/* ---- queues of flows ------------------------------------------------------------------------- */

static void push(struct fab_traffic *t, struct traffic_endport *e, uint32_t flow)
{
    uint8_t sl = t->flows[flow].sl;
    struct traffic_fifo *fifo = &e->sl[sl];
    t->flows[flow].next = TRAFFIC_NONE;
    if ((e->waiting >> sl & 1) == 0)
        fifo->head = flow;
    else
        t->flows[fifo->tail].next = flow;
    fifo->tail = flow;
    e->waiting |= (uint16_t)(1u << sl);
}

static void pop(struct fab_traffic *t, struct traffic_endport *e, uint8_t sl)
{
    e->sl[sl].head = t->flows[e->sl[sl].head].next;
    if (e->sl[sl].head == TRAFFIC_NONE)
        e->waiting &= (uint16_t) ~(1u << sl);
}

void fab_traffic_flow_ready(struct fab_traffic *t, uint32_t flow)
{
    struct traffic_endport *e = &t->endports[t->flows[flow].endport];
    if (!t->flows[flow].open)
        return;
    push(t, e, flow);
    fab_traffic_wake_port(t, e->port);
}

void fab_traffic_release_sl(struct fab_traffic *t, uint32_t endport, uint8_t sl)
{
    t->endports[endport].held &= (uint16_t) ~(1u << sl);
    fab_traffic_wake_port(t, t->endports[endport].port);
}

void fab_traffic_queue_becn(struct fab_traffic *t, uint32_t flow)
{
    struct traffic_endport *e = &t->endports[t->flows[flow].to_endport];
    t->flows[flow].next_becn = TRAFFIC_NONE;
    if (e->becns.head == TRAFFIC_NONE)
        e->becns.head = flow;
    else
        t->flows[e->becns.tail].next_becn = flow;
    e->becns.tail = flow;
    fab_traffic_wake_port(t, e->port);
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint32_t channel_of_sl(const struct fab_traffic *t, uint32_t port, uint8_t sl)
{
    return traffic_channel_id(t, port, fab_target_vls_vl(t->vls, port, port, sl));
}

static uint32_t packet_bytes(const struct fab_traffic *t, const struct traffic_flow *f)
{
    return (uint32_t)(f->left < t->mtu ? f->left : t->mtu) + FAB_TRAFFIC_HEADER_BYTES;
}

static bool inject(struct fab_traffic *t, uint32_t flow, uint32_t channel, uint32_t bytes,
                   bool becn)
{
    uint32_t packet = fab_traffic_packet_new(t);
    if (packet == TRAFFIC_NONE)
        return false;
    t->packets[packet] = (struct traffic_packet){.flow = flow,
                                                 .next = TRAFFIC_NONE,
                                                 .from = TRAFFIC_NONE,
                                                 .to = channel,
                                                 .born = t->now,
                                                 .bytes = (uint16_t)bytes,
                                                 .becn = becn};
    t->totals.injected++;
    fab_traffic_send_packet(t, packet);
    return true;
}

/* Sends the first BECN in the endport's queue of BECNs. Returns false if the channel of this BECN
 * has no credits. */
static bool send_becn(struct fab_traffic *t, struct traffic_endport *e)
{
    uint32_t flow = e->becns.head, channel = channel_of_sl(t, e->port, t->flows[flow].back_sl);
    if (!traffic_has_room(t, channel, TRAFFIC_BECN_BYTES))
        return false;
    e->becns.head = t->flows[flow].next_becn;
    t->flows[flow].becn = false;
    (void)inject(t, flow, channel, TRAFFIC_BECN_BYTES, true);
    return true;
}

/* Removes flows whose end time has passed from the head of the queue of this SL. Stops at the first
 * flow whose end time has not passed. */
static void drop_expired(struct fab_traffic *t, struct traffic_endport *e, uint8_t sl)
{
    while ((e->waiting >> sl & 1) != 0 && t->now >= t->flows[e->sl[sl].head].stop) {
        t->flows[e->sl[sl].head].open = false;
        pop(t, e, sl);
    }
}

/* Returns a bitset of the SLs that can send now: they have flows in their queues, congestion
 * control does not delay them, and their channels have credits for the next packet. Adds the VLs of
 * these SLs to the bitset *ret_vls. Also removes flows whose end time has passed from the queues
 * (drop_expired). */
static uint16_t sendable(struct fab_traffic *t, struct traffic_endport *e, uint32_t *ret_vls)
{
    uint16_t sls = 0;
    for (uint32_t left = e->waiting & ~(uint32_t)e->held; left != 0; left &= left - 1) {
        uint8_t sl = (uint8_t)__builtin_ctz(left);
        drop_expired(t, e, sl);
        if ((e->waiting >> sl & 1) == 0)
            continue;
        uint32_t channel = channel_of_sl(t, e->port, sl);
        if (!traffic_has_room(t, channel, packet_bytes(t, &t->flows[e->sl[sl].head])))
            continue;
        sls |= (uint16_t)(1u << sl);
        *ret_vls |= 1u << traffic_channel_vl(t, channel);
    }
    return sls;
}

/* Returns the SL that sends next on VL `vl` (round robin): of the SLs in the bitset `sls` that use
 * this VL, the first one after the SL that sent last. */
static uint8_t next_sl(const struct fab_traffic *t, const struct traffic_endport *e, uint16_t sls,
                       uint8_t vl)
{
    uint8_t sl = e->last_sl;
    do
        sl = (uint8_t)((sl + 1) % FAB_SLS);
    while ((sls >> sl & 1) == 0 || fab_target_vls_vl(t->vls, e->port, e->port, sl) != vl);
    return sl;
}

/* Decides when a flow may send its next packet, and schedules this. The flow has just begun to send
 * a packet of `bytes` bytes, for which the port needs `ps` picoseconds. */
static void schedule_next_packet(struct fab_traffic *t, struct traffic_endport *e, uint32_t flow,
                                 uint32_t bytes, uint64_t ps)
{
    struct traffic_flow *f = &t->flows[flow];
    uint64_t free_at = t->now + ps, next = free_at, delay = fab_traffic_injection_delay(t, f, ps);
    if (t->in.by_sl && delay > 0) {
        e->held |= (uint16_t)(1u << f->sl);
        fab_traffic_schedule(t, free_at + delay, TRAFFIC_SL, f->endport * FAB_SLS + f->sl, 0);
    } else {
        next += delay;
    }
    uint64_t paced = t->now + traffic_ps(f->pace, bytes);
    if (paced > next)
        next = paced;
    f->open = f->left > 0 && next < f->stop;
    if (f->open && next > free_at)
        fab_traffic_schedule(t, next, TRAFFIC_READY, flow, 0);
    else if (f->open)
        push(t, e, flow);
}

static void send_data(struct fab_traffic *t, struct traffic_endport *e, uint8_t sl)
{
    uint32_t flow = e->sl[sl].head, bytes = packet_bytes(t, &t->flows[flow]);
    struct traffic_flow *f = &t->flows[flow];
    pop(t, e, sl);
    e->last_sl = sl;
    if (!inject(t, flow, channel_of_sl(t, e->port, sl), bytes, false))
        return;
    uint32_t data = bytes - FAB_TRAFFIC_HEADER_BYTES;
    f->left -= f->left == FAB_TRAFFIC_FOREVER ? 0 : data;
    f->stats.sent += data;
    f->in_flight++;
    schedule_next_packet(t, e, flow, bytes, traffic_ps(t->ports[e->port].ps, bytes));
}

void fab_traffic_serve_endport(struct fab_traffic *t, uint32_t port)
{
    struct traffic_port *p = &t->ports[port];
    struct traffic_endport *e = &t->endports[p->endport];
    uint32_t vls = 0;
    if (e->becns.head == TRAFFIC_NONE || !send_becn(t, e)) {
        uint16_t sls = sendable(t, e, &vls);
        if (sls == 0)
            return;
        uint8_t vl = fab_traffic_arbitrate(t, p, vls), sl = next_sl(t, e, sls, vl);
        fab_traffic_arbitration_charge(t, p, vl, packet_bytes(t, &t->flows[e->sl[sl].head]));
        send_data(t, e, sl);
    }
    if (traffic_endport_has_work(e))
        fab_traffic_wake_port(t, port);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void count_data(struct fab_traffic *t, struct traffic_flow *f,
                       const struct traffic_packet *x)
{
    struct fab_traffic_flow_stats *s = &f->stats;
    uint64_t latency = t->now - x->born;
    s->delivered += x->bytes - FAB_TRAFFIC_HEADER_BYTES;
    s->packets++;
    s->latency += latency;
    s->latency_max = latency > s->latency_max ? latency : s->latency_max;
    f->in_flight--;
    if (f->left == 0 && f->in_flight == 0)
        s->done = t->now;
}

void fab_traffic_deliver(struct fab_traffic *t, uint32_t packet)
{
    const struct traffic_packet *x = &t->packets[packet];
    struct traffic_flow *f = &t->flows[x->flow];
    t->totals.delivered++;
    if (x->becn) {
        fab_traffic_receive_becn(t, f);
    } else {
        count_data(t, f, x);
        if (x->marked && !f->becn) {
            f->becn = true;
            fab_traffic_schedule(t, t->now + t->adapter, TRAFFIC_NOTIFY, x->flow, 0);
        }
    }
    fab_traffic_packet_free(t, packet);
}
