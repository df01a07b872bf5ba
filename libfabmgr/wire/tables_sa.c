/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of fields (tables.c explains them) of the headers and records of subnet
 * administration: IBA 13.6.2.1 (RMPP), 15.2.1.1, 15.2.5, and 13.4.8.3 (InformInfo).
 *
 * A record begins with a key, whose table is in this file. After the key, many records have an
 * attribute of subnet management, whose table is in tables.c.
 */
#include "libfabmgr/wire/sa.h"
#include "libfabmgr/wire/table.h"

#define GID(type, m, name, at) ARRAY(type, m[0], name, at, 64, 2, 64, 8, HEX)
#define BYTES(type, m, name, at, count) ARRAY(type, m[0], name, at, 8, count, 8, 1, HEX)

/* ---- headers --------------------------------------------------------------------------------- */

#define RMPP(m, name, at, n, how) SCALAR(struct fab_rmpp, m, name, at, n, how)
static const struct fab_field rmpp[] = {
    RMPP(version, "RMPPVersion", 0, 8, DEC),    RMPP(type, "RMPPType", 8, 8, DEC),
    RMPP(resp_time, "RRespTime", 16, 5, DEC),   RMPP(flags, "RMPPFlags", 21, 3, HEX),
    RMPP(status, "RMPPStatus", 24, 8, DEC),     RMPP(segment, "SegmentNumber", 32, 32, DEC),
    RMPP(length, "PayloadLength", 64, 32, DEC),
};
const struct fab_attr fab_wire_attr_rmpp = ATTR("RMPP", 0, 12, struct fab_rmpp, rmpp);

#define SA(m, name, at, n, how) SCALAR(struct fab_sa_header, m, name, at, n, how)
static const struct fab_field sa_header[] = {
    SA(sm_key, "SM_Key", 0, 64, HEX),
    SA(attr_offset, "AttributeOffset", 64, 16, DEC),
    SA(comp_mask, "ComponentMask", 96, 64, HEX),
};
const struct fab_attr fab_wire_attr_sa_header = ATTR("SA", 0, 20, struct fab_sa_header, sa_header);

/* ---- keys before attributes ------------------------------------------------------------------ */

/* The table of a key that consists of the LID only. Several records use this table: in the structs
 * of all of them, the LID is the first member. */
static const struct fab_field lid_key[] = {
    SCALAR(struct fab_wire_switch_info_record, lid, "LID", 0, 16, DEC),
};
static const struct fab_attr lid_attr = ATTR("", 0, 2, uint16_t, lid_key);

static const struct fab_field node_desc[] = {
    BYTES(struct fab_node_desc, text, "NodeDescription", 0, 64),
};

#define PIR(m, name, at) SCALAR(struct fab_wire_port_info_record, m, name, at, 8, DEC)
static const struct fab_field port_info_key[] = {
    SCALAR(struct fab_wire_port_info_record, lid, "EndportLID", 0, 16, DEC),
    PIR(port, "PortNum", 16),
    PIR(options, "Options", 24),
};

#define SLVL(m, name, at) SCALAR(struct fab_wire_sl2vl_record, m, name, at, 8, DEC)
static const struct fab_field sl2vl_key[] = {
    SCALAR(struct fab_wire_sl2vl_record, lid, "LID", 0, 16, DEC),
    SLVL(in_port, "InputPortNum", 16),
    SLVL(out_port, "OutputPortNum", 24),
};

#define VLARB(m, name, at) SCALAR(struct fab_wire_vlarb_record, m, name, at, 8, DEC)
static const struct fab_field vlarb_key[] = {
    SCALAR(struct fab_wire_vlarb_record, lid, "LID", 0, 16, DEC),
    VLARB(port, "OutputPortNum", 16),
    VLARB(block, "BlockNum", 24),
};

#define PKEY(m, name, at, n) SCALAR(struct fab_wire_pkey_record, m, name, at, n, DEC)
static const struct fab_field pkey_key[] = {
    PKEY(lid, "LID", 0, 16),
    PKEY(block, "BlockNum", 16, 16),
    PKEY(port, "PortNum", 32, 8),
};

