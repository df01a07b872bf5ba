/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated fabric. It moves a MAD from the sending port to its destination, and the answer
 * back. A request takes effect when it is sent or, if an impairment delays the request, at the end
 * of this delay. The answer comes at once or, if delays are configured, later through the outbox.
 *
 * The topology is the caller's snapshot, to which the simulation holds a reference. Everything that
 * changes (port states, tables) is in the simulation. The contents of MADs are untrusted.
 * libfabmgr/wire checks the fields when it unpacks a MAD. The simulator accepts an index only if
 * the device has that port or block, and a table grows only up to the capacity of the device.
 *
 *   forward.c, multicast.c         how MADs travel
 *   smp.c, port_info.c, tables.c   answers of the subnet management agent
 *   gsi.c, perf.c, counters.c, samples.c, congestion.c
 *                                  general services: counters, congestion control
 *   inventory.c                    what devices and modules say about themselves
 *   traffic.c                      background traffic
 *   trap.c                         traps
 *   link.c, rate.c                 link states, width and speed
 *   node.c                         faults of nodes
 *   time.c, queue.c                time and the event queue
 *   items.c                        growing arrays of items with keys
 *   outbox.c                       MADs for managers
 *
 * The simulator moves no data packets and has no virtual lanes. Background traffic exists only as
 * rates, from which the counters of ports are computed.
 */
#include "libfabmgr/sim/sim.h"

#include <stdlib.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

/* initial value of trap_us, in us: a device sends a trap again about once a second */
#define TRAP_US 1000000

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
    fab_base_prng_init(&s->prng, seed);
    s->unimpaired = true;
    s->timing.trap_us = TRAP_US;
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
    fab_sim_items_fini(&s->blocks);
    fab_sim_items_fini(&s->notices);
    fab_sim_items_fini(&s->counters);
    fab_sim_items_fini(&s->details);
    fab_sim_items_fini(&s->samplers);
    free(s->rates);
    fab_sim_traffic_fini(s);
    fab_sim_items_fini(&s->cc_logs);
    fab_sim_queue_fini(&s->queue);
    free(s->outbox.mails);
    free(s->nodes);
    free(s->switches);
    free(s->ports);
    fab_fabric_unref(s->fabric);
    free(s);
}

/* ---- one MAD --------------------------------------------------------------------------------- */

static bool is_smp(const struct fab_mad *mad)
{
    return mad->mgmt_class == FAB_CLASS_SMP_LID || mad->mgmt_class == FAB_CLASS_SMP_DIRECTED;
}

/* Returns the lowest link state in which a link carries this MAD. */
static uint8_t least_state(const struct fab_mad *mad)
{
    return is_smp(mad) ? FAB_STATE_INIT : FAB_STATE_ACTIVE;
}

static bool forward(struct fab_sim *s, const struct fab_mad *mad, uint16_t dlid, uint8_t *bytes,
                    struct position *at, uint16_t *slid)
{
    if (!mad->directed)
        return fab_sim_forward_lid(s, dlid, least_state(mad), at);
    if (mad->returning)
        return fab_sim_return_directed(s, mad, dlid, bytes, at);
    return fab_sim_forward_directed(s, mad, dlid, bytes, at, slid);
}

/* Returns true if an agent of the device handles the MAD; false: the MAD is for a manager that is
 * attached to the device. */
static bool for_agent(const struct fab_sim *s, struct position at, const struct fab_mad *mad)
{
    if (!is_smp(mad))
        return fab_sim_gsi_serves(s, at, mad);
    return !(mad->method & FAB_METHOD_RESPONSE) && mad->attr_id != FAB_ATTR_SM_INFO &&
           mad->method != FAB_METHOD_TRAP;
}

/* Moves the answer back to the port that sent the request. Returns true if the answer arrives
 * there. */
static bool move_answer(struct fab_sim *s, const struct fab_mad *mad, uint16_t slid, uint8_t *bytes,
                        struct position *at, struct position origin)
{
    if (is_lost(s))
        return false;
    bool arrived = mad->directed ? fab_sim_return_directed(s, mad, slid, bytes, at)
                                 : fab_sim_forward_lid(s, slid, least_state(mad), at);
    return arrived && lid_port(s, *at) == lid_port(s, origin);
}

/* Returns the random delay of a MAD in one direction, in us; 0: the MAD is not delayed. */
static uint64_t impairment_delay(struct fab_sim *s)
{
    if (s->unimpaired || !chance(s, s->impairments.delay))
        return 0;
    return s->impairments.delay_us +
           fab_base_prng_below(&s->prng, (uint64_t)s->impairments.spread_us + 1);
}

/* Returns the time in us from now until the node's answer is ready. `arrives`: time at which the
 * request arrives. An agent handles one MAD after the other, so the answer is late if the agent is
 * busy. */
static uint64_t answer_time(struct fab_sim *s, uint32_t node, uint64_t arrives)
{
    struct sim_node *n = &s->nodes[node];
    uint64_t begins = n->busy_until > arrives ? n->busy_until : arrives;
    if (s->timing.answer_us > 0)
        n->busy_until = begins + s->timing.answer_us;
    uint64_t ready = begins + s->timing.answer_us - s->now;
    if (n->abnormal && n->late_us + n->spread_us > 0)
        ready += n->late_us + fab_base_prng_below(&s->prng, (uint64_t)n->spread_us + 1);
    return ready;
}

/* Passes a request to the device that answers it. The device executes the request now, even if its
 * answer is delayed. Returns 1 if the answer is in bytes[]; returns 0 if the answer comes later or
 * never. */
