/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates switches. Each channel has one queue for each input port, in which packets wait for the
 * channel. The channel serves its queues by round robin. */
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/traffic/model.h"

static struct traffic_fifo *fifo_of(struct fab_traffic *t, const struct traffic_channel *channel,
                                    uint32_t input)
{
    return &t->fifos[channel->fifos + input];
}

void fab_traffic_arrive(struct fab_traffic *t, uint32_t packet)
{
    struct traffic_packet *x = &t->packets[packet];
    struct traffic_channel *channel = &t->channels[x->to];
    uint32_t input = x->in - 1u, port = traffic_channel_port(t, x->to);
    struct traffic_fifo *fifo = fifo_of(t, channel, input);
    x->next = TRAFFIC_NONE;
    if (fab_base_bits_add(channel->waiting, input))
        fifo->head = packet;
    else
        t->packets[fifo->tail].next = packet;
    fifo->tail = packet;
    channel->queued += x->bytes;
    t->ports[port].pending++;
    fab_traffic_wake_port(t, port);
}

uint32_t fab_traffic_next_input(const struct traffic_channel *channel, uint32_t inputs)
{
    size_t at = fab_base_bits_next(channel->waiting, inputs, channel->last + 1);
    return (uint32_t)(at < inputs ? at : fab_base_bits_next(channel->waiting, inputs, 0));
}

/* Removes the first packet from the queue that the channel serves next (round robin), and returns
 * this packet. */
static uint32_t dequeue(struct fab_traffic *t, struct traffic_port *p,
                        struct traffic_channel *channel)
{
    uint32_t input = fab_traffic_next_input(channel, p->inputs);
    struct traffic_fifo *fifo = fifo_of(t, channel, input);
    uint32_t packet = fifo->head;
    channel->last = input;
    fifo->head = t->packets[packet].next;
    if (fifo->head == TRAFFIC_NONE)
        fab_base_bits_clear(channel->waiting, input);
    p->pending--;
    channel->queued -= t->packets[packet].bytes;
    return packet;
}

/* Returns a bitset of the VLs on which the port can send now: packets wait, and there are credits
 * for the first of them. If packets wait on a VL that has too few credits, marks the channel of
 * this VL as starved. */
static uint32_t sendable(struct fab_traffic *t, uint32_t port)
{
    const struct traffic_port *p = &t->ports[port];
    uint32_t mask = 0;
    for (uint8_t vl = 0; vl < t->vl_count; vl++) {
        uint32_t id = traffic_channel_id(t, port, vl);
        struct traffic_channel *channel = &t->channels[id];
        uint32_t input =
            channel->queued > 0 ? fab_traffic_next_input(channel, p->inputs) : p->inputs;
        if (input == p->inputs)
            continue;
        if (traffic_has_room(t, id, t->packets[fifo_of(t, channel, input)->head].bytes))
            mask |= 1u << vl;
        else
            channel->starved = true;
    }
    return mask;
}

void fab_traffic_serve_switch(struct fab_traffic *t, uint32_t port)
{
    struct traffic_port *p = &t->ports[port];
    uint32_t mask = p->pending > 0 ? sendable(t, port) : 0;
    if (mask == 0)
        return;
    uint8_t vl = fab_traffic_arbitrate(t, p, mask);
    struct traffic_channel *channel = &t->channels[traffic_channel_id(t, port, vl)];
    uint32_t packet = dequeue(t, p, channel);
    struct traffic_packet *x = &t->packets[packet];
    if (fab_traffic_marks(t, p, channel, x))
        x->marked = true;
    channel->starved = false;
    fab_traffic_arbitration_charge(t, p, vl, x->bytes);
    fab_traffic_send_packet(t, packet);
    if (p->pending > 0)
        fab_traffic_wake_port(t, port);
}
