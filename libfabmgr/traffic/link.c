/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves packets over links.
 *
 * Tables do not change during a run. So the output port at the next switch is looked up already
 * when a port sends a packet, and forwarding needs no event of its own. A hop takes two events: the
 * arrival of the packet and the return of its credits. If more packets wait at the port, a third
 * event tells that the port can send again.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/traffic/model.h"

uint32_t fab_traffic_packet_new(struct fab_traffic *t)
{
    uint32_t p = t->packet_free;
    if (p != TRAFFIC_NONE) {
        t->packet_free = t->packets[p].next;
        return p;
    }
    if (t->packet_used == t->packet_room) {
        void *grown =
            t->packet_used < TRAFFIC_NONE
                ? fab_base_grow(t->packets, sizeof *t->packets, t->packet_used + 1, &t->packet_room)
                : NULL;
        if (grown == NULL) {
            t->status = FAB_E_NOMEM;
            return TRAFFIC_NONE;
        }
        t->packets = grown;
    }
    return (uint32_t)t->packet_used++;
}

void fab_traffic_packet_free(struct fab_traffic *t, uint32_t packet)
{
    t->packets[packet].flow = TRAFFIC_NONE;
    t->packets[packet].next = t->packet_free;
    t->packet_free = packet;
}

/* Schedules the return of a packet's credits to the channel that sent the packet. when: time in ps
 * at which the packet leaves the buffer of the input port where it arrived. */
static void free_buffer(struct fab_traffic *t, const struct traffic_packet *packet, uint64_t when)
{
    if (packet->from == TRAFFIC_NONE)
        return;
    const struct traffic_port *p = &t->ports[traffic_channel_port(t, packet->from)];
    fab_traffic_schedule(t, when + p->cable, TRAFFIC_CREDIT, packet->from,
                         traffic_blocks(packet->bytes));
}

/* Returns the channel by which `packet`, which `port` sends, will leave the next switch;
 * TRAFFIC_NONE: the next switch drops the packet, because it has no route for the packet, or the
 * packet has passed TRAFFIC_HOPS switches. */
static uint32_t next_channel(const struct fab_traffic *t, const struct traffic_packet *packet,
                             const struct traffic_port *port)
{
    const struct fab_fabric *f = t->in.fabric;
    const struct traffic_flow *flow = &t->flows[packet->flow];
    uint32_t sw = fab_fabric_port(f, port->peer)->node,
             lid = packet->becn ? flow->slid : flow->dlid;
    uint8_t num = lid <= t->in.lft->top ? fab_target_lft_at(t->in.lft, sw, lid) : FAB_LFT_NO_ROUTE;
    if (num == 0 || num > f->nodes[sw].num_ports || packet->hops >= TRAFFIC_HOPS)
        return TRAFFIC_NONE;
    uint32_t out = fab_fabric_port_id(f, sw, num);
    if (t->ports[out].peer == TRAFFIC_NONE)
        return TRAFFIC_NONE;
    uint8_t sl = packet->becn ? flow->back_sl : flow->sl;
    return traffic_channel_id(t, out, fab_target_vls_vl(t->vls, port->peer, out, sl));
}

static void drop(struct fab_traffic *t, uint32_t packet, uint64_t tail)
{
    free_buffer(t, &t->packets[packet], tail);
    t->flows[t->packets[packet].flow].in_flight -= !t->packets[packet].becn;
    t->totals.dropped++;
    fab_traffic_packet_free(t, packet);
}

/* Sends a packet to a switch. The switch may forward the packet as soon as it has processed the
 * header. If its output link is faster than the link `p`, it begins later, so that each byte has
 * arrived before it must be sent. ps: time in ps that `p` needs for the packet. */
static void forward_packet(struct fab_traffic *t, uint32_t packet, const struct traffic_port *p,
                           uint64_t ps)
{
    struct traffic_packet *x = &t->packets[packet];
    x->hops++;
    uint32_t to = next_channel(t, x, p);
    if (to == TRAFFIC_NONE) {
        drop(t, packet, t->now + ps + p->cable);
        return;
    }
    uint64_t there = traffic_ps(t->ports[traffic_channel_port(t, to)].ps, x->bytes);
    x->to = to;
    x->in = fab_fabric_port(t->in.fabric, p->peer)->num;
    fab_traffic_schedule(t, t->now + p->cable + p->switch_delay + (ps > there ? ps - there : 0),
                         TRAFFIC_ARRIVE, packet, 0);
}

void fab_traffic_send_packet(struct fab_traffic *t, uint32_t packet)
{
    struct traffic_packet *x = &t->packets[packet];
    uint32_t channel = x->to, port = traffic_channel_port(t, channel);
    struct traffic_port *p = &t->ports[port];
    uint64_t ps = traffic_ps(p->ps, x->bytes);
    p->free_at = t->now + ps;
    free_buffer(t, x, p->free_at);
    x->from = channel;
    if (p->to_endport) {
        x->from = TRAFFIC_NONE;
        fab_traffic_schedule(t, p->free_at + p->cable, TRAFFIC_DELIVER, packet, 0);
        return;
    }
    t->channels[channel].credits -= traffic_blocks(x->bytes);
    forward_packet(t, packet, p, ps);
}

void fab_traffic_return_credits(struct fab_traffic *t, uint32_t channel, uint32_t blocks)
{
    t->channels[channel].credits += blocks;
    fab_traffic_wake_port(t, traffic_channel_port(t, channel));
}
