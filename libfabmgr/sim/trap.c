/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traps of devices (IBA 14.2.5.1): 128 when a port of a switch changes state, 129 and 130 when the
 * errors of a link exceed a threshold, 144 when the capabilities of a port change, and 256 for a
 * wrong M_Key. fab_sim_trap can cause the same traps, and also 131 (flow control), 145 (system
 * image GUID) and 257-259 (P_Key and Q_Key violations). Traps are routed by LID to the master SM
 * that PortInfo names, and can be lost like any MAD.
 *
 * A device repeats a trap every trap_us until the SM represses it. A sending port stores one notice
 * for each trap number; a newer notice replaces the stored one.
 */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

enum { URGENT = 1, SECURITY = 2, INFORMATIONAL = 4 };
/* maximum number of hops of the return path that a notice of trap 256 can show */
#define ROUTE_SHOWN 30

/* ---- sending --------------------------------------------------------------------------------- */

static void send_notice(struct fab_sim *s, uint32_t port, const struct fab_notice *notice)
{
    const struct fab_port_info *info = &s->ports[port].info;
    struct position at = {.node = fab_fabric_port(s->fabric, port)->node,
                          .port = fab_fabric_port(s->fabric, port)->num};
    struct fab_mad header = {
        .mgmt_class = FAB_CLASS_SMP_LID,
        .method = FAB_METHOD_TRAP,
        .tid = ++s->trap_tid,
        .attr_id = FAB_ATTR_NOTICE,
        .m_key = info->m_key,
    };
    uint8_t data[FAB_SMP_DATA], bytes[FAB_MAD_SIZE];
    uint16_t lid = info->lid, sm_lid = info->sm_lid;
    if (is_lost(s) || !fab_sim_forward_lid(s, sm_lid, FAB_STATE_INIT, &at))
        return;
    if (fab_wire_attr_pack(&fab_wire_attr_notice, notice, data, sizeof data) == FAB_OK &&
        fab_wire_smp_pack(&header, data, bytes) == FAB_OK)
        fab_sim_deliver_to_manager(s, at, lid, sm_lid, bytes);
}

/* Returns true if the port can send traps: the port has a LID and knows the LID of the SM, and the
 * node has power and responds. */
static bool can_send_traps(const struct fab_sim *s, uint32_t port)
{
    const struct fab_port_info *info = &s->ports[port].info;
    const struct sim_node *node = &s->nodes[fab_fabric_port(s->fabric, port)->node];
    return info->lid != 0 && info->sm_lid != 0 && !node->silent && !node->powered_off;
}

static struct sim_notice *notice_at(const struct fab_sim *s, size_t i)
{
    return (struct sim_notice *)s->notices.items + i;
}

static uint64_t notice_key(uint32_t port, uint16_t trap)
{
    return (uint64_t)port << 16 | trap;
}

/* Sends a trap, and queues its repetition unless timing.trap_us is 0. If there is no memory, the
 * trap is sent only once. `port` is the id of the port that sends the trap, with its LID as the
 * source. */
static void raise_notice(struct fab_sim *s, uint32_t port, const struct fab_notice *notice)
{
    uint64_t key = notice_key(port, notice->trap);
    uint32_t i;
    if (fab_base_map_get(&s->notices.index, key, &i) ||
        fab_sim_items_add(&s->notices, sizeof(struct sim_notice), key, &i) == FAB_OK) {
        struct sim_notice *n = notice_at(s, i);
        n->port = port;
        n->active = true;
        n->notice = *notice;
        if (!n->repeat_queued && s->timing.trap_us > 0) {
            n->repeat_queued = true;
            fab_sim_schedule(s, s->timing.trap_us, EVENT_NOTICE, i, 0, 0);
        }
    }
    send_notice(s, port, notice);
}

void fab_sim_trap_resend(struct fab_sim *s, uint32_t notice)
{
    struct sim_notice *n = notice_at(s, notice);
    n->repeat_queued = n->active && s->timing.trap_us > 0;
    if (!n->repeat_queued)
        return;
    fab_sim_schedule(s, s->timing.trap_us, EVENT_NOTICE, notice, 0, 0);
    if (can_send_traps(s, n->port))
        send_notice(s, n->port, &n->notice);
}