#define GUIDS(m, name, at, n) SCALAR(struct fab_wire_guid_info_record, m, name, at, n, DEC)
static const struct fab_field guid_info_key[] = {
    GUIDS(lid, "LID", 0, 16),
    GUIDS(block, "BlockNum", 16, 8),
    GUIDS(reserved, "Reserved", 24, 8),
};

static const struct fab_field inform_key[] = {
    GID(struct fab_wire_inform_info_record, subscriber_gid, "SubscriberGID", 0),
    SCALAR(struct fab_wire_inform_info_record, number, "Enum", 128, 16, DEC),
};

/* ---- whole records --------------------------------------------------------------------------- */

static const struct fab_field lft[] = {
    SCALAR(struct fab_wire_lft_record, lid, "LID", 0, 16, DEC),
    SCALAR(struct fab_wire_lft_record, block, "BlockNum", 16, 16, DEC),
    ARRAY(struct fab_wire_lft_record, port[0], "LinearForwardingTable", 64, 8, 64, 8, 1, DEC),
};

static const struct fab_field mft[] = {
    SCALAR(struct fab_wire_mft_record, lid, "LID", 0, 16, DEC),
    SCALAR(struct fab_wire_mft_record, position, "Position", 16, 4, DEC),
    SCALAR(struct fab_wire_mft_record, block, "BlockNum", 23, 9, DEC),
    ARRAY(struct fab_wire_mft_record, mask[0], "MulticastForwardingTable", 64, 16, 32, 16, 2, HEX),
};

#define INFORM(m, name, at, n, how) SCALAR(struct fab_inform_info, m, name, at, n, how)
static const struct fab_field inform_info[] = {
    GID(struct fab_inform_info, gid, "GID", 0),
    INFORM(lid_begin, "LIDRangeBegin", 128, 16, DEC),
    INFORM(lid_end, "LIDRangeEnd", 144, 16, DEC),
    INFORM(generic, "IsGeneric", 176, 8, DEC),
    INFORM(subscribe, "Subscribe", 184, 8, DEC),
    INFORM(type, "Type", 192, 16, HEX),
    INFORM(trap, "TrapNumber", 208, 16, DEC),
    INFORM(qpn, "QPN", 224, 24, HEX),
    INFORM(resp_time, "RespTimeValue", 251, 5, DEC),
    INFORM(producer, "ProducerType", 264, 24, DEC),
};
const struct fab_attr fab_wire_attr_inform_info =
    ATTR("InformInfo", FAB_ATTR_INFORM_INFO, 36, struct fab_inform_info, inform_info);

#define LINK(m, name, at, n) SCALAR(struct fab_wire_link_record, m, name, at, n, DEC)
static const struct fab_field link_record[] = {
    LINK(from_lid, "FromLID", 0, 16),
    LINK(from_port, "FromPort", 16, 8),
    LINK(to_port, "ToPort", 24, 8),
    LINK(to_lid, "ToLID", 32, 16),
};

#define SERVICE_DATA(m, name, at, n, count)                                                        \
    ARRAY_EACH(struct fab_wire_service_record, m[0], name, at, n, count, n, n / 8, HEX)
static const struct fab_field service[] = {
    SCALAR(struct fab_wire_service_record, id, "ServiceID", 0, 64, HEX),
    GID(struct fab_wire_service_record, gid, "ServiceGID", 64),
    SCALAR(struct fab_wire_service_record, pkey, "ServiceP_Key", 192, 16, HEX),
    SCALAR(struct fab_wire_service_record, lease, "ServiceLease", 224, 32, DEC),
    GID(struct fab_wire_service_record, key, "ServiceKey", 256),
    BYTES(struct fab_wire_service_record, name, "ServiceName", 384, 64),
    SERVICE_DATA(data8, "ServiceData8", 896, 8, 16),
    SERVICE_DATA(data16, "ServiceData16", 1024, 16, 8),
    SERVICE_DATA(data32, "ServiceData32", 1152, 32, 4),
    SERVICE_DATA(data64, "ServiceData64", 1280, 64, 2),
};

