/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the state of the model during a run: computes the numbers of credits, bytes and packets
 * from the packets and events, and compares them with the counts that the model keeps. */
#include "libfabmgr/base/size.h"
#include "libfabmgr/traffic/model.h"

/* Numbers that are computed from the packets and events, for the comparison with the counts of the
 * model. taken[channel]: number of 64-byte blocks that packets of the channel occupy in the buffer
 * to which the channel sends. queued[channel]: number of bytes that wait for the channel. */
struct recount {
    uint32_t *taken, *queued;
    /* for each flow, the number of its packets that were sent but neither delivered nor dropped */
    uint64_t *in_flight;
    uint64_t packets;
};

static void count_packet(const struct traffic_packet *x, struct recount *c)
{
    c->packets++;
    c->in_flight[x->flow] += !x->becn;
    if (x->from != TRAFFIC_NONE)
        c->taken[x->from] += traffic_blocks(x->bytes);
}

static void count_fifo(const struct fab_traffic *t, const struct traffic_channel *channel,
                       uint32_t input, uint32_t *queued)
{
    if ((channel->waiting[input / 64] >> input % 64 & 1) == 0)
        return;
    for (uint32_t p = t->fifos[channel->fifos + input].head; p != TRAFFIC_NONE;
         p = t->packets[p].next)
        *queued += t->packets[p].bytes;
}

static void count_all(const struct fab_traffic *t, struct recount *c)
{
    for (size_t i = 0; i < t->packet_used; i++)
        if (t->packets[i].flow != TRAFFIC_NONE)
            count_packet(&t->packets[i], c);
    struct traffic_event e;
    for (size_t cursor = 0; fab_traffic_events_next(&t->events, &cursor, &e);)
        if (e.kind == TRAFFIC_CREDIT)
            c->taken[e.arg] += e.blocks;
    for (uint32_t id = 0; id < t->in.fabric->port_count * t->vl_count; id++)
        for (uint32_t in = 0; in < t->ports[traffic_channel_port(t, id)].inputs; in++)
            count_fifo(t, &t->channels[id], in, &c->queued[id]);
}

static bool channels_agree(const struct fab_traffic *t, const struct recount *c)
{
    for (uint32_t id = 0; id < t->in.fabric->port_count * t->vl_count; id++) {
        const struct traffic_channel *channel = &t->channels[id];
        if (channel->credits > channel->capacity ||
            channel->capacity - channel->credits != c->taken[id] ||
            channel->queued != c->queued[id])
            return false;
    }
    return true;
}

static bool flows_agree(const struct fab_traffic *t, const struct recount *c)
{
    for (uint32_t i = 0; i < t->flow_count; i++) {
        const struct traffic_flow *f = &t->flows[i];
        uint64_t most = f->in_flight * t->mtu, lost = f->stats.sent - f->stats.delivered;
        if (f->in_flight != c->in_flight[i] || f->stats.delivered > f->stats.sent ||
            (t->totals.dropped == 0 && (lost > most || (lost > 0) != (f->in_flight > 0))))
            return false;
    }
    return true;
}

bool fab_traffic_is_consistent(const struct fab_traffic *t)
{
    size_t channels = (size_t)t->in.fabric->port_count * t->vl_count + 1;
    struct recount c = {.taken = calloc(channels, sizeof *c.taken),
                        .queued = calloc(channels, sizeof *c.queued),
                        .in_flight = calloc(t->flow_count + (size_t)1, sizeof *c.in_flight)};
    bool consistent = c.taken != NULL && c.queued != NULL && c.in_flight != NULL;
    if (consistent) {
        count_all(t, &c);
        consistent = channels_agree(t, &c) && flows_agree(t, &c) &&
                     t->totals.injected == t->totals.delivered + t->totals.dropped + c.packets;
    }
    free(c.taken);
    free(c.queued);
    free(c.in_flight);
    return consistent;
}
