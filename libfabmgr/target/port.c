/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the PortInfo and SwitchInfo that the manager writes to a device, from the attributes
 * that it read from the device and its peer.
 *
 * A SubnSet contains the whole attribute, so fields that the manager does not want to change also
 * need a value, one without side effects:
 *
 *   - The manager writes back fields that it does not control. Some devices refuse a SubnSet whose
 *     capabilities differ from theirs.
 *   - LinkWidthEnabled, LinkSpeedEnabled, LinkSpeedExtEnabled, PortState and PortPhysicalState get
 *     the value 0, "no state change", so that no write retrains a link.
 *   - The meaning of a field depends on the kind of port (IBA 14.2.5.6, column "used by"). LIDs,
 *     M_Key, GID prefix and SubnetTimeout belong to endports. HOQLife and VLStallCount belong to
 *     external ports of switches (HOQLife to routers, too). MTU, VLs and error thresholds belong to
 *     every port with a link. A base port 0 has no link; an enhanced port 0 has an MTU and
 *     thresholds.
 */
#include "libfabmgr/target/target.h"

#define CAP_CLIENT_REREGISTER (1u << 25)
#define DOWN_DEFAULT_POLLING 2

static uint8_t lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Returns the lower of the capabilities `ours` and `theirs`, but at most `policy` (0: no limit). If
 * one of the capabilities is unknown (0), returns the present value `now`. */
static uint8_t agree(uint8_t now, uint8_t ours, uint8_t theirs, uint8_t policy)
{
    if (ours == 0 || theirs == 0)
        return now;
    uint8_t both = lesser(ours, theirs);
    return policy != 0 ? lesser(both, policy) : both;
}

static void no_state_change(struct fab_port_info *want)
{
    want->port_state = FAB_STATE_NOP;
    want->phys_state = FAB_PHYS_NOP;
    want->down_default_state = DOWN_DEFAULT_POLLING;
    want->width_enabled = 0;
    want->speed_enabled = 0;
    want->speed_ext_enabled = 0;
    want->speed_ext2_enabled = 0;
    want->client_reregister = 0;
}

bool fab_target_can_reregister(const struct fab_port_info *info)
{
    return (info->cap_mask & CAP_CLIENT_REREGISTER) != 0;
}

/* Sets the fields that endports have. If the port had another manager, or its link was down, the
 * registrations of its host are lost, so the function sets ClientReregister, if the port supports
 * it. This bit asks the host to repeat them (IBA 14.4.11). If the device has an M_Key, the function
 * keeps this M_Key, even if it is not the wanted one. A separate round of the manager changes keys,
 * because it can find out, after a lost answer, whether the device has the old or the new key. */
static void address_fields(const struct fab_fabric *f, const struct fab_policy *p,
                           const struct fab_lids *lids, uint32_t port, uint32_t sm_lid,
                           bool was_down, struct fab_port_info *want)
{
    bool is_new = want->sm_lid != (uint16_t)sm_lid || was_down;
    want->lid = (uint16_t)lids->base[port];
    want->lmc = lids->lmc[port];
    want->sm_lid = (uint16_t)sm_lid;
    if (want->m_key == 0)
        want->m_key = fab_policy_m_key(&p->m_keys, fab_fabric_port(f, port)->guid);
    /* Without an M_Key, the protect bits and the lease period have no effect. If the key of the
     * port cannot be derived now, a later plan sets all three. */
    if (fab_policy_m_keys_set(&p->m_keys) && want->m_key != 0) {
        want->m_key_protect = p->m_key_protect;
        want->m_key_lease = p->m_key_lease_s;
    }
    want->gid_prefix = p->subnet_prefix;
    want->subnet_timeout = p->subnet_timeout;
    want->client_reregister = is_new && fab_target_can_reregister(want);
}

static uint8_t op_vls(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port)
{
    const struct fab_port_info *ours = &fab_fabric_port(f, port)->info;
    const struct fab_port_info *theirs = &fab_fabric_port(f, fab_fabric_port(f, port)->peer)->info;
    return agree(ours->op_vls, ours->vl_cap, theirs->vl_cap, p->max_op_vls);
}

uint32_t fab_target_mtu(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port)
{
    const struct fab_port_info *ours = &fab_fabric_port(f, port)->info;
    const struct fab_port_info *theirs = &fab_fabric_port(f, fab_fabric_port(f, port)->peer)->info;
    unsigned bytes = fab_wire_mtu_bytes(agree(0, ours->mtu_cap, theirs->mtu_cap, p->max_mtu));
    return bytes != 0 ? bytes : 4096;
}

static void link_fields(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port,
                        struct fab_port_info *want)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    want->local_phy_errors = p->phy_errors;
    want->overrun_errors = p->overrun_errors;
    if (peer == FAB_NONE)
        return;
    const struct fab_port_info *theirs = &fab_fabric_port(f, peer)->info;
    want->neighbor_mtu = agree(want->neighbor_mtu, want->mtu_cap, theirs->mtu_cap, p->max_mtu);
    want->op_vls = op_vls(f, p, port);
}