static int answer(struct fab_sim *s, const struct fab_mad *mad, struct position at,
                  struct position origin, uint16_t slid, uint16_t dlid, uint8_t bytes[FAB_MAD_SIZE])
{
    struct position back = {.node = at.node, .port = at.port};
    if (is_smp(mad) && mad->method == FAB_METHOD_TRAP_REPRESS) {
        if (fab_sim_sma_key_fits(s, at, slid, mad, bytes))
            fab_sim_trap_repressed(s, at, bytes);
        return 0;
    }
    if (s->nodes[at.node].silent || !(is_smp(mad) ? fab_sim_sma_answer(s, at, slid, mad, bytes)
                                                  : fab_sim_gsi_answer(s, at, mad, bytes)))
        return 0;
    if (s->nodes[at.node].abnormal && is_smp(mad))
        fab_sim_node_corrupt(s, at.node, mad->attr_id, bytes);
    if (!move_answer(s, mad, slid, bytes, &back, origin))
        return 0;
    uint64_t travel_us = (uint64_t)at.hops * s->timing.hop_us;
    uint64_t wait = answer_time(s, at.node, s->now + travel_us) +
                    (uint64_t)back.hops * s->timing.hop_us + impairment_delay(s);
    if (wait == 0)
        return 1;
    fab_sim_queue_mad(s, wait, EVENT_ARRIVE, origin, dlid, slid, bytes);
    return 0;
}

/* Returns true if a MAD follows a directed route all the way, without a part by LID. The source LID
 * of such a MAD is permissive (IBA 14.2.2.1). */
static bool is_pure_directed(const struct fab_mad *mad)
{
    return mad->directed && mad->dr_slid == FAB_LID_PERMISSIVE &&
           mad->dr_dlid == FAB_LID_PERMISSIVE;
}

static int travel(struct fab_sim *s, struct position origin, uint16_t dlid,
                  const struct fab_mad *mad, uint8_t bytes[FAB_MAD_SIZE])
{
    struct position at = origin;
    uint16_t slid = s->ports[lid_port(s, origin)].info.lid;
    if (!is_smp(mad) && dlid >= LID_MULTICAST && dlid != FAB_LID_PERMISSIVE) {
        fab_sim_multicast(s, at, slid, dlid, bytes);
        return 0;
    }
    if (!forward(s, mad, dlid, bytes, &at, &slid))
        return 0;
    if (for_agent(s, at, mad))
        return answer(s, mad, at, origin, slid, dlid, bytes);
    fab_sim_deliver_to_manager(s, at, is_pure_directed(mad) ? FAB_LID_PERMISSIVE : slid, dlid,
                               bytes);
    return 0;
}

/* Applies the configured impairments (loss, duplicates, delays) to a MAD that a port sends. Returns
 * false if the MAD is lost, or if it is queued to be sent later. */
static bool impair_request(struct fab_sim *s, struct position origin, uint16_t dlid,
                           const uint8_t *mad)
{
    if (s->unimpaired)
        return true;
    if (chance(s, s->impairments.loss))
        return false;
    if (chance(s, s->impairments.duplicate))
        fab_sim_queue_mad(s, impairment_delay(s), EVENT_SEND, origin, 0, dlid, mad);
    uint64_t wait = impairment_delay(s);
    if (wait > 0)
        fab_sim_queue_mad(s, wait, EVENT_SEND, origin, 0, dlid, mad);
    return wait == 0;
}

int fab_sim_send(struct fab_sim *s, uint32_t node, uint8_t port, uint16_t dlid,
                 const uint8_t mad[FAB_MAD_SIZE], uint8_t reply[FAB_MAD_SIZE])
{
    struct position origin = {.node = node, .port = port};
    struct fab_mad header;
    const uint8_t *data;
    size_t data_len;
    int status = fab_wire_mad_unpack(mad, FAB_MAD_SIZE, &header, &data, &data_len);
    if (status != FAB_OK)
        return status;
    if (!has_port(s, node, port))
        return FAB_E_INVAL;
    s->in_flight = false;
    if (s->nodes[node].powered_off || !impair_request(s, origin, dlid, mad))
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
    return s->in_flight;
}

void fab_sim_send_delayed(struct fab_sim *s, const struct fab_sim_delivery *pending_mad)
{
    struct position origin = {.node = pending_mad->node, .port = pending_mad->port};
    uint8_t bytes[FAB_MAD_SIZE];
    struct fab_mad header;
    const uint8_t *data;
    size_t data_len;
    if (s->nodes[pending_mad->node].powered_off ||
        fab_wire_mad_unpack(pending_mad->mad, FAB_MAD_SIZE, &header, &data, &data_len) != FAB_OK)
        return;
    memcpy(bytes, pending_mad->mad, FAB_MAD_SIZE);
    if (travel(s, origin, pending_mad->dlid, &header, bytes) == 1)
        fab_sim_outbox_put(s, origin, pending_mad->dlid, s->ports[lid_port(s, origin)].info.lid,
                           bytes);
}

/* ---- queries --------------------------------------------------------------------------------- */

int fab_sim_find(const struct fab_sim *s, const char *what, uint32_t *ret_node)
{
    char *end;
    unsigned long long guid = strtoull(what, &end, 16);
    if (*what != '\0' && *end == '\0') {
        uint32_t node = fab_fabric_node_by_guid(s->fabric, guid);
        uint32_t port = fab_fabric_port_by_guid(s->fabric, guid);
        if (node == FAB_NONE && port != FAB_NONE)
            node = fab_fabric_port(s->fabric, port)->node;
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
