/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated fabric: one MAD at a time from a port to wherever it goes, and the answer back.
 * What a MAD does happens when it is sent; its answer comes at once or, where anything takes time,
 * later and by the outbox.
 *
 * The cabling is the snapshot it was given, which it holds a reference to; what changes (port
 * states, tables) is its own. Everything a sender writes is hostile: it is unpacked with checks
 * (wire), indexes are bounded by the device's own numbers, and tables grow only within the
 * capacities of the devices.
 *
 *   forward.c, multicast.c           how MADs travel
 *   smp.c, port_info.c, tables.c   what devices answer
 *   gsi.c, perf.c, counters.c, samples.c, congestion.c
 *                                  their general services: counters, congestion control
 *   trap.c                         what they send of themselves
 *   link.c, rate.c                 cables, states, width and speed
 *   node.c                         faults of nodes
 *   time.c, queue.c                what is due when
 *   outbox.c                       what arrives for managers
 *
 * Not simulated: data traffic, virtual lanes.
 */
#include "libfabmgr/sim/sim.h"

#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

#define TRAP_US 1000000 /* devices repeat a trap about once a second */

int fab_sim_new(const struct fab_fabric *fabric, uint64_t seed, struct fab_sim **ret)
{
    struct fab_sim *s = calloc(1, sizeof *s);
    if (s == NULL)
        return FAB_E_NOMEM;
    s->fabric = fab_fabric_ref(fabric);
    s->ports = calloc(fabric->port_count + 1u, sizeof *s->ports);
    s->switches = calloc(fabric->switch_count + 1u, sizeof *s->switches);
    s->nodes = calloc(fabric->node_count + 1u, sizeof *s->nodes);
    s->queue.first_free = FAB_NONE;
    if (s->ports == NULL || s->switches == NULL || s->nodes == NULL) {
        fab_sim_free(s);
        return FAB_E_NOMEM;
    }
    fab_prng_init(&s->prng, seed);
    s->calm = true;
    s->pace.trap_us = TRAP_US;
    for (uint32_t sw = 0; sw < fabric->switch_count; sw++)
        fab_sim_switch_start(s, sw);
    fab_sim_links_start(s);
    *ret = s;
    return FAB_OK;
}

void fab_sim_free(struct fab_sim *s)
{
    if (s == NULL)
        return;
    for (uint32_t sw = 0; s->switches != NULL && sw < s->fabric->switch_count; sw++)
        free(s->switches[sw].lft);
    fab_map_fini(&s->blocks.index);
    free(s->blocks.items);
    fab_map_fini(&s->notices.index);
    free(s->notices.items);
    fab_map_fini(&s->counters.index);
    free(s->counters.items);
    fab_map_fini(&s->details.index);
    free(s->details.items);
    fab_map_fini(&s->samplers.index);
    free(s->samplers.items);
    free(s->rates);
    fab_map_fini(&s->cc_logs.index);
    free(s->cc_logs.items);
    fab_sim_queue_fini(&s->queue);
    free(s->outbox.mails);
    free(s->nodes);
    free(s->switches);
    free(s->ports);
    fab_fabric_unref(s->fabric);
    free(s);
}

/* ---- one MAD ----------------------------------------------------------------------------------
 */

static bool is_smp(const struct fab_mad *mad)
{
    return mad->mgmt_class == FAB_CLASS_SMP_LID || mad->mgmt_class == FAB_CLASS_SMP_DIRECTED;
}

/* Of links that carry it. */
static uint8_t least_state(const struct fab_mad *mad)
{
    return is_smp(mad) ? FAB_STATE_INIT : FAB_STATE_ACTIVE;
}

static bool move(struct fab_sim *s, const struct fab_mad *mad, uint16_t dlid, uint8_t *bytes,
                 struct spot *at, uint16_t *slid)
{
    if (!mad->directed)
        return fab_sim_forward_lid(s, dlid, least_state(mad), at);
    if (mad->returning)
        return fab_sim_return_directed(s, mad, dlid, bytes, at);
    return fab_sim_forward_directed(s, mad, dlid, bytes, at, slid);
}

