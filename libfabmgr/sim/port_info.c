/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles PortInfo (IBA 14.2.5.6). The agent checks the whole Set before it changes anything. In
 * some fields, as the specification says, the value 0 means "no change". A Set moves PortState from
 * Init to Armed and from Armed to Active; PortState Down makes the link train again. External ports
 * of a switch have no LIDs, keys or timers of their own. */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

/* Bit of the attribute modifier: the sender supports the extended link speeds. */
#define SM_EXTENDED_SPEEDS 0x80000000u
#define LID_UNICAST_MAX 0xBFFF
#define ALL_SUPPORTED_WIDTHS 0xff
#define ALL_SUPPORTED_SPEEDS 0xf

/* Finds the port that the attribute modifier names. At an adapter, the number 0 stands for the port
 * by which the request arrived. Returns false if the device has no such port. */
static bool find_port(const struct request *r, uint32_t *ret_port)
{
    uint32_t num = r->mod & ~SM_EXTENDED_SPEEDS;
    if (num > r->sim->fabric->nodes[r->at.node].num_ports)
        return false;
    if (num == 0 && !is_switch(r->sim, r->at.node))
        num = r->at.port;
    *ret_port = port_id(r->sim, r->at.node, (uint8_t)num);
    return true;
}

static bool is_external(const struct fab_sim *s, uint32_t port)
{
    return fab_fabric_port(s->fabric, port)->num != 0 &&
           is_switch(s, fab_fabric_port(s->fabric, port)->node);
}
static bool is_own(const struct fab_sim *s, uint32_t port)
{
    return fab_fabric_port(s->fabric, port)->num == 0;
}

static bool is_subset(uint8_t want, uint8_t supported, uint8_t all)
{
    return want == 0 || want == all || (want & ~supported) == 0;
}

/* Returns true if a Set may request the PortState `want` in the present state: no change and Down
 * in every state, Armed in Init or Armed, Active in Armed or Active. */
static bool state_allowed(const struct fab_port_info *now, uint8_t want)
{
    switch (want) {
    case FAB_STATE_NOP:
    case FAB_STATE_DOWN:
        return true;
    case FAB_STATE_ARMED:
        return now->port_state == FAB_STATE_INIT || now->port_state == FAB_STATE_ARMED;
    case FAB_STATE_ACTIVE:
        return now->port_state == FAB_STATE_ARMED || now->port_state == FAB_STATE_ACTIVE;
    default:
        return false;
    }
}

/* Returns true if the PortPhysicalState of the Set is allowed: no change, Sleep, Polling or
 * Disabled. If the Set requests PortState Armed or Active, only "no change" is allowed. */
static bool phys_allowed(const struct fab_port_info *want)
{
    return want->phys_state <= FAB_PHYS_DISABLED &&
           (want->phys_state == FAB_PHYS_NOP || want->port_state <= FAB_STATE_DOWN);
}

static bool link_valid(const struct fab_port_info *now, const struct fab_port_info *want)
{
    return state_allowed(now, want->port_state) && phys_allowed(want) &&
           want->neighbor_mtu <= now->mtu_cap && want->op_vls <= now->vl_cap &&
           want->down_default_state <= FAB_PHYS_POLLING &&
           is_subset(want->width_enabled, now->width_supported, ALL_SUPPORTED_WIDTHS) &&
           is_subset(want->speed_enabled, now->speed_supported, ALL_SUPPORTED_SPEEDS);
}

static bool address_valid(const struct fab_port_info *want)
{
    return want->lid <= LID_UNICAST_MAX && want->sm_lid <= LID_UNICAST_MAX &&
           want->lid + (1u << want->lmc) - 1 <= LID_UNICAST_MAX;
}

static bool valid(const struct fab_sim *s, uint32_t port, const struct fab_port_info *want)
{
    const struct fab_port_info *now = &s->ports[port].info;
    return (is_external(s, port) || address_valid(want)) &&
           (is_own(s, port) || link_valid(now, want));
}

