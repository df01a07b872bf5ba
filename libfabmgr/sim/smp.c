/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet management agent of every simulated device (IBA 14.2.5). It checks the M_Key and its
 * lease (14.2.4), finds the attribute in a table and sends the answer. The larger attributes are in
 * other files. The agent does not implement RandomForwardingTable, but implements two vendor
 * attributes.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

static uint16_t handle_node_desc(struct request *r)
{
    memcpy(r->data, r->sim->fabric->nodes[r->at.node].desc, FAB_NODE_DESC_LEN);
    return 0;
}

static uint16_t handle_node_info(struct request *r)
{
    const struct fab_sim *s = r->sim;
    struct fab_node_info info = s->fabric->nodes[r->at.node].info;
    info.local_port = r->at.port;
    if (!is_switch(s, r->at.node)) {
        uint64_t guid = fab_fabric_port(s->fabric, lid_port(s, r->at))->guid;
        info.port_guid = guid != 0 ? guid : info.node_guid + r->at.port;
    }
    if (r->sim->nodes[r->at.node].impersonates) {
        const struct fab_node_info *as = &r->sim->nodes[r->at.node].as;
        info.node_type = as->node_type;
        info.num_ports = as->num_ports;
        info.node_guid = as->node_guid;
        info.port_guid = as->port_guid;
        if (as->local_port != 0)
            info.local_port = as->local_port;
    }
    return fab_wire_attr_pack(&fab_wire_attr_node_info, &info, r->data, FAB_SMP_DATA) == FAB_OK
               ? 0
               : FAB_SMP_BAD_VALUE;
}

void fab_sim_switch_start(struct fab_sim *s, uint32_t sw)
{
    struct fab_switch_info *info = &s->switches[sw].info;
    *info = s->fabric->switches[sw];
    info->linear_fdb_top = 0;
    info->multicast_fdb_top = 0;
    info->port_state_change = 0;
}

static uint16_t set_switch_info(struct sim_switch *sw, const uint8_t *data)
{
    struct fab_switch_info want;
    if (fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, FAB_SMP_DATA, &want) != FAB_OK ||
        want.linear_fdb_top >= sw->info.linear_fdb_cap)
        return FAB_SMP_BAD_VALUE;
    if (sw->lft_room > 0 && fab_sim_lft_reserve(sw, want.linear_fdb_top + 1u) != FAB_OK)
        return FAB_SMP_BUSY;
    sw->info.linear_fdb_top = want.linear_fdb_top;
    sw->info.multicast_fdb_top = want.multicast_fdb_top;
    sw->info.default_port = want.default_port;
    sw->info.default_mcast_primary_port = want.default_mcast_primary_port;
    sw->info.default_mcast_not_primary_port = want.default_mcast_not_primary_port;
    sw->info.life_time = want.life_time;
    if (want.port_state_change)
        sw->info.port_state_change = 0;
    return 0;
}

static uint16_t handle_switch_info(struct request *r)
{
    uint16_t status = 0;
    if (!is_switch(r->sim, r->at.node))
        return FAB_SMP_BAD_ATTR;
    struct sim_switch *sw = &r->sim->switches[r->at.node];
    if (r->set)
        status = set_switch_info(sw, r->data);
    if (fab_wire_attr_pack(&fab_wire_attr_switch_info, &sw->info, r->data, FAB_SMP_DATA) != FAB_OK)
        return FAB_SMP_BAD_VALUE;
    return status;
}

/* Answers Notice: a Get with the first stored trap of the node that is not repressed, or with zeros
 * if there is none; a Set with zeros. Returns the status of the answer. */
static uint16_t handle_notice(struct request *r)
{
    struct fab_notice notice = {0};
    if (r->set || !fab_sim_trap_pending(r->sim, r->at.node, &notice))
        memset(r->data, 0, FAB_SMP_DATA);
    else if (fab_wire_attr_pack(&fab_wire_attr_notice, &notice, r->data, FAB_SMP_DATA) != FAB_OK)
        return FAB_SMP_BAD_VALUE;
    return 0;
}

/* Answers VendorDiag with one page of zeros: the device has nothing to report. Returns the status
 * of the answer. */
static uint16_t handle_vendor_diag(struct request *r)
{
    memset(r->data, 0, sizeof r->data);
    return r->mod == 0 ? 0 : FAB_SMP_BAD_VALUE;
}

/* Answers Mellanox's extension of PortInfo, which distinguishes FDR10 from QDR. OpenSM reads this
 * attribute from every Mellanox device. No simulated link runs at FDR10. */
