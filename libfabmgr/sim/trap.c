/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What devices send of themselves (IBA 14.2.5.1): trap 128 when a port of a switch changes its
 * state, trap 144 when the capabilities of a port change. They are routed by LID to the SM that
 * the port was told of, and are lost like anything else. A device repeats a trap by its clock until
 * it is repressed; the sim has no clock: fab_sim_repeat is its tick.
 */
#include "libfabmgr/base/buf.h"
#include "libfabmgr/sim/device.h"

#define NOTICE_URGENT 1
#define NOTICE_INFORMATIONAL 4

static void send_notice(struct fab_sim *s, struct spot at, const struct fab_notice *notice)
{
    const struct fab_port_info *info = &s->ports[lid_port(s, at)].info;
    struct fab_mad header = {
        .mgmt_class = FAB_CLASS_SMP_LID,
        .method = FAB_METHOD_TRAP,
        .tid = ++s->trap_tid,
        .attr_id = FAB_ATTR_NOTICE,
        .m_key = info->m_key,
    };
    uint8_t data[FAB_SMP_DATA], bytes[FAB_MAD_SIZE];
    uint16_t lid = info->lid, sm_lid = info->sm_lid;
    if (lose(s) || !move_lid(s, sm_lid, FAB_STATE_INIT, &at))
        return;
    if (fab_attr_pack(&fab_attr_notice, notice, data, sizeof data) == 0 &&
        fab_smp_pack(&header, data, bytes) == 0)
        mail(s, at, lid, sm_lid, bytes);
}

/* A port that has no LID, or knows of no SM, keeps quiet. */
static bool can_tell(const struct fab_port_info *info)
{
    return info->lid != 0 && info->sm_lid != 0;
}

void trap_port_state(struct fab_sim *s, uint32_t sw)
{
    const struct fab_port_info *own = &s->ports[port_id(s, sw, 0)].info;
    if (!can_tell(own) || (s->silent[sw / 64] >> (sw % 64) & 1))
        return;
    struct fab_notice notice = {
        .generic = 1,
        .type = NOTICE_URGENT,
        .producer_type = FAB_NODE_SWITCH,
        .trap = 128,
        .issuer_lid = own->lid,
    };
    fab_put_be16(notice.details, own->lid);
    s->switches[sw].trap_pending = true;
    send_notice(s, (struct spot){.node = sw}, &notice);
}

/* DataDetails of 144: LID at byte 2, the new CapabilityMask at byte 6. */
void trap_capability(struct fab_sim *s, uint32_t port)
{
    const struct fab_port *p = &s->fabric->ports[port];
    struct spot at = {.node = p->node, .port = p->num};
    const struct fab_port_info *info = &s->ports[lid_port(s, at)].info;
    if (!can_tell(info))
        return;
    struct fab_notice notice = {
        .generic = 1,
        .type = NOTICE_INFORMATIONAL,
        .producer_type = s->fabric->nodes[p->node].type,
        .trap = 144,
        .issuer_lid = info->lid,
    };
    fab_put_be16(notice.details + 2, info->lid);
    fab_put_be32(notice.details + 6, info->cap_mask);
    send_notice(s, at, &notice);
}

void trap_repressed(struct fab_sim *s, struct spot at, const uint8_t *mad)
{
    struct fab_notice notice;
    if (fab_attr_unpack(&fab_attr_notice, mad + SMP_DATA, FAB_SMP_DATA, &notice) == 0 &&
        notice.trap == 128 && is_switch(s, at.node))
        s->switches[at.node].trap_pending = false;
}

uint32_t fab_sim_repeat(struct fab_sim *s)
{
    uint32_t count = 0;
    for (uint32_t sw = 0; sw < s->fabric->switch_count; sw++) {
        if (!s->switches[sw].trap_pending)
            continue;
        trap_port_state(s, sw);
        count++;
    }
    return count;
}