/* Whether the device itself answers, and not a manager that sits at it. */
static bool for_agent(const struct fab_sim *s, struct spot at, const struct fab_mad *mad)
{
    if (!is_smp(mad))
        return fab_sim_gsi_serves(s, at, mad);
    return !(mad->method & FAB_METHOD_RESPONSE) && mad->attr_id != FAB_ATTR_SM_INFO &&
           mad->method != FAB_METHOD_TRAP;
}

/* The answer's way back. On success *at is where it was asked. */
static bool move_answer(struct fab_sim *s, const struct fab_mad *mad, uint16_t slid, uint8_t *bytes,
                        struct spot *at, struct spot origin)
{
    if (lose(s))
        return false;
    bool arrived = mad->directed ? fab_sim_return_directed(s, mad, slid, bytes, at)
                                 : fab_sim_forward_lid(s, slid, least_state(mad), at);
    return arrived && lid_port(s, *at) == lid_port(s, origin);
}

/* Delays by the weather, of one way. */
static uint64_t hold_up(struct fab_sim *s)
{
    if (s->calm || !chance(s, s->weather.delay))
        return 0;
    return s->weather.delay_us + fab_prng_below(&s->prng, (uint64_t)s->weather.spread_us + 1);
}

/* How long an agent takes that answers one MAD after the other, and then some. */
static uint64_t answer_time(struct fab_sim *s, uint32_t node, uint64_t arrives)
{
    struct sim_node *n = &s->nodes[node];
    uint64_t begins = n->busy_until > arrives ? n->busy_until : arrives;
    if (s->pace.answer_us > 0)
        n->busy_until = begins + s->pace.answer_us;
    uint64_t ready = begins + s->pace.answer_us - s->now;
    if (n->odd && n->late_us + n->spread_us > 0)
        ready += n->late_us + fab_prng_below(&s->prng, (uint64_t)n->spread_us + 1);
    return ready;
}

/* A request at the device that answers it: what it does happens now, its answer may take time.
 * cables: to it and back. 1: the answer is in bytes; 0: there is none, or it comes later. */
static int answer(struct fab_sim *s, const struct fab_mad *mad, struct spot at, struct spot origin,
                  uint16_t slid, uint16_t dlid, uint8_t bytes[FAB_MAD_SIZE])
{
    struct spot back = {.node = at.node, .port = at.port};
    if (is_smp(mad) && mad->method == FAB_METHOD_TRAP_REPRESS) {
        if (fab_sim_sma_key_fits(s, at, slid, mad, bytes))
            fab_sim_trap_repressed(s, at, bytes);
        return 0;
    }
    if (s->nodes[at.node].silent || !(is_smp(mad) ? fab_sim_sma_answer(s, at, slid, mad, bytes)
                                                  : fab_sim_gsi_answer(s, at, mad, bytes)))
        return 0;
    if (s->nodes[at.node].odd && is_smp(mad))
        fab_sim_node_corrupt(s, at.node, mad->attr_id, bytes);
    if (!move_answer(s, mad, slid, bytes, &back, origin))
        return 0;
    uint64_t way = (uint64_t)at.hops * s->pace.hop_us;
    uint64_t wait =
        answer_time(s, at.node, s->now + way) + (uint64_t)back.hops * s->pace.hop_us + hold_up(s);
    if (wait == 0)
        return 1;
    post(s, wait, EVENT_MAIL, origin, dlid, slid, bytes);
    return 0;
}

static int travel(struct fab_sim *s, struct spot origin, uint16_t dlid, const struct fab_mad *mad,
                  uint8_t bytes[FAB_MAD_SIZE])
{
    struct spot at = origin;
    uint16_t slid = s->ports[lid_port(s, origin)].info.lid;
    if (!is_smp(mad) && dlid >= LID_MULTICAST && dlid != FAB_LID_PERMISSIVE) {
        multicast(s, at, slid, dlid, bytes);
        return 0;
    }
    if (!move(s, mad, dlid, bytes, &at, &slid))
        return 0;
    if (for_agent(s, at, mad))
        return answer(s, mad, at, origin, slid, dlid, bytes);
    mail(s, at, slid, dlid, bytes);
    return 0;
}

