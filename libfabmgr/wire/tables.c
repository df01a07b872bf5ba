/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of fields of the attributes of subnet management (IBA 14.2.5) and of Notice
 * (13.4.8.2). Each field has its name in the specification, its offset in the attribute and its
 * offset in the struct. Offsets in the attribute are bits from its first bit, as in the
 * specification. Gaps between fields are reserved bits.
 */
#include "libfabmgr/wire/table.h"

#define NODE(m, name, at, n, how) SCALAR(struct fab_node_info, m, name, at, n, how)
static const struct fab_field node_info[] = {
    NODE(base_version, "BaseVersion", 0, 8, DEC),
    NODE(class_version, "ClassVersion", 8, 8, DEC),
    NODE(node_type, "NodeType", 16, 8, FAB_PRINT_NODE_TYPE),
    NODE(num_ports, "NumPorts", 24, 8, DEC),
    NODE(system_guid, "SystemImageGUID", 32, 64, HEX),
    NODE(node_guid, "NodeGUID", 96, 64, HEX),
    NODE(port_guid, "PortGUID", 160, 64, HEX),
    NODE(partition_cap, "PartitionCap", 224, 16, DEC),
    NODE(device_id, "DeviceID", 240, 16, HEX),
    NODE(revision, "Revision", 256, 32, HEX),
    NODE(local_port, "LocalPortNum", 288, 8, DEC),
    NODE(vendor_id, "VendorID", 296, 24, HEX),
};
const struct fab_attr fab_wire_attr_node_info =
    ATTR("NodeInfo", FAB_ATTR_NODE_INFO, 40, struct fab_node_info, node_info);

#define SWITCH(m, name, at, n) SCALAR(struct fab_switch_info, m, name, at, n, DEC)
static const struct fab_field switch_info[] = {
    SWITCH(linear_fdb_cap, "LinearFDBCap", 0, 16),
    SWITCH(random_fdb_cap, "RandomFDBCap", 16, 16),
    SWITCH(multicast_fdb_cap, "MulticastFDBCap", 32, 16),
    SWITCH(linear_fdb_top, "LinearFDBTop", 48, 16),
    SWITCH(default_port, "DefaultPort", 64, 8),
    SWITCH(default_mcast_primary_port, "DefaultMulticastPrimaryPort", 72, 8),
    SWITCH(default_mcast_not_primary_port, "DefaultMulticastNotPrimaryPort", 80, 8),
    SWITCH(life_time, "LifeTimeValue", 88, 5),
    SWITCH(port_state_change, "PortStateChange", 93, 1),
    SWITCH(optimized_sl2vl, "OptimizedSLtoVLMappingProgramming", 94, 2),
    SWITCH(lids_per_port, "LIDsPerPort", 96, 16),
    SWITCH(partition_enforcement_cap, "PartitionEnforcementCap", 112, 16),
    SWITCH(inbound_enforcement, "InboundEnforcementCap", 128, 1),
    SWITCH(outbound_enforcement, "OutboundEnforcementCap", 129, 1),
    SWITCH(filter_raw_inbound, "FilterRawInboundCap", 130, 1),
    SWITCH(filter_raw_outbound, "FilterRawOutboundCap", 131, 1),
    SWITCH(enhanced_port0, "EnhancedPort0", 132, 1),
    SWITCH(multicast_fdb_top, "MulticastFDBTop", 144, 16),
};
const struct fab_attr fab_wire_attr_switch_info =
    ATTR("SwitchInfo", FAB_ATTR_SWITCH_INFO, 20, struct fab_switch_info, switch_info);