#define PATH(m, name, at, n, how) SCALAR(struct fab_wire_path_record, m, name, at, n, how)
static const struct fab_field path[] = {
    PATH(service_msb, "ServiceID8MSB", 0, 8, HEX),
    PATH(service_lsb, "ServiceID56LSB", 8, 56, HEX),
    GID(struct fab_wire_path_record, dgid, "DGID", 64),
    GID(struct fab_wire_path_record, sgid, "SGID", 192),
    PATH(dlid, "DLID", 320, 16, DEC),
    PATH(slid, "SLID", 336, 16, DEC),
    PATH(raw, "RawTraffic", 352, 1, DEC),
    PATH(flow_label, "FlowLabel", 356, 20, HEX),
    PATH(hop_limit, "HopLimit", 376, 8, DEC),
    PATH(tclass, "TClass", 384, 8, HEX),
    PATH(reversible, "Reversible", 392, 1, DEC),
    PATH(paths, "NumbPath", 393, 7, DEC),
    PATH(pkey, "P_Key", 400, 16, HEX),
    PATH(qos_class, "QoSClass", 416, 12, HEX),
    PATH(sl, "SL", 428, 4, DEC),
    PATH(mtu_selector, "MtuSelector", 432, 2, DEC),
    PATH(mtu, "Mtu", 434, 6, DEC),
    PATH(rate_selector, "RateSelector", 440, 2, DEC),
    PATH(rate, "Rate", 442, 6, DEC),
    PATH(life_selector, "PacketLifeTimeSelector", 448, 2, DEC),
    PATH(life, "PacketLifeTime", 450, 6, DEC),
    PATH(preference, "Preference", 456, 8, DEC),
};

#define MCM(m, name, at, n, how) SCALAR(struct fab_wire_mc_member_record, m, name, at, n, how)
static const struct fab_field mc_member[] = {
    GID(struct fab_wire_mc_member_record, mgid, "MGID", 0),
    GID(struct fab_wire_mc_member_record, port_gid, "PortGID", 128),
    MCM(qkey, "Q_Key", 256, 32, HEX),
    MCM(mlid, "MLID", 288, 16, HEX),
    MCM(mtu_selector, "MTUSelector", 304, 2, DEC),
    MCM(mtu, "MTU", 306, 6, DEC),
    MCM(tclass, "TClass", 312, 8, HEX),
    MCM(pkey, "P_Key", 320, 16, HEX),
    MCM(rate_selector, "RateSelector", 336, 2, DEC),
    MCM(rate, "Rate", 338, 6, DEC),
    MCM(life_selector, "PacketLifeTimeSelector", 344, 2, DEC),
    MCM(life, "PacketLifeTime", 346, 6, DEC),
    MCM(sl, "SL", 352, 4, DEC),
    MCM(flow_label, "FlowLabel", 356, 20, HEX),
    MCM(hop_limit, "HopLimit", 376, 8, DEC),
    MCM(scope, "Scope", 384, 4, HEX),
    MCM(join_state, "JoinState", 388, 4, HEX),
    MCM(proxy_join, "ProxyJoin", 392, 1, DEC),
};

#define TRACE(m, name, at, n, how) SCALAR(struct fab_wire_trace_record, m, name, at, n, how)
static const struct fab_field trace[] = {
    TRACE(gid_prefix, "GIDPrefix", 0, 64, HEX),
    TRACE(generation, "IDGeneration", 64, 16, DEC),
    TRACE(node_type, "NodeType", 88, 8, FAB_PRINT_NODE_TYPE),
    TRACE(node, "NodeID", 96, 64, HEX),
    TRACE(chassis, "ChassisID", 160, 64, HEX),
    TRACE(entry_guid, "EntryPortID", 224, 64, HEX),
    TRACE(exit_guid, "ExitPortID", 288, 64, HEX),
    TRACE(entry_port, "EntryPort", 352, 8, DEC),
    TRACE(exit_port, "ExitPort", 360, 8, DEC),
};