static uint16_t handle_ext_port_info(struct request *r)
{
    const struct fab_node *node = &r->sim->fabric->nodes[r->at.node];
    if (node->info.vendor_id != SIM_VENDOR_MELLANOX)
        return FAB_SMP_BAD_ATTR;
    if ((r->mod & 0xff) > node->num_ports)
        return FAB_SMP_BAD_VALUE;
    memset(r->data, 0, sizeof r->data);
    return 0;
}

static const struct {
    uint16_t attr_id;
    bool settable;
    sim_handler *handler;
} attributes[] = {
    {FAB_ATTR_NOTICE, true, handle_notice},
    {FAB_ATTR_NODE_DESC, false, handle_node_desc},
    {FAB_ATTR_NODE_INFO, false, handle_node_info},
    {FAB_ATTR_SWITCH_INFO, true, handle_switch_info},
    {FAB_ATTR_GUID_INFO, true, fab_sim_handle_guids},
    {FAB_ATTR_PORT_INFO, true, fab_sim_handle_port_info},
    {FAB_ATTR_PKEY_TABLE, true, fab_sim_handle_pkeys},
    {FAB_ATTR_SL2VL, true, fab_sim_handle_sl2vl},
    {FAB_ATTR_VLARB, true, fab_sim_handle_vlarb},
    {FAB_ATTR_LFT, true, fab_sim_handle_lft},
    {FAB_ATTR_MFT, true, fab_sim_handle_mft},
    {FAB_ATTR_VENDOR_DIAG, false, handle_vendor_diag},
    {FAB_ATTR_LED_INFO, true, fab_sim_handle_led},
    {FAB_ATTR_MLNX_EXT_PORT_INFO, true, handle_ext_port_info},
};

static uint16_t handle(struct request *r, uint16_t attr_id)
{
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (attributes[i].attr_id == attr_id)
            return r->set && !attributes[i].settable ? FAB_SMP_BAD_ATTR : attributes[i].handler(r);
    }
    return FAB_SMP_BAD_ATTR;
}

/* Clears M_KeyProtectBits of a port if the lease of its M_Key has expired (IBA 14.2.4.4). A request
 * without the key that fails starts the lease period; a request with the key stops it. */
static void expire_key_lease(const struct fab_sim *s, struct sim_port *p)
{
    if (p->lease_ends == 0 || s->now < p->lease_ends)
        return;
    p->info.m_key_protect = 0;
    p->lease_ends = 0;
}

/* Returns true if the port accepts the M_Key of a request (IBA 14.2.4). A Set without the key of
 * the port gets no answer, and a TrapRepress without it has no effect. At protection levels 2 and
 * 3, a Get without the key gets no answer either. */
bool fab_sim_sma_key_fits(struct fab_sim *s, struct position at, uint16_t slid,
                          const struct fab_mad *mad, const uint8_t *bytes)
{
    struct sim_port *p = &s->ports[lid_port(s, at)];
    expire_key_lease(s, p);
    if (p->info.m_key == 0 || p->info.m_key == mad->m_key) {
        p->lease_ends = 0;
        return true;
    }
    if (mad->method == FAB_METHOD_GET && p->info.m_key_protect < 2)
        return true;
    if (p->info.m_key_violations < UINT16_MAX)
        p->info.m_key_violations++;
    if (p->lease_ends == 0 && p->info.m_key_lease > 0)
        p->lease_ends = s->now + p->info.m_key_lease * UINT64_C(1000000);
    fab_sim_trap_bad_key(s, at, slid, mad, bytes);
    return false;
}

/* Sets the M_Key in an answer to PortInfo to 0 if the port has protection level 1 or higher and the
 * request does not have the key. */
static void hide_key(const struct fab_sim *s, struct position at, const struct fab_mad *mad,
                     uint8_t *data)
{
    const struct fab_port_info *info = &s->ports[lid_port(s, at)].info;
    if (mad->attr_id == FAB_ATTR_PORT_INFO && info->m_key_protect > 0 && info->m_key != mad->m_key)
        memset(data, 0, sizeof info->m_key);
}

bool fab_sim_sma_answer(struct fab_sim *s, struct position at, uint16_t slid,
                        const struct fab_mad *mad, uint8_t bytes[FAB_MAD_SIZE])
{
    struct request r = {.sim = s,
                        .at = at,
                        .slid = slid,
                        .set = mad->method == FAB_METHOD_SET,
                        .mod = mad->attr_mod};
    if ((mad->method != FAB_METHOD_GET && !r.set) || !fab_sim_sma_key_fits(s, at, slid, mad, bytes))
        return false;
    memcpy(r.data, bytes + SMP_DATA, FAB_SMP_DATA);
    uint16_t status = handle(&r, mad->attr_id);
    hide_key(s, at, mad, r.data);
    return fab_wire_smp_answer(bytes, status, r.data, bytes) == FAB_OK;
}
