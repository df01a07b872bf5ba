/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time of a simulation. When the caller advances the time (fab_sim_advance), the simulator
 * handles all events that are due by the new time, in the order of the event queue (queue.c). While
 * it handles an event, the simulated time is the time of this event.
 *
 * The simulation reads no clock. A test advances the time from one deadline to the next; `fabsim
 * serve` advances it with the wall clock.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

void fab_sim_schedule(struct fab_sim *s, uint64_t delay_us, enum sim_event_kind kind, uint32_t a,
                      uint32_t b, uint64_t arg)
{
    struct sim_event e = {.at = s->now + delay_us, .kind = kind, .a = a, .b = b, .arg = arg};
    (void)fab_sim_queue_put(&s->queue, &e);
}

void fab_sim_queue_mad(struct fab_sim *s, uint64_t delay_us, enum sim_event_kind kind,
                       struct position position, uint16_t slid, uint16_t dlid, const uint8_t *mad)
{
    struct fab_sim_delivery m = {
        .node = position.node, .port = position.port, .slid = slid, .dlid = dlid};
    uint32_t pending_mad;
    memcpy(m.mad, mad, FAB_MAD_SIZE);
    if (fab_sim_queue_put_mad(&s->queue, &m, &pending_mad) != FAB_OK)
        return;
    struct sim_event e = {.at = s->now + delay_us, .kind = kind, .a = pending_mad};
    if (fab_sim_queue_put(&s->queue, &e) == FAB_OK)
        s->in_flight = true;
    else
        (void)fab_sim_queue_take_mad(&s->queue, pending_mad);
}

static void deliver(struct fab_sim *s, uint32_t pending_mad)
{
    struct fab_sim_delivery m = fab_sim_queue_take_mad(&s->queue, pending_mad);
    struct position position = {.node = m.node, .port = m.port};
    if (!s->nodes[m.node].powered_off)
        fab_sim_outbox_put(s, position, m.slid, m.dlid, m.mad);
}

static void send_pending(struct fab_sim *s, uint32_t pending_mad)
{
    struct fab_sim_delivery m = fab_sim_queue_take_mad(&s->queue, pending_mad);
    fab_sim_send_delayed(s, &m);
}

static void run_event(struct fab_sim *s, const struct sim_event *e)
{
    switch ((enum sim_event_kind)e->kind) {
    case EVENT_ARRIVE:
        deliver(s, e->a);
        break;
    case EVENT_SEND:
        send_pending(s, e->a);
        break;
    case EVENT_TRAIN:
        fab_sim_link_trained(s, e->a);
        break;
    case EVENT_FLAP:
        fab_sim_link_flap(s, e);
        break;
    case EVENT_BOOT:
        fab_sim_node_booted(s, e->a);
        break;
    case EVENT_NOTICE:
        fab_sim_trap_resend(s, e->a);
        break;
    case EVENT_TRAP:
        (void)fab_sim_trap(s, fab_fabric_port(s->fabric, e->a)->node,
                           fab_fabric_port(s->fabric, e->a)->num, (uint16_t)e->b);
        break;
    case EVENT_SAMPLE:
        fab_sim_samples_due(s, e->a);
        break;
    case EVENT_STORM:
        fab_sim_node_storm(s, e);
        break;
    }
}

void fab_sim_advance(struct fab_sim *s, uint64_t now_us)
{
    struct sim_event e;
    while (fab_sim_queue_take(&s->queue, now_us, &e)) {
        if (e.at > s->now)
            s->now = e.at;
        run_event(s, &e);
    }
    if (now_us > s->now)
        s->now = now_us;
}

uint64_t fab_sim_now(const struct fab_sim *s)
{
    return s->now;
}

uint64_t fab_sim_deadline(const struct fab_sim *s)
{
    return fab_sim_queue_next(&s->queue);
}

struct fab_sim_timing fab_sim_timing(const struct fab_sim *s)
{
    return s->timing;
}

void fab_sim_set_timing(struct fab_sim *s, const struct fab_sim_timing *timing)
{
    s->timing = *timing;
}

/* ---- impairments ----------------------------------------------------------------------------- */

void fab_sim_set_impairments(struct fab_sim *s, const struct fab_sim_impairments *impairments)
{
    s->impairments = *impairments;
    s->unimpaired =
        !(impairments->loss > 0 || impairments->duplicate > 0 || impairments->delay > 0);
}

struct fab_sim_impairments fab_sim_impairments(const struct fab_sim *s)
{
    return s->impairments;
}

void fab_sim_loss(struct fab_sim *s, double rate)
{
    struct fab_sim_impairments impairments = s->impairments;
    impairments.loss = rate;
    fab_sim_set_impairments(s, &impairments);
}