#define MPR(m, name, at, n, how) SCALAR(struct fab_wire_multi_path_record, m, name, at, n, how)
static const struct fab_field multi_path[] = {
    MPR(raw, "RawTraffic", 0, 1, DEC),
    MPR(flow_label, "FlowLabel", 4, 20, HEX),
    MPR(hop_limit, "HopLimit", 24, 8, DEC),
    MPR(tclass, "TClass", 32, 8, HEX),
    MPR(reversible, "Reversible", 40, 1, DEC),
    MPR(paths, "NumbPath", 41, 7, DEC),
    MPR(pkey, "P_Key", 48, 16, HEX),
    MPR(qos_class, "QoSClass", 64, 12, HEX),
    MPR(sl, "SL", 76, 4, DEC),
    MPR(mtu_selector, "MtuSelector", 80, 2, DEC),
    MPR(mtu, "Mtu", 82, 6, DEC),
    MPR(rate_selector, "RateSelector", 88, 2, DEC),
    MPR(rate, "Rate", 90, 6, DEC),
    MPR(life_selector, "PacketLifeTimeSelector", 96, 2, DEC),
    MPR(life, "PacketLifeTime", 98, 6, DEC),
    MPR(service_msb, "ServiceID8MSB", 104, 8, HEX),
    MPR(independence, "IndependenceSelector", 112, 2, DEC),
    MPR(sgids, "SGIDCount", 120, 8, DEC),
    MPR(dgids, "DGIDCount", 128, 8, DEC),
    MPR(service_lsb, "ServiceID56LSB", 136, 56, HEX),
    ARRAY(struct fab_wire_multi_path_record, gid[0], "GID", 192, 64, 2 * FAB_MULTI_PATH_GIDS, 64, 8,
          HEX),
};

/* ---- records and their parts ----------------------------------------------------------------- */

/* Defines the attribute `name`, with the fields in `table`: the key of a record, or the only part
 * of a record. */
#define KEY(name, bytes, type, table)                                                              \
    static const struct fab_attr name = ATTR("", 0, bytes, type, table)
KEY(port_info_attr, 4, struct fab_wire_port_info_record, port_info_key);
KEY(sl2vl_attr, 4, struct fab_wire_sl2vl_record, sl2vl_key);
KEY(vlarb_attr, 4, struct fab_wire_vlarb_record, vlarb_key);
KEY(pkey_attr, 5, struct fab_wire_pkey_record, pkey_key);
KEY(guid_info_attr, 4, struct fab_wire_guid_info_record, guid_info_key);
KEY(inform_attr, 18, struct fab_wire_inform_info_record, inform_key);
KEY(lft_attr, 72, struct fab_wire_lft_record, lft);
KEY(mft_attr, 72, struct fab_wire_mft_record, mft);
KEY(link_attr, 6, struct fab_wire_link_record, link_record);
KEY(service_attr, 176, struct fab_wire_service_record, service);
KEY(path_attr, 64, struct fab_wire_path_record, path);
KEY(mc_member_attr, 52, struct fab_wire_mc_member_record, mc_member);
KEY(trace_attr, 46, struct fab_wire_trace_record, trace);
KEY(multi_path_attr, 200, struct fab_wire_multi_path_record, multi_path);
static const struct fab_attr node_desc_attr =
    ATTR("NodeDescription", FAB_ATTR_NODE_DESC, 64, struct fab_node_desc, node_desc);

#define PART(a, wire_at, type, m)                                                                  \
    {                                                                                              \
        .attr = &(a), .at = wire_at, .member = offsetof(type, m)                                   \
    }
#define WHOLE(a, wire_at, type, m)                                                                 \
    {                                                                                              \
        .attr = &(a), .at = wire_at, .member = offsetof(type, m), .whole = true                    \
    }
