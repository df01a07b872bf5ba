/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated fabric: one MAD at a time from a port to wherever it goes, and the answer back.
 *
 * The cabling is the snapshot it was given, which it holds a reference to; what changes (port
 * states, tables) is its own. Everything a sender writes is hostile: it is unpacked with checks
 * (wire), indexes are bounded by the device's own numbers, and tables grow only within the
 * capacities of the devices.
 *
 *   move.c   how MADs travel        smp.c, port_info.c, tables.c   what devices answer
 *   link.c   cables and states      trap.c                         what they send of themselves
 *
 * Not simulated: directed routes with a LID-routed part, performance counters, virtual lanes.
 */
#include "libfabmgr/sim/sim.h"

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

#define OUTBOX_MAX 65536 /* mails; what comes on top is lost */

static void start_switches(struct fab_sim *s)
{
    for (uint32_t sw = 0; sw < s->fabric->switch_count; sw++) {
        struct fab_switch_info *info = &s->switches[sw].info;
        *info = s->fabric->switches[sw];
        info->linear_fdb_top = 0;
        info->multicast_fdb_top = 0;
        info->port_state_change = 0;
    }
}

int fab_sim_new(const struct fab_fabric *fabric, uint64_t seed, struct fab_sim **ret)
{
    struct fab_sim *s = calloc(1, sizeof *s);
    if (s == NULL)
        return FAB_E_NOMEM;
    s->fabric = fab_fabric_ref(fabric);
    s->ports = calloc(fabric->port_count + 1u, sizeof *s->ports);
    s->switches = calloc(fabric->switch_count + 1u, sizeof *s->switches);
    s->silent = fab_bits_new(fabric->node_count);
    if (s->ports == NULL || s->switches == NULL || s->silent == NULL) {
        fab_sim_free(s);
        return FAB_E_NOMEM;
    }
    fab_prng_init(&s->prng, seed);
    start_switches(s);
    link_start(s);
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
    free(s->blocks.bytes);
    free(s->outbox.mails);
    free(s->silent);
    free(s->switches);
    free(s->ports);
    fab_fabric_unref(s->fabric);
    free(s);
}

/* ---- managers and the outbox ------------------------------------------------------------------
 */

static int outbox_room(struct sim_outbox *o)
{
    if (o->tail < o->capacity)
        return FAB_OK;
    if (o->head > 0) {
        memmove(o->mails, o->mails + o->head, (o->tail - o->head) * sizeof *o->mails);
        o->tail -= o->head;
        o->head = 0;
        return FAB_OK;
    }
    if (o->tail >= OUTBOX_MAX)
        return FAB_E_LIMIT;
    void *grown = fab_grow(o->mails, sizeof *o->mails, o->tail + 1, &o->capacity);
    if (grown == NULL)
        return FAB_E_NOMEM;
    o->mails = grown;
    return FAB_OK;
}

void mail(struct fab_sim *s, struct spot at, uint16_t slid, uint16_t dlid, const uint8_t *mad)
{
    uint8_t port = is_switch(s, at.node) ? 0 : at.port;
    if (!s->ports[port_id(s, at.node, port)].attached || outbox_room(&s->outbox) != FAB_OK)
        return;
    struct fab_sim_mail *m = &s->outbox.mails[s->outbox.tail++];
    *m = (struct fab_sim_mail){.node = at.node, .port = port, .slid = slid, .dlid = dlid};
    memcpy(m->mad, mad, FAB_MAD_SIZE);
}

bool fab_sim_outbox(struct fab_sim *s, struct fab_sim_mail *ret)
{
    struct sim_outbox *o = &s->outbox;
    if (o->head == o->tail)
        return false;
    *ret = o->mails[o->head++];
    if (o->head == o->tail)
        o->head = o->tail = 0;
    return true;
}

static bool has_port(const struct fab_sim *s, uint32_t node, uint8_t port)
{
    return node < s->fabric->node_count && port <= s->fabric->nodes[node].num_ports &&
           (port > 0 || is_switch(s, node));
}

static void set_is_sm(struct fab_sim *s, uint32_t port, bool is_sm)
{
    uint32_t *mask = &s->ports[port].info.cap_mask;
    uint32_t want = is_sm ? *mask | CAP_IS_SM : *mask & ~CAP_IS_SM;
    bool change = want != *mask;
    *mask = want;
    if (change)
        trap_capability(s, port);
}

