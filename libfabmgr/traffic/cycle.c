/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds deadlocks, in which channels wait for each other for ever. A channel without credits for
 * its next packet is blocked: it waits until a packet leaves the buffer to which the channel sends.
 * The channel is deadlocked if all packets in this buffer wait for deadlocked channels.
 *
 * The search marks all blocked channels. Then it repeatedly clears the mark of each channel that
 * sends to a buffer in which some packet waits for a channel without a mark. The channels that
 * remain marked form a knot in the wait-for graph (Dally & Towles, "Principles and Practices of
 * Interconnection Networks", ch. 14).
 */
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/traffic/model.h"

static bool is_blocked(const struct fab_traffic *t, uint32_t id)
{
    const struct traffic_channel *channel = &t->channels[id];
    const struct traffic_port *p = &t->ports[traffic_channel_port(t, id)];
    if (channel->queued == 0 || p->to_endport)
        return false;
    uint32_t input = fab_traffic_next_input(channel, p->inputs);
    uint32_t head = t->fifos[channel->fifos + input].head;
    return !traffic_has_room(t, id, t->packets[head].bytes);
}

/* Marks in stuck[] the channels of switches that have no credits for their next packet. Returns
 * true if there is such a channel. */
static bool mark_blocked(const struct fab_traffic *t, uint64_t *stuck)
{
    bool any = false;
    for (uint32_t port = 0; port < t->in.fabric->port_count; port++) {
        if (t->ports[port].pending == 0)
            continue;
        for (uint8_t vl = 0; vl < t->vl_count; vl++) {
            uint32_t id = traffic_channel_id(t, port, vl);
            if (is_blocked(t, id)) {
                fab_base_bits_set(stuck, id);
                any = true;
            }
        }
    }
    return any;
}

static void clear_with_credits_due(const struct fab_traffic *t, uint64_t *stuck)
{
    struct traffic_event e;
    for (size_t cursor = 0; fab_traffic_events_next(&t->events, &cursor, &e);)
        if (e.kind == TRAFFIC_CREDIT)
            fab_base_bits_clear(stuck, e.arg);
}

/* Clears the mark in stuck[] of each channel that sends to a buffer in which some packet waits for
 * a channel without a mark: when this packet leaves the buffer, the channel that sent it gets
 * credits, so the channel is not deadlocked. Returns true if a mark was cleared. */
static bool clear_movable(const struct fab_traffic *t, uint64_t *stuck)
{
    bool more = false;
    for (size_t i = 0; i < t->packet_used; i++) {
        const struct traffic_packet *x = &t->packets[i];
        if (x->flow != TRAFFIC_NONE && x->from != TRAFFIC_NONE &&
            fab_base_bits_get(stuck, x->from) && !fab_base_bits_get(stuck, x->to)) {
            fab_base_bits_clear(stuck, x->from);
            more = true;
        }
    }
    return more;
}

/* Returns the channel for which a packet in the input buffer to which `channel` sends waits. If the
 * buffer has several packets, takes any of them. TRAFFIC_NONE: the buffer is empty. */
static uint32_t waits_for(const struct fab_traffic *t, uint32_t channel)
{
    for (size_t i = 0; i < t->packet_used; i++)
        if (t->packets[i].flow != TRAFFIC_NONE && t->packets[i].from == channel)
            return t->packets[i].to;
    return TRAFFIC_NONE;
}

/* Follows the wait-for graph from channel `at` until the channels repeat, and stores the ports of
 * this cycle in t->cycle. Returns CYCLE, or NOMEM. */
static int store_cycle(struct fab_traffic *t, uint32_t at)
{
    uint32_t channels = t->in.fabric->port_count * t->vl_count, steps = 0, count = 0;
    for (; steps < channels && at != TRAFFIC_NONE; steps++)
        at = waits_for(t, at);
    uint32_t first = at, room = 0;
    do
        room++;
    while ((at = waits_for(t, at)) != first && at != TRAFFIC_NONE);
    uint32_t *cycle = fab_base_alloc_array(room, sizeof *cycle);
    if (cycle == NULL)
        return FAB_E_NOMEM;
    for (; count < room; at = waits_for(t, at))
        cycle[count++] = traffic_channel_port(t, at);
    free(t->cycle);
    t->cycle = cycle;
    t->cycle_count = count;
    return FAB_E_CYCLE;
}

int fab_traffic_find_cycle(struct fab_traffic *t)
{
    size_t channels = (size_t)t->in.fabric->port_count * t->vl_count;
    uint64_t *stuck = fab_base_bits_new(channels);
    int status = stuck != NULL ? FAB_OK : FAB_E_NOMEM;
    if (stuck != NULL && mark_blocked(t, stuck)) {
        clear_with_credits_due(t, stuck);
        while (clear_movable(t, stuck))
            ;
        size_t first = fab_base_bits_next(stuck, channels, 0);
        if (first < channels)
            status = store_cycle(t, (uint32_t)first);
    }
    free(stuck);
    return status;
}