static void take_address(struct fab_port_info *now, const struct fab_port_info *want)
{
    now->m_key = want->m_key;
    now->m_key_protect = want->m_key_protect;
    now->m_key_lease = want->m_key_lease;
    now->m_key_violations = want->m_key_violations;
    now->gid_prefix = want->gid_prefix;
    now->lid = want->lid;
    now->lmc = want->lmc;
    now->sm_lid = want->sm_lid;
    now->sm_sl = want->sm_sl;
    now->init_type = want->init_type;
    now->subnet_timeout = want->subnet_timeout;
    now->mcast_pkey_trap_suppression = want->mcast_pkey_trap_suppression;
}

static void take_nonzero(uint8_t *now, uint8_t want)
{
    if (want != 0)
        *now = want;
}

static void take_rates(struct fab_port_info *now, const struct fab_port_info *want)
{
    take_nonzero(&now->width_enabled, want->width_enabled == ALL_SUPPORTED_WIDTHS
                                          ? now->width_supported
                                          : want->width_enabled);
    take_nonzero(&now->speed_enabled, want->speed_enabled == ALL_SUPPORTED_SPEEDS
                                          ? now->speed_supported
                                          : want->speed_enabled);
    take_nonzero(&now->speed_ext_enabled, want->speed_ext_enabled & now->speed_ext_supported);
    take_nonzero(&now->down_default_state, want->down_default_state);
}

static void take_link(struct fab_port_info *now, const struct fab_port_info *want)
{
    take_rates(now, want);
    take_nonzero(&now->neighbor_mtu, want->neighbor_mtu);
    take_nonzero(&now->op_vls, want->op_vls);
    now->vl_high_limit = want->vl_high_limit;
    now->vl_stall_count = want->vl_stall_count;
    now->hoq_life = want->hoq_life;
    now->part_enforce_in = want->part_enforce_in;
    now->part_enforce_out = want->part_enforce_out;
    now->filter_raw_in = want->filter_raw_in;
    now->filter_raw_out = want->filter_raw_out;
    now->p_key_violations = want->p_key_violations;
    now->q_key_violations = want->q_key_violations;
    now->local_phy_errors = want->local_phy_errors;
    now->overrun_errors = want->overrun_errors;
}

static void move_link(struct fab_sim *s, uint32_t port, const struct fab_port_info *want)
{
    struct fab_port_info *now = &s->ports[port].info;
    if (want->phys_state == FAB_PHYS_DISABLED) {
        fab_sim_link_down(s, port, FAB_PHYS_DISABLED);
    } else if (want->phys_state != FAB_PHYS_NOP || want->port_state == FAB_STATE_DOWN) {
        /* true: the Set requests PortPhysicalState Polling or Sleep; false: only PortState Down */
        bool ordered = want->phys_state != FAB_PHYS_NOP;
        if (now->phys_state == FAB_PHYS_DISABLED && !ordered)
            return;
        fab_sim_link_down(s, port, ordered ? want->phys_state : fab_sim_link_down_state(s, port));
        fab_sim_link_train(s, port);
    } else if (want->port_state != FAB_STATE_NOP) {
        now->port_state = want->port_state;
    }
}

static uint16_t set_port_info(struct request *r, uint32_t port)
{
    struct fab_sim *s = r->sim;
    struct fab_port_info want, *now = &s->ports[port].info;
    if (!is_switch(s, r->at.node) && fab_fabric_port(s->fabric, port)->num != r->at.port)
        return FAB_SMP_BAD_VALUE;
    if (fab_wire_attr_unpack(&fab_wire_attr_port_info, r->data, FAB_SMP_DATA, &want) != FAB_OK ||
        !valid(s, port, &want))
        return FAB_SMP_BAD_VALUE;
    if (!is_external(s, port))
        take_address(now, &want);
    take_link(now, &want);
    if (!is_own(s, port))
        move_link(s, port, &want);
    return 0;
}

uint16_t fab_sim_handle_port_info(struct request *r)
{
    uint32_t port;
    uint16_t status = 0;
    if (!find_port(r, &port))
        return FAB_SMP_BAD_VALUE;
    if (r->set)
        status = set_port_info(r, port);
    struct fab_port_info info = r->sim->ports[port].info;
    info.local_port = r->at.port;
    if (fab_wire_attr_pack(&fab_wire_attr_port_info, &info, r->data, FAB_SMP_DATA) != FAB_OK)
        return FAB_SMP_BAD_VALUE;
    return status;
}