#define PORT(m, name, at, n, how) SCALAR(struct fab_port_info, m, name, at, n, how)
#define PORT_LATE(m, name, at, n, how) SCALAR_LATE(struct fab_port_info, m, name, at, n, how)
static const struct fab_field port_info[] = {
    PORT(m_key, "M_Key", 0, 64, HEX),
    PORT(gid_prefix, "GidPrefix", 64, 64, HEX),
    PORT(lid, "LID", 128, 16, DEC),
    PORT(sm_lid, "MasterSMLID", 144, 16, DEC),
    PORT(cap_mask, "CapabilityMask", 160, 32, HEX),
    PORT(diag_code, "DiagCode", 192, 16, HEX),
    PORT(m_key_lease, "M_KeyLeasePeriod", 208, 16, DEC),
    PORT(local_port, "LocalPortNum", 224, 8, DEC),
    PORT(width_enabled, "LinkWidthEnabled", 232, 8, FAB_PRINT_WIDTHS),
    PORT(width_supported, "LinkWidthSupported", 240, 8, FAB_PRINT_WIDTHS),
    PORT(width_active, "LinkWidthActive", 248, 8, FAB_PRINT_WIDTHS),
    PORT(speed_supported, "LinkSpeedSupported", 256, 4, FAB_PRINT_SPEEDS),
    PORT(port_state, "PortState", 260, 4, FAB_PRINT_PORT_STATE),
    PORT(phys_state, "PortPhysicalState", 264, 4, FAB_PRINT_PHYS_STATE),
    PORT(down_default_state, "LinkDownDefaultState", 268, 4, FAB_PRINT_PHYS_STATE),
    PORT(m_key_protect, "M_KeyProtectBits", 272, 2, DEC),
    PORT(lmc, "LMC", 277, 3, DEC),
    PORT(speed_active, "LinkSpeedActive", 280, 4, FAB_PRINT_SPEEDS),
    PORT(speed_enabled, "LinkSpeedEnabled", 284, 4, FAB_PRINT_SPEEDS),
    PORT(neighbor_mtu, "NeighborMTU", 288, 4, FAB_PRINT_MTU),
    PORT(sm_sl, "MasterSMSL", 292, 4, DEC),
    PORT(vl_cap, "VLCap", 296, 4, FAB_PRINT_VLS),
    PORT(init_type, "InitType", 300, 4, HEX),
    PORT(vl_high_limit, "VLHighLimit", 304, 8, DEC),
    PORT(vlarb_high_cap, "VLArbitrationHighCap", 312, 8, DEC),
    PORT(vlarb_low_cap, "VLArbitrationLowCap", 320, 8, DEC),
    PORT(init_type_reply, "InitTypeReply", 328, 4, HEX),
    PORT(mtu_cap, "MTUCap", 332, 4, FAB_PRINT_MTU),
    PORT(vl_stall_count, "VLStallCount", 336, 3, DEC),
    PORT(hoq_life, "HOQLife", 339, 5, DEC),
    PORT(op_vls, "OperationalVLs", 344, 4, FAB_PRINT_VLS),
    PORT(part_enforce_in, "PartitionEnforcementInbound", 348, 1, DEC),
    PORT(part_enforce_out, "PartitionEnforcementOutbound", 349, 1, DEC),
    PORT(filter_raw_in, "FilterRawInbound", 350, 1, DEC),
    PORT(filter_raw_out, "FilterRawOutbound", 351, 1, DEC),
    PORT(m_key_violations, "M_KeyViolations", 352, 16, DEC),
    PORT(p_key_violations, "P_KeyViolations", 368, 16, DEC),
    PORT(q_key_violations, "Q_KeyViolations", 384, 16, DEC),
    PORT(guid_cap, "GUIDCap", 400, 8, DEC),
    PORT(client_reregister, "ClientReregister", 408, 1, DEC),
    PORT(mcast_pkey_trap_suppression, "MulticastP_KeyTrapSuppressionEnabled", 409, 2, DEC),
    PORT(subnet_timeout, "SubnetTimeOut", 411, 5, DEC),
    PORT(resp_time, "RespTimeValue", 419, 5, DEC),
    PORT(local_phy_errors, "LocalPhyErrors", 424, 4, DEC),
    PORT(overrun_errors, "OverrunErrors", 428, 4, DEC),
    PORT(max_credit_hint, "MaxCreditHint", 432, 16, DEC),
    PORT_LATE(speed_ext2_active, "LinkSpeedExtActive2", 449, 2, FAB_PRINT_SPEEDS_EXT2),
    PORT_LATE(speed_ext2_supported, "LinkSpeedExtSupported2", 451, 2, FAB_PRINT_SPEEDS_EXT2),
    PORT_LATE(speed_ext2_enabled, "LinkSpeedExtEnabled2", 453, 3, FAB_PRINT_SPEEDS_EXT2),
    PORT(link_round_trip, "LinkRoundTripLatency", 456, 24, DEC),
    PORT(cap_mask2, "CapabilityMask2", 480, 16, HEX),
    PORT(speed_ext_active, "LinkSpeedExtActive", 496, 4, FAB_PRINT_SPEEDS_EXT),
    PORT(speed_ext_supported, "LinkSpeedExtSupported", 500, 4, FAB_PRINT_SPEEDS_EXT),
    PORT(speed_ext_enabled, "LinkSpeedExtEnabled", 507, 5, FAB_PRINT_SPEEDS_EXT),
};
const struct fab_attr fab_wire_attr_port_info =
    ATTR("PortInfo", FAB_ATTR_PORT_INFO, 64, struct fab_port_info, port_info);