/* What the weather does to a MAD that sets out. False: it is lost, or late. */
static bool set_out(struct fab_sim *s, struct spot origin, uint16_t dlid, const uint8_t *mad)
{
    if (s->calm)
        return true;
    if (chance(s, s->weather.loss))
        return false;
    if (chance(s, s->weather.duplicate))
        post(s, hold_up(s), EVENT_SEND, origin, 0, dlid, mad);
    uint64_t wait = hold_up(s);
    if (wait > 0)
        post(s, wait, EVENT_SEND, origin, 0, dlid, mad);
    return wait == 0;
}

int fab_sim_send(struct fab_sim *s, uint32_t node, uint8_t port, uint16_t dlid,
                 const uint8_t mad[FAB_MAD_SIZE], uint8_t reply[FAB_MAD_SIZE])
{
    struct spot origin = {.node = node, .port = port};
    struct fab_mad header;
    const uint8_t *data;
    size_t data_len;
    int status = fab_mad_unpack(mad, FAB_MAD_SIZE, &header, &data, &data_len);
    if (status != FAB_OK)
        return status;
    if (!has_port(s, node, port))
        return FAB_E_INVAL;
    s->under_way = false;
    if (s->nodes[node].dead || !set_out(s, origin, dlid, mad))
        return 0;
    uint8_t bytes[FAB_MAD_SIZE];
    memcpy(bytes, mad, FAB_MAD_SIZE);
    if (travel(s, origin, dlid, &header, bytes) != 1)
        return 0;
    memcpy(reply, bytes, FAB_MAD_SIZE);
    return 1;
}

bool fab_sim_in_flight(const struct fab_sim *s)
{
    return s->under_way;
}

void fab_sim_send_delayed(struct fab_sim *s, const struct fab_sim_delivery *parcel)
{
    struct spot origin = {.node = parcel->node, .port = parcel->port};
    uint8_t bytes[FAB_MAD_SIZE];
    struct fab_mad header;
    const uint8_t *data;
    size_t data_len;
    if (s->nodes[parcel->node].dead ||
        fab_mad_unpack(parcel->mad, FAB_MAD_SIZE, &header, &data, &data_len) != FAB_OK)
        return;
    memcpy(bytes, parcel->mad, FAB_MAD_SIZE);
    if (travel(s, origin, parcel->dlid, &header, bytes) == 1)
        mail_to(s, origin, parcel->dlid, s->ports[lid_port(s, origin)].info.lid, bytes);
}

/* ---- looking ----------------------------------------------------------------------------------
 */

int fab_sim_find(const struct fab_sim *s, const char *what, uint32_t *ret_node)
{
    char *end;
    unsigned long long guid = strtoull(what, &end, 16);
    if (*what != '\0' && *end == '\0') {
        uint32_t node = fab_fabric_node_by_guid(s->fabric, guid);
        uint32_t port = fab_fabric_port_by_guid(s->fabric, guid);
        if (node == FAB_NONE && port != FAB_NONE)
            node = s->fabric->ports[port].node;
        if (node != FAB_NONE) {
            *ret_node = node;
            return FAB_OK;
        }
    }
    for (uint32_t n = 0; n < s->fabric->node_count; n++) {
        if (strcmp(s->fabric->nodes[n].desc, what) == 0) {
            *ret_node = n;
            return FAB_OK;
        }
    }
    return FAB_E_NOT_FOUND;
}

const struct fab_fabric *fab_sim_fabric(const struct fab_sim *s)
{
    return s->fabric;
}

const uint8_t *fab_sim_lft(const struct fab_sim *s, uint32_t sw, uint32_t *ret_top)
{
    if (sw >= s->fabric->switch_count)
        return NULL;
    *ret_top = s->switches[sw].info.linear_fdb_top;
    return s->switches[sw].lft;
}

const struct fab_port_info *fab_sim_port(const struct fab_sim *s, uint32_t node, uint8_t port)
{
    if (node >= s->fabric->node_count || port > s->fabric->nodes[node].num_ports)
        return NULL;
    return &s->ports[port_id(s, node, port)].info;
}