#define RECORD(var, spec_name, attr_id, bytes, ...)                                                \
    static const struct fab_part var##_parts[] = {__VA_ARGS__};                                    \
    const struct fab_rec fab_wire_##var##_record = {                                               \
        .name = spec_name,                                                                         \
        .id = attr_id,                                                                             \
        .wire_size = bytes,                                                                        \
        .struct_size = sizeof(struct fab_wire_##var##_record),                                     \
        .parts = var##_parts,                                                                      \
        .part_count = sizeof(var##_parts) / sizeof(var##_parts)[0]}
#define FIRST(a)                                                                                   \
    {                                                                                              \
        .attr = &(a)                                                                               \
    }

RECORD(node, "NodeRecord", FAB_SA_NODE_RECORD, 108, FIRST(lid_attr),
       PART(fab_wire_attr_node_info, 4, struct fab_wire_node_record, info),
       WHOLE(node_desc_attr, 44, struct fab_wire_node_record, desc));
RECORD(port_info, "PortInfoRecord", FAB_SA_PORT_INFO_RECORD, 68, FIRST(port_info_attr),
       PART(fab_wire_attr_port_info, 4, struct fab_wire_port_info_record, info));
RECORD(sl2vl, "SLtoVLMappingTableRecord", FAB_SA_SL2VL_RECORD, 16, FIRST(sl2vl_attr),
       WHOLE(fab_wire_attr_sl2vl, 8, struct fab_wire_sl2vl_record, table));
RECORD(switch_info, "SwitchInfoRecord", FAB_SA_SWITCH_INFO_RECORD, 24, FIRST(lid_attr),
       PART(fab_wire_attr_switch_info, 4, struct fab_wire_switch_info_record, info));
RECORD(lft, "LinearForwardingTableRecord", FAB_SA_LFT_RECORD, 72, FIRST(lft_attr));
RECORD(mft, "MulticastForwardingTableRecord", FAB_SA_MFT_RECORD, 72, FIRST(mft_attr));
RECORD(vlarb, "VLArbitrationTableRecord", FAB_SA_VLARB_RECORD, 72, FIRST(vlarb_attr),
       WHOLE(fab_wire_attr_vlarb, 8, struct fab_wire_vlarb_record, table));
RECORD(sm_info, "SMInfoRecord", FAB_SA_SM_INFO_RECORD, 25, FIRST(lid_attr),
       PART(fab_wire_attr_sm_info, 4, struct fab_wire_sm_info_record, info));
RECORD(pkey, "P_KeyTableRecord", FAB_SA_PKEY_TABLE_RECORD, 72, FIRST(pkey_attr),
       WHOLE(fab_wire_attr_pkey_block, 8, struct fab_wire_pkey_record, table));
RECORD(inform_info, "InformInfoRecord", FAB_SA_INFORM_INFO_RECORD, 60, FIRST(inform_attr),
       PART(fab_wire_attr_inform_info, 24, struct fab_wire_inform_info_record, info));
RECORD(link, "LinkRecord", FAB_SA_LINK_RECORD, 6, FIRST(link_attr));
RECORD(service, "ServiceRecord", FAB_SA_SERVICE_RECORD, 176, FIRST(service_attr));
RECORD(path, "PathRecord", FAB_SA_PATH_RECORD, 64, FIRST(path_attr));
RECORD(mc_member, "MCMemberRecord", FAB_SA_MC_MEMBER_RECORD, 52, FIRST(mc_member_attr));
RECORD(guid_info, "GUIDInfoRecord", FAB_SA_GUID_INFO_RECORD, 72, FIRST(guid_info_attr),
       PART(fab_wire_attr_guid_block, 8, struct fab_wire_guid_info_record, table));
RECORD(trace, "TraceRecord", FAB_SA_TRACE_RECORD, 46, FIRST(trace_attr));
RECORD(multi_path, "MultiPathRecord", FAB_SA_MULTI_PATH_RECORD, 200, FIRST(multi_path_attr));

const struct fab_rec *const fab_wire_recs[FAB_RECS] = {
    &fab_wire_node_record,        &fab_wire_port_info_record,   &fab_wire_sl2vl_record,
    &fab_wire_switch_info_record, &fab_wire_lft_record,         &fab_wire_mft_record,
    &fab_wire_sm_info_record,     &fab_wire_link_record,        &fab_wire_guid_info_record,
    &fab_wire_service_record,     &fab_wire_pkey_record,        &fab_wire_path_record,
    &fab_wire_vlarb_record,       &fab_wire_mc_member_record,   &fab_wire_trace_record,
    &fab_wire_multi_path_record,  &fab_wire_inform_info_record,
};