#define SM(m, name, at, n, how) SCALAR(struct fab_sm_info, m, name, at, n, how)
static const struct fab_field sm_info[] = {
    SM(guid, "GUID", 0, 64, HEX),
    SM(sm_key, "SM_Key", 64, 64, HEX),
    SM(activity, "ActCount", 128, 32, DEC),
    SM(priority, "Priority", 160, 4, DEC),
    SM(state, "SMState", 164, 4, FAB_PRINT_SM_STATE),
};
const struct fab_attr fab_wire_attr_sm_info =
    ATTR("SMInfo", FAB_ATTR_SM_INFO, 21, struct fab_sm_info, sm_info);

#define NOTICE(m, name, at, n, how) SCALAR(struct fab_notice, m, name, at, n, how)
static const struct fab_field notice[] = {
    NOTICE(generic, "IsGeneric", 0, 1, DEC),
    NOTICE(type, "Type", 1, 7, DEC),
    NOTICE(producer_type, "ProducerType", 8, 24, DEC),
    NOTICE(trap, "TrapNumber", 32, 16, DEC),
    NOTICE(issuer_lid, "IssuerLID", 48, 16, DEC),
    NOTICE(toggle, "NoticeToggle", 64, 1, DEC),
    NOTICE(count, "NoticeCount", 65, 15, DEC),
    ARRAY(struct fab_notice, details[0], "DataDetails", 80, 8, 54, 8, 1, HEX),
};
const struct fab_attr fab_wire_attr_notice =
    ATTR("Notice", FAB_ATTR_NOTICE, 64, struct fab_notice, notice);

static const struct fab_field sl2vl[] = {
    ARRAY(struct fab_sl2vl, vl[0], "SLtoVL", 0, 4, 16, 4, 1, DEC),
};
const struct fab_attr fab_wire_attr_sl2vl =
    ATTR("SLtoVLMappingTable", FAB_ATTR_SL2VL, 8, struct fab_sl2vl, sl2vl);

static const struct fab_field vlarb[] = {
    ARRAY(struct fab_vlarb, entry[0].vl, "VL", 4, 4, 32, 16, 2, DEC),
    ARRAY(struct fab_vlarb, entry[0].weight, "Weight", 8, 8, 32, 16, 2, DEC),
};
const struct fab_attr fab_wire_attr_vlarb =
    ATTR("VLArbitrationTable", FAB_ATTR_VLARB, 64, struct fab_vlarb, vlarb);

static const struct fab_field pkey_block[] = {
    ARRAY(struct fab_pkey_block, pkey[0], "P_Key", 0, 16, 32, 16, 2, HEX),
};
const struct fab_attr fab_wire_attr_pkey_block =
    ATTR("P_KeyTable", FAB_ATTR_PKEY_TABLE, 64, struct fab_pkey_block, pkey_block);

static const struct fab_field guid_block[] = {
    ARRAY_EACH(struct fab_guid_block, guid[0], "GUID", 0, 64, 8, 64, 8, HEX),
};
const struct fab_attr fab_wire_attr_guid_block =
    ATTR("GUIDInfo", FAB_ATTR_GUID_INFO, 64, struct fab_guid_block, guid_block);

const struct fab_attr *fab_wire_attr_by_id(uint16_t id)
{
    static const struct fab_attr *const all[] = {
        &fab_wire_attr_node_info, &fab_wire_attr_switch_info, &fab_wire_attr_port_info,
        &fab_wire_attr_sm_info,   &fab_wire_attr_notice,      &fab_wire_attr_sl2vl,
        &fab_wire_attr_vlarb,     &fab_wire_attr_pkey_block,  &fab_wire_attr_guid_block,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->id == id)
            return all[i];
    return NULL;
}