/* Sets HOQLife and VLStallCount. HOQLife limits how long a packet waits at the head of a queue.
 * HOQLife is shorter towards endports: if an endport accepts no packets, packets for it are dropped
 * before they block the fabric. */
static void queue_fields(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port,
                         struct fab_port_info *want)
{
    uint32_t peer_node = fab_fabric_peer_node(f, port);
    if (peer_node == FAB_NONE)
        return;
    bool towards_endport = !fab_fabric_node_is_switch(f, peer_node);
    want->hoq_life = towards_endport ? p->leaf_hoq_life : p->hoq_life;
    want->vl_stall_count = towards_endport ? p->leaf_vl_stall_count : p->vl_stall_count;
}

static void port0_fields(const struct fab_fabric *f, const struct fab_policy *p, uint32_t node,
                         struct fab_port_info *want)
{
    if (!f->switches[node].enhanced_port0)
        return;
    want->neighbor_mtu = agree(want->neighbor_mtu, want->mtu_cap, want->mtu_cap, p->max_mtu);
    want->local_phy_errors = p->phy_errors;
    want->overrun_errors = p->overrun_errors;
}

void fab_target_port_info(const struct fab_fabric *f, const struct fab_policy *p,
                          const struct fab_lids *lids, uint32_t port, uint32_t sm_lid,
                          struct fab_port_info *ret_want)
{
    uint32_t node = fab_fabric_port(f, port)->node;
    bool is_switch = fab_fabric_node_is_switch(f, node);
    struct fab_port_info want = fab_fabric_port(f, port)->info;
    uint8_t state = want.port_state;
    no_state_change(&want);
    if (!is_switch || fab_fabric_port(f, port)->num == 0)
        address_fields(f, p, lids, port, sm_lid, state == FAB_STATE_INIT, &want);
    if (fab_fabric_port(f, port)->num == 0) {
        port0_fields(f, p, node, &want);
    } else {
        link_fields(f, p, port, &want);
        if (is_switch)
            queue_fields(f, p, port, &want);
        else if (f->nodes[node].type == FAB_NODE_ROUTER)
            want.hoq_life = p->leaf_hoq_life;
    }
    *ret_want = want;
}

uint8_t fab_target_port_vls(const struct fab_fabric *f, const struct fab_policy *p, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    if (peer == FAB_NONE)
        return 1;
    unsigned vls = fab_wire_op_vls_count(lesser(op_vls(f, p, port), op_vls(f, p, peer)));
    return vls > 0 ? (uint8_t)vls : 1;
}

#define CAP_MULTICAST_FDB_TOP 0x40000000u /* bit in PortInfo.CapabilityMask of port 0 */
#define MLID_FIRST 0xc000u
#define MLID_LAST 0xfffeu

/* Returns the wanted MulticastFDBTop: the value that makes the switch use the whole MFT. Another
 * manager may have set a lower value. If the switch lacks this field, returns the value that was
 * read. */
static uint16_t multicast_fdb_top(const struct fab_fabric *f, uint32_t sw)
{
    const struct fab_switch_info *is = &f->switches[sw];
    uint32_t last = MLID_FIRST + is->multicast_fdb_cap - 1;
    bool has = (fab_fabric_port(f, fab_fabric_port_id(f, sw, 0))->info.cap_mask &
                CAP_MULTICAST_FDB_TOP) != 0;
    if (!has || is->multicast_fdb_cap == 0)
        return is->multicast_fdb_top;
    return (uint16_t)(last < MLID_LAST ? last : MLID_LAST);
}

/* a default port at which the switch drops packets, because no switch has this port */
#define NO_PORT 0xff

/* Replaces default ports that are external ports of the switch. Through such a port, the switch
 * would send packets whose LID has no table entry, on a path that the proof does not cover. Port 0
 * and numbers above the last port stay, because devices may have such values after power-on. */
static void close_default_ports(uint8_t ports, struct fab_switch_info *want)
{
    if (want->default_port != 0 && want->default_port <= ports)
        want->default_port = 0;
    if (want->default_mcast_primary_port != 0 && want->default_mcast_primary_port <= ports)
        want->default_mcast_primary_port = NO_PORT;
    if (want->default_mcast_not_primary_port != 0 && want->default_mcast_not_primary_port <= ports)
        want->default_mcast_not_primary_port = NO_PORT;
}

/* Computes the SwitchInfo to write. PortStateChange keeps the value that was read. Writing 1 clears
 * this bit, and writing 0 has no effect (IBA 14.2.5.4). So if the bit was 0 when it was read, but a
 * port has changed since then, the switch still reports the change after the write. */
void fab_target_switch_info(const struct fab_fabric *f, const struct fab_policy *p,
                            const struct fab_lids *lids, uint32_t sw,
                            struct fab_switch_info *ret_want)
{
    struct fab_switch_info want = f->switches[sw];
    want.linear_fdb_top = (uint16_t)lids->top;
    want.multicast_fdb_top = multicast_fdb_top(f, sw);
    want.life_time = p->packet_life_time;
    close_default_ports(f->nodes[sw].num_ports, &want);
    *ret_want = want;
}
