/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the initial state: ports, channels with all their credits, queues and endports. No packet
 * is in flight. */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/traffic/model.h"

/* rate in Mb/s of ports whose rate is unknown (4x EDR) */
#define RATE_UNKNOWN 100000
/* minimum buffer space of a channel, as a number of packets of the maximum size */
#define PACKETS_LEAST 4
/* delay of one metre of cable, in ps */
#define METRE_PS 5000

/* Returns the time in ps that it takes to send 64 KiB at `mbps` Mb/s. */
static uint64_t pace_of(uint32_t mbps)
{
    return (UINT64_C(65536) * 8 * 1000000 + mbps / 2) / mbps;
}

static uint32_t rate_of(const struct fab_fabric *f, uint32_t port)
{
    uint32_t a = fab_wire_link_rate(&fab_fabric_port(f, port)->info);
    uint32_t b = fab_wire_link_rate(&fab_fabric_port(f, fab_fabric_port(f, port)->peer)->info);
    uint32_t least = a != 0 && (b == 0 || a < b) ? a : b;
    return least != 0 ? least : RATE_UNKNOWN;
}

static uint32_t room_of_channel(const struct fab_traffic *t)
{
    uint32_t room = t->in.buffer / t->vl_count,
             least = PACKETS_LEAST * (t->mtu + FAB_TRAFFIC_HEADER_BYTES);
    return traffic_blocks(room > least ? room : least);
}

/* ---- ports and channels ---------------------------------------------------------------------- */

static void build_marks(struct fab_traffic *t, uint32_t port)
{
    const struct fab_congestion *c = t->in.congestion;
    const struct fab_congestion_port *set =
        c != NULL ? fab_congestion_of_switch(c, t->in.fabric, port) : NULL;
    struct traffic_port *p = &t->ports[port];
    p->limit = UINT32_MAX;
    if (set == NULL || set->threshold == 0)
        return;
    uint32_t weight = set->threshold < 15 ? set->threshold : 15;
    p->limit = room_of_channel(t) * TRAFFIC_BLOCK / 16 * (16 - weight);
    p->rate = set->marking_rate;
    p->least = (uint16_t)(set->packet_size * TRAFFIC_BLOCK);
    p->victim = set->victim;
}

static void build_channels(struct fab_traffic *t, uint32_t port)
{
    const struct traffic_port *p = &t->ports[port];
    for (uint8_t vl = 0; vl < t->vl_count; vl++) {
        struct traffic_channel *channel = &t->channels[traffic_channel_id(t, port, vl)];
        channel->credits = channel->capacity = room_of_channel(t);
        channel->fifos = (uint32_t)t->fifo_count;
        t->fifo_count += p->inputs;
    }
}

static void build_port(struct fab_traffic *t, uint32_t port)
{
    const struct fab_fabric *f = t->in.fabric;
    struct traffic_port *p = &t->ports[port];
    uint32_t node = fab_fabric_port(f, port)->node,
             metres = t->in.cable_m ? t->in.cable_m[port] : 0;
    *p = (struct traffic_port){.peer = TRAFFIC_NONE, .endport = TRAFFIC_NONE};
    if (!fab_fabric_port_is_up(f, port))
        return;
    p->peer = fab_fabric_port(f, port)->peer;
    p->ps = pace_of(rate_of(f, port));
    p->cable = metres > 0 ? (uint64_t)metres * METRE_PS : (uint64_t)t->in.cable_ns * 1000;
    p->to_endport = !fab_fabric_node_is_switch(f, fab_fabric_port(f, p->peer)->node);
    p->switch_delay = (uint64_t)t->in.switch_ns * 1000;
    if (t->in.arbitration != NULL)
        p->high_left = (int64_t)t->in.arbitration->high_limit * 4096 + 1;
    if (fab_fabric_node_is_switch(f, node)) {
        p->inputs = f->nodes[node].num_ports;
        build_marks(t, port);
    } else {
        p->endport = t->endport_count++;
    }
    build_channels(t, port);
}

