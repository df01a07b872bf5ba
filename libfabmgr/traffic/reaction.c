/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates congestion control (IBA annex A10): switches mark packets, and senders slow down.
 *
 * A10 does not define which queue length corresponds to which threshold. In this model, the queue
 * length is the number of bytes from all inputs that wait for the channel, without the packet that
 * is being sent. Threshold w (1..15) corresponds to (16 - w) / 16 of the buffer that one port has
 * for the VL.
 *
 * A channel whose packet had to wait for credits is a victim of congestion elsewhere, and marks
 * packets only if Victim_Mask is set. The number of packets between two marks is random, from 0 to
 * twice Marking_Rate.
 *
 * The model has no events for the timer that lowers the index (CCTI). Instead, when it needs the
 * index, it subtracts the number of timer periods since the last update.
 */
#include "libfabmgr/traffic/model.h"

#define TIMER_UNIT UINT64_C(1024000) /* unit of CCTI_Timer in ps */

bool fab_traffic_marks(struct fab_traffic *t, const struct traffic_port *p,
                       struct traffic_channel *channel, const struct traffic_packet *packet)
{
    if (channel->queued <= p->limit || packet->bytes < p->least || packet->becn ||
        (channel->starved && !p->victim))
        return false;
    if (channel->gap > 0) {
        channel->gap--;
        return false;
    }
    channel->gap = p->rate > 0 ? (uint32_t)fab_base_prng_below(&t->prng, 2u * p->rate + 1) : 0;
    return true;
}

/* Returns the settings of congestion control for the flow's SL at the sending adapter; NULL:
 * congestion control does not slow down flows of this SL. */
static const struct fab_congestion_sl *setting(const struct fab_traffic *t,
                                               const struct traffic_flow *f)
{
    const struct fab_congestion_adapter *c = t->endports[f->endport].congestion;
    return c != NULL && (c->sls >> f->sl & 1) != 0 ? &c->sl[f->sl] : NULL;
}

/* Updates the flow's index into the table of delays (CCTI): lowers it by one for each timer period
 * since its last update, but not below CCTI_Min. Returns a pointer to the CCTI. */
static uint16_t *index_now(struct fab_traffic *t, const struct traffic_flow *f,
                           const struct fab_congestion_sl *sl)
{
    struct traffic_throttle *x = &t->throttles[f->throttle];
    if (sl->timer > 0) {
        uint64_t tick = (t->now + t->endports[f->endport].phase) / (sl->timer * TIMER_UNIT);
        uint64_t steps = tick - x->tick;
        x->tick = tick;
        x->index = steps < x->index ? (uint16_t)(x->index - steps) : 0;
    }
    if (x->index < sl->min)
        x->index = sl->min;
    return &x->index;
}

void fab_traffic_receive_becn(struct fab_traffic *t, struct traffic_flow *f)
{
    const struct fab_congestion_sl *sl = setting(t, f);
    if (sl == NULL)
        return;
    uint16_t *index = index_now(t, f, sl), limit = t->endports[f->endport].congestion->table.limit;
    uint32_t raised = *index + sl->increase;
    *index = (uint16_t)(raised < limit ? raised : limit);
}

uint64_t fab_traffic_injection_delay(struct fab_traffic *t, const struct traffic_flow *f,
                                     uint64_t ps)
{
    const struct fab_congestion_sl *sl = setting(t, f);
    if (sl == NULL || (t->throttles[f->throttle].index == 0 && sl->min == 0))
        return 0;
    uint16_t index = *index_now(t, f, sl);
    return ps * fab_congestion_delay(t->endports[f->endport].congestion->table.entry[index]) / 8;
}