int fab_sim_attach(struct fab_sim *s, uint32_t node, uint8_t port, bool is_sm)
{
    if (!has_port(s, node, port))
        return FAB_E_INVAL;
    uint32_t id = lid_port(s, (struct spot){.node = node, .port = port});
    s->ports[id].attached = true;
    set_is_sm(s, id, is_sm);
    return FAB_OK;
}

void fab_sim_detach(struct fab_sim *s, uint32_t node, uint8_t port)
{
    if (!has_port(s, node, port))
        return;
    uint32_t id = lid_port(s, (struct spot){.node = node, .port = port});
    s->ports[id].attached = false;
    set_is_sm(s, id, false);
}

/* ---- one MAD ----------------------------------------------------------------------------------
 */

static bool is_smp(const struct fab_mad *mad)
{
    return mad->mgmt_class == FAB_CLASS_SMP_LID || mad->mgmt_class == FAB_CLASS_SMP_DIRECTED;
}

static bool move(const struct fab_sim *s, const struct fab_mad *mad, uint16_t dlid, uint8_t *bytes,
                 struct spot *at)
{
    if (!mad->directed)
        return move_lid(s, dlid, is_smp(mad) ? FAB_STATE_INIT : FAB_STATE_ACTIVE, at);
    if (mad->dr_slid != FAB_LID_PERMISSIVE || mad->dr_dlid != FAB_LID_PERMISSIVE)
        return false;
    if (mad->returning)
        return move_back(s, bytes, mad->path.hops, at);
    return mad->hop_pointer == 0 && move_out(s, bytes, mad->path.hops, at);
}

/* Whether the device itself answers, and not a manager that sits at it. */
static bool for_agent(const struct fab_mad *mad)
{
    return is_smp(mad) && !(mad->method & FAB_METHOD_RESPONSE) &&
           mad->attr_id != FAB_ATTR_SM_INFO && mad->method != FAB_METHOD_TRAP;
}

static bool move_answer(struct fab_sim *s, const struct fab_mad *mad, uint16_t slid, uint8_t *bytes,
                        struct spot at, struct spot origin)
{
    if (lose(s))
        return false;
    bool arrived = mad->directed ? move_back(s, bytes, mad->path.hops, &at)
                                 : move_lid(s, slid, FAB_STATE_INIT, &at);
    return arrived && lid_port(s, at) == lid_port(s, origin);
}

int fab_sim_send(struct fab_sim *s, uint32_t node, uint8_t port, uint16_t dlid,
                 const uint8_t mad[FAB_MAD_SIZE], uint8_t reply[FAB_MAD_SIZE])
{
    struct spot origin = {.node = node, .port = port}, at = origin;
    struct fab_mad header;
    const uint8_t *data;
    size_t data_len;
    int status = fab_mad_unpack(mad, FAB_MAD_SIZE, &header, &data, &data_len);
    if (status != FAB_OK)
        return status;
    if (!has_port(s, node, port))
        return FAB_E_INVAL;
    uint16_t slid = s->ports[lid_port(s, origin)].info.lid;
    uint8_t bytes[FAB_MAD_SIZE];
    memcpy(bytes, mad, FAB_MAD_SIZE);
    if (lose(s) || !move(s, &header, dlid, bytes, &at))
        return 0;
    if (!for_agent(&header)) {
        mail(s, at, slid, dlid, bytes);
        return 0;
    }
    if (header.method == FAB_METHOD_TRAP_REPRESS)
        trap_repressed(s, at, bytes);
    if (header.method == FAB_METHOD_TRAP_REPRESS || fab_bits_get(s->silent, at.node) ||
        !agent_answer(s, at, &header, bytes) || !move_answer(s, &header, slid, bytes, at, origin))
        return 0;
    memcpy(reply, bytes, FAB_MAD_SIZE);
    return 1;
}

/* ---- faults and looking -----------------------------------------------------------------------
 */

int fab_sim_silence(struct fab_sim *s, uint32_t node, bool silent)
{
    if (node >= s->fabric->node_count)
        return FAB_E_NOT_FOUND;
    fab_bits_put(s->silent, node, silent);
    return FAB_OK;
}

void fab_sim_loss(struct fab_sim *s, double rate)
{
    s->loss = rate;
}

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