uint32_t fab_sim_repeat_traps(struct fab_sim *s)
{
    uint32_t count = 0;
    for (size_t i = 0; i < s->notices.count; i++) {
        const struct sim_notice *n = notice_at(s, i);
        if (!n->active || !can_send_traps(s, n->port))
            continue;
        send_notice(s, n->port, &n->notice);
        count++;
    }
    return count;
}

void fab_sim_trap_repressed(struct fab_sim *s, struct position at, const uint8_t *mad)
{
    struct fab_notice notice;
    if (fab_wire_attr_unpack(&fab_wire_attr_notice, mad + SMP_DATA, FAB_SMP_DATA, &notice) !=
        FAB_OK)
        return;
    struct sim_notice *n =
        fab_sim_items_find(&s->notices, sizeof *n, notice_key(lid_port(s, at), notice.trap));
    if (n != NULL)
        n->active = false;
}

void fab_sim_trap_forget(struct fab_sim *s, uint32_t node)
{
    for (size_t i = 0; i < s->notices.count; i++)
        if (fab_fabric_port(s->fabric, notice_at(s, i)->port)->node == node)
            notice_at(s, i)->active = false;
}

bool fab_sim_trap_pending(const struct fab_sim *s, uint32_t node, struct fab_notice *ret)
{
    for (size_t i = 0; i < s->notices.count; i++) {
        const struct sim_notice *n = notice_at(s, i);
        if (n->active && fab_fabric_port(s->fabric, n->port)->node == node) {
            *ret = n->notice;
            return true;
        }
    }
    return false;
}

/* ---- contents -------------------------------------------------------------------------------- */

static struct fab_notice notice_of(const struct fab_sim *s, uint32_t sender, uint16_t trap,
                                   uint8_t type)
{
    struct fab_notice notice = {
        .generic = 1,
        .type = type,
        .producer_type = s->fabric->nodes[fab_fabric_port(s->fabric, sender)->node].type,
        .trap = trap,
        .issuer_lid = s->ports[sender].info.lid,
    };
    fab_base_put_be16(notice.details + (trap == 128 ? 0 : 2), notice.issuer_lid);
    return notice;
}

void fab_sim_trap_port_state(struct fab_sim *s, uint32_t sw)
{
    uint32_t own = port_id(s, sw, 0);
    if (!can_send_traps(s, own))
        return;
    struct fab_notice notice = notice_of(s, own, 128, URGENT);
    raise_notice(s, own, &notice);
}

/* Sends trap 144, if the port can send traps. In DataDetails, the LID is at byte 2 and the new
 * CapabilityMask at byte 6. */
void fab_sim_trap_capability(struct fab_sim *s, uint32_t port)
{
    if (!can_send_traps(s, port))
        return;
    struct fab_notice notice = notice_of(s, port, 144, INFORMATIONAL);
    fab_base_put_be32(notice.details + 6, s->ports[port].info.cap_mask);
    raise_notice(s, port, &notice);
}

/* Sends trap 256, if the port can send traps. DataDetails (IBA 14.2.5.1) have the requester's LID
 * at byte 2, DrSLID at 4, the method at 6, the attribute at 8, its modifier at 10, the M_Key at 14,
 * the length of the return path at 23 (bit 7: directed route; bit 6: truncated), and the return
 * path from 24 on. */
void fab_sim_trap_bad_key(struct fab_sim *s, struct position at, uint16_t slid,
                          const struct fab_mad *mad, const uint8_t *bytes)
{
    uint32_t port = lid_port(s, at);
    if (!can_send_traps(s, port))
        return;
    struct fab_notice notice = notice_of(s, port, 256, SECURITY);
    uint8_t *d = notice.details;
    uint8_t hops = mad->path.hops < ROUTE_SHOWN ? mad->path.hops : ROUTE_SHOWN;
    fab_base_put_be16(d + 2, mad->directed ? FAB_LID_PERMISSIVE : slid);
    d[6] = mad->method;
    fab_base_put_be16(d + 8, mad->attr_id);
    fab_base_put_be32(d + 10, mad->attr_mod);
    fab_base_put_be64(d + 14, mad->m_key);
    if (mad->directed) {
        fab_base_put_be16(d + 4, mad->dr_slid);
        d[23] = (uint8_t)(0x80 | (mad->path.hops > ROUTE_SHOWN ? 0x40 : 0) | hops);
        memcpy(d + 24, bytes + SMP_RETURN_PATH + 1, hops);
    }
    raise_notice(s, port, &notice);
}