static void build_endport(struct fab_traffic *t, uint32_t port)
{
    struct traffic_endport *e = &t->endports[t->ports[port].endport];
    *e = (struct traffic_endport){.port = port,
                                  .becns = {TRAFFIC_NONE, TRAFFIC_NONE},
                                  .phase = fab_base_prng_below(&t->prng, 64 * FAB_TRAFFIC_US)};
    if (t->in.congestion != NULL)
        e->congestion = fab_congestion_of_adapter(t->in.congestion, t->in.fabric, port);
}

int fab_traffic_build(struct fab_traffic *t)
{
    uint32_t ports = t->in.fabric->port_count;
    t->ports = fab_base_arena_alloc(&t->arena, ports, sizeof *t->ports);
    t->channels = fab_base_arena_alloc(&t->arena, ports + 1, t->vl_count * sizeof *t->channels);
    if (t->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; port < ports; port++)
        build_port(t, port);
    t->fifos = fab_base_arena_alloc(&t->arena, t->fifo_count, sizeof *t->fifos);
    t->endports = fab_base_arena_alloc(&t->arena, t->endport_count, sizeof *t->endports);
    if (t->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t port = 0; port < ports; port++)
        if (t->ports[port].endport != TRAFFIC_NONE)
            build_endport(t, port);
    return FAB_OK;
}

/* ---- flows ----------------------------------------------------------------------------------- */

static uint32_t lid_of(const struct fab_traffic *t, uint32_t port, uint32_t offset)
{
    const struct fab_lids *lids = t->in.lids;
    return lids->base[port] != 0 && offset >> lids->lmc[port] == 0 ? lids->base[port] + offset : 0;
}

static int check_flow(const struct fab_traffic *t, const struct fab_traffic_flow *flow)
{
    uint32_t ports = t->in.fabric->port_count;
    if (flow->from >= ports || flow->to >= ports || flow->from == flow->to ||
        t->ports[flow->from].endport == TRAFFIC_NONE ||
        t->ports[flow->to].endport == TRAFFIC_NONE || flow->bytes == 0)
        return FAB_E_INVAL;
    if (flow->sl >= FAB_SLS && flow->sl != FAB_TRAFFIC_PATH_SL)
        return FAB_E_RANGE;
    if (lid_of(t, flow->from, 0) == 0 || lid_of(t, flow->to, flow->offset) == 0)
        return FAB_E_NOT_FOUND;
    return FAB_OK;
}

static void build_flow(struct fab_traffic *t, uint32_t index, const struct fab_traffic_flow *from)
{
    const struct fab_fabric *f = t->in.fabric;
    struct traffic_flow *x = &t->flows[index];
    bool path = from->sl == FAB_TRAFFIC_PATH_SL;
    *x = (struct traffic_flow){
        .endport = t->ports[from->from].endport,
        .to_endport = t->ports[from->to].endport,
        .slid = lid_of(t, from->from, 0),
        .dlid = lid_of(t, from->to, from->offset),
        .open = true,
        .left = from->bytes,
        .stop = from->end,
        .pace = from->rate > 0 ? pace_of(from->rate) : 0,
    };
    x->sl = path ? fab_target_sl(f, t->in.lids, t->vls, from->from, x->dlid) : from->sl;
    x->back_sl = path ? fab_target_sl(f, t->in.lids, t->vls, from->to, x->slid) : from->sl;
    x->throttle = t->in.by_sl ? x->endport * FAB_SLS + x->sl : index;
    x->stats.done = FAB_TRAFFIC_FOREVER;
    fab_traffic_schedule(t, from->start, TRAFFIC_READY, index, 0);
}

int fab_traffic_build_flows(struct fab_traffic *t, const struct fab_traffic_flow *flows,
                            uint32_t count)
{
    size_t throttles = t->in.by_sl ? (size_t)t->endport_count * FAB_SLS : count;
    t->flows = fab_base_arena_alloc(&t->arena, count, sizeof *t->flows);
    t->throttles = fab_base_arena_alloc(&t->arena, throttles + 1, sizeof *t->throttles);
    if (t->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        int status = check_flow(t, &flows[i]);
        if (status != FAB_OK)
            return status;
        build_flow(t, i, &flows[i]);
    }
    t->flow_count = count;
    return t->status;
}
