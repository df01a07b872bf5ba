/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and frees the traffic model, and runs its events one after the other. */
#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/traffic/model.h"

/* time in ps between two searches for deadlocks */
#define CHECK_EVERY (50 * FAB_TRAFFIC_US)
#define MTU 4096
#define BUFFER 65536
#define SWITCH_NS 200
#define CABLE_NS 25
#define ADAPTER_NS 1200

/* ---- life cycle ------------------------------------------------------------------------------ */

static void set_defaults(struct fab_traffic *t, const struct fab_traffic_input *in)
{
    t->in = *in;
    t->mtu = in->mtu != 0 ? in->mtu : MTU;
    t->in.buffer = in->buffer != 0 ? in->buffer : BUFFER;
    t->in.switch_ns = in->switch_ns != 0 ? in->switch_ns : SWITCH_NS;
    t->in.cable_ns = in->cable_ns != 0 ? in->cable_ns : CABLE_NS;
    t->adapter = (uint64_t)(in->adapter_ns != 0 ? in->adapter_ns : ADAPTER_NS) * 1000;
    t->vls = in->vls != NULL ? in->vls : &t->one;
    t->vl_count = fab_target_vls_count(t->vls);
    t->packet_free = TRAFFIC_NONE;
    fab_base_prng_init(&t->prng, in->seed);
}

int fab_traffic_new(const struct fab_traffic_input *in, const struct fab_traffic_flow *flows,
                    uint32_t count, struct fab_traffic **ret)
{
    if (in->mtu > 4096 || in->mtu % 64 != 0 || in->buffer > 1u << 30)
        return FAB_E_RANGE;
    struct fab_traffic *t = calloc(1, sizeof *t);
    if (t == NULL)
        return FAB_E_NOMEM;
    set_defaults(t, in);
    int status = fab_traffic_events_init(&t->events);
    if (status == FAB_OK)
        status = fab_traffic_build(t);
    if (status == FAB_OK)
        status = fab_traffic_build_flows(t, flows, count);
    if (status == FAB_OK)
        *ret = t;
    else
        fab_traffic_free(t);
    return status;
}

void fab_traffic_free(struct fab_traffic *t)
{
    if (t == NULL)
        return;
    fab_traffic_events_fini(&t->events);
    fab_base_arena_fini(&t->arena);
    free(t->packets);
    free(t->cycle);
    free(t);
}

/* ---- events ---------------------------------------------------------------------------------- */

void fab_traffic_schedule(struct fab_traffic *t, uint64_t time, enum traffic_kind kind,
                          uint32_t arg, uint32_t blocks)
{
    struct traffic_event e = {
        .time = time, .arg = arg, .kind = (uint16_t)kind, .blocks = (uint16_t)blocks};
    int status = fab_traffic_events_put(&t->events, &e);
    if (status != FAB_OK)
        t->status = status;
}

static void serve(struct fab_traffic *t, uint32_t port)
{
    if (t->ports[port].endport == TRAFFIC_NONE)
        fab_traffic_serve_switch(t, port);
    else
        fab_traffic_serve_endport(t, port);
}

void fab_traffic_wake_port(struct fab_traffic *t, uint32_t port)
{
    struct traffic_port *p = &t->ports[port];
    if (p->wake_queued)
        return;
    if (t->now >= p->free_at) {
        serve(t, port);
    } else {
        p->wake_queued = true;
        fab_traffic_schedule(t, p->free_at, TRAFFIC_WAKE, port, 0);
    }
}

static void handle(struct fab_traffic *t, const struct traffic_event *e)
{
    switch ((enum traffic_kind)e->kind) {
    case TRAFFIC_ARRIVE:
        fab_traffic_arrive(t, e->arg);
        break;
    case TRAFFIC_DELIVER:
        fab_traffic_deliver(t, e->arg);
        break;
    case TRAFFIC_CREDIT:
        fab_traffic_return_credits(t, e->arg, e->blocks);
        break;
    case TRAFFIC_WAKE:
        t->ports[e->arg].wake_queued = false;
        serve(t, e->arg);
        break;
    case TRAFFIC_READY:
        fab_traffic_flow_ready(t, e->arg);
        break;
    case TRAFFIC_SL:
        fab_traffic_release_sl(t, e->arg / FAB_SLS, (uint8_t)(e->arg % FAB_SLS));
        break;
    case TRAFFIC_NOTIFY:
        fab_traffic_queue_becn(t, e->arg);
        break;
    }
}

static void check_for_cycle(struct fab_traffic *t)
{
    t->checked = t->now;
    t->status = fab_traffic_find_cycle(t);
}

int fab_traffic_run(struct fab_traffic *t, uint64_t until)
{
    struct traffic_event e;
    while (t->status == FAB_OK && fab_traffic_events_take(&t->events, until, &e)) {
        t->now = e.time;
        t->totals.events++;
        handle(t, &e);
        if (t->now - t->checked >= CHECK_EVERY && t->status == FAB_OK)
            check_for_cycle(t);
    }
    if (t->status == FAB_OK && t->events.count == 0)
        check_for_cycle(t);
    if (t->status == FAB_OK && until != FAB_TRAFFIC_FOREVER && until > t->now)
        t->now = until;
    return t->status;
}

/* ---- results --------------------------------------------------------------------------------- */

uint64_t fab_traffic_now(const struct fab_traffic *t)
{
    return t->now;
}

bool fab_traffic_idle(const struct fab_traffic *t)
{
    return t->events.count == 0;
}

const uint32_t *fab_traffic_cycle(const struct fab_traffic *t, uint32_t *ret_count)
{
    *ret_count = t->cycle_count;
    return t->cycle;
}

void fab_traffic_flow_stats(const struct fab_traffic *t, uint32_t flow,
                            struct fab_traffic_flow_stats *ret)
{
    *ret = t->flows[flow].stats;
}

struct fab_traffic_totals fab_traffic_totals(const struct fab_traffic *t)
{
    return t->totals;
}