/* Fills the DataDetails of traps 257, 258 and 259: the source LID of the packet at byte 2, the
 * destination LID at 4, then the key. Traps 257 and 258 also have the queue pairs. Trap 259 has the
 * LID and port of the switch that detected the violation, and flags that mark the valid fields.
 * Also increments P_KeyViolations or Q_KeyViolations of the port. */
static void describe_key_violation(struct fab_sim *s, uint32_t port, uint16_t trap,
                                   struct fab_notice *n)
{
    uint32_t far = fab_fabric_port(s->fabric, port)->peer;
    uint8_t *d = n->details;
    uint16_t *count =
        trap == 258 ? &s->ports[port].info.q_key_violations : &s->ports[port].info.p_key_violations;
    *count = (uint16_t)(*count + (*count < UINT16_MAX));
    fab_base_put_be16(d + 2, far != FAB_NONE ? s->ports[far].info.lid : n->issuer_lid);
    fab_base_put_be16(d + 4, n->issuer_lid);
    if (trap == 259) {
        /* flags: the source LID, destination LID, P_Key, and the LID and port of the switch are
         * valid */
        fab_base_put_be16(d, 0x8000 | 0x4000 | 0x2000 | 0x0003);
        fab_base_put_be16(d + 6, 0x7ffe);
        fab_base_put_be16(d + 48, n->issuer_lid);
        d[50] = fab_fabric_port(s->fabric, port)->num;
    } else {
        fab_base_put_be32(d + 6, trap == 257 ? 0x7ffe : 0x80010000);
        fab_base_put_be32(d + 10, 1); /* the numbers of the two queue pairs */
        fab_base_put_be32(d + 14, 1);
    }
}

static int describe(struct fab_sim *s, uint32_t port, struct fab_notice *n)
{
    const struct fab_port *p = fab_fabric_port(s->fabric, port);
    switch (n->trap) {
    case 128:
        return FAB_OK;
    case 129:
    case 130:
    case 131:
        n->details[4] = p->num;
        return FAB_OK;
    case 144:
        fab_base_put_be32(n->details + 6, s->ports[port].info.cap_mask);
        return FAB_OK;
    case 145:
        fab_base_put_be64(n->details + 6, s->fabric->nodes[p->node].info.system_guid);
        return FAB_OK;
    case 256:
        n->details[6] = FAB_METHOD_SET;
        fab_base_put_be16(n->details + 8, FAB_ATTR_PORT_INFO);
        return FAB_OK;
    case 257:
    case 258:
    case 259:
        describe_key_violation(s, port, n->trap, n);
        return FAB_OK;
    default:
        return FAB_E_INVAL;
    }
}

/* Queues an event for the trap that the device must send because this counter rose; most counters
 * cause no trap. The function must not send the trap itself: it may be called while the simulator
 * moves a MAD over a noisy link. This MAD may itself be such a trap, so the calls could recurse
 * without end. */
void fab_sim_trap_errors(struct fab_sim *s, uint32_t port, uint32_t counter)
{
    if (counter == FAB_SIM_LOCAL_LINK_INTEGRITY_ERRORS)
        fab_sim_schedule(s, 0, EVENT_TRAP, port, 129, 0);
    else if (counter == FAB_SIM_EXCESSIVE_BUFFER_OVERRUN_ERRORS)
        fab_sim_schedule(s, 0, EVENT_TRAP, port, 130, 0);
}

static uint8_t type_of(uint16_t trap)
{
    return trap <= 131 ? URGENT : trap < 256 ? INFORMATIONAL : SECURITY;
}

int fab_sim_trap(struct fab_sim *s, uint32_t node, uint8_t port, uint16_t trap)
{
    if (!has_port(s, node, port))
        return FAB_E_NOT_FOUND;
    uint32_t at = port_id(s, node, port), sender = is_switch(s, node) ? port_id(s, node, 0) : at;
    struct fab_notice notice = notice_of(s, sender, trap, type_of(trap));
    int status = describe(s, at, &notice);
    if (status == FAB_OK && can_send_traps(s, sender))
        raise_notice(s, sender, &notice);
    return status;
}
