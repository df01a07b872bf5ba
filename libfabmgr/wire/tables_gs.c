/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of fields (tables.c explains them) of ClassPortInfo (IBA 13.4.8.1), port counters
 * (16.1.3.5, 16.1.4.11) and congestion control (A10.4.3). tables_perf.c has the tables for samples
 * and detailed counters.
 */
#include "libfabmgr/wire/gs.h"
#include "libfabmgr/wire/table.h"
#include "libfabmgr/wire/vendor.h"

#define CPI(m, name, at, n, how) SCALAR(struct fab_class_port_info, m, name, at, n, how)
static const struct fab_field class_port_info[] = {
    CPI(base_version, "BaseVersion", 0, 8, DEC),
    CPI(class_version, "ClassVersion", 8, 8, DEC),
    CPI(cap_mask, "CapabilityMask", 16, 16, HEX),
    CPI(cap_mask2, "CapabilityMask2", 32, 27, HEX),
    CPI(resp_time, "RespTimeValue", 59, 5, DEC),
    ARRAY(struct fab_class_port_info, redirect_gid[0], "RedirectGID", 64, 64, 2, 64, 8, HEX),
    CPI(redirect_tc, "RedirectTC", 192, 8, HEX),
    CPI(redirect_sl, "RedirectSL", 200, 4, DEC),
    CPI(redirect_fl, "RedirectFL", 204, 20, HEX),
    CPI(redirect_lid, "RedirectLID", 224, 16, DEC),
    CPI(redirect_pkey, "RedirectP_Key", 240, 16, HEX),
    CPI(redirect_qp, "RedirectQP", 264, 24, HEX),
    CPI(redirect_qkey, "RedirectQ_Key", 288, 32, HEX),
    ARRAY(struct fab_class_port_info, trap_gid[0], "TrapGID", 320, 64, 2, 64, 8, HEX),
    CPI(trap_tc, "TrapTC", 448, 8, HEX),
    CPI(trap_sl, "TrapSL", 456, 4, DEC),
    CPI(trap_fl, "TrapFL", 460, 20, HEX),
    CPI(trap_lid, "TrapLID", 480, 16, DEC),
    CPI(trap_pkey, "TrapP_Key", 496, 16, HEX),
    CPI(trap_hl, "TrapHL", 512, 8, DEC),
    CPI(trap_qp, "TrapQP", 520, 24, HEX),
    CPI(trap_qkey, "TrapQ_Key", 544, 32, HEX),
};
const struct fab_attr fab_wire_attr_class_port_info = ATTR(
    "ClassPortInfo", FAB_ATTR_CLASS_PORT_INFO, 72, struct fab_class_port_info, class_port_info);

/* ---- performance ----------------------------------------------------------------------------- */

#define PC(m, name, at, n) SCALAR(struct fab_port_counters, m, name, at, n, DEC)
static const struct fab_field port_counters[] = {
    PC(port_select, "PortSelect", 8, 8),
    SCALAR(struct fab_port_counters, counter_select, "CounterSelect", 16, 16, HEX),
    PC(symbol_errors, "SymbolErrorCounter", 32, 16),
    PC(link_error_recovery, "LinkErrorRecoveryCounter", 48, 8),
    PC(link_downed, "LinkDownedCounter", 56, 8),
    PC(rcv_errors, "PortRcvErrors", 64, 16),
    PC(rcv_remote_physical_errors, "PortRcvRemotePhysicalErrors", 80, 16),
    PC(rcv_switch_relay_errors, "PortRcvSwitchRelayErrors", 96, 16),
    PC(xmit_discards, "PortXmitDiscards", 112, 16),
    PC(xmit_constraint_errors, "PortXmitConstraintErrors", 128, 8),
    PC(rcv_constraint_errors, "PortRcvConstraintErrors", 136, 8),
    SCALAR(struct fab_port_counters, counter_select2, "CounterSelect2", 144, 8, HEX),
    PC(local_link_integrity_errors, "LocalLinkIntegrityErrors", 152, 4),
    PC(excessive_buffer_overrun_errors, "ExcessiveBufferOverrunErrors", 156, 4),
    PC(qp1_dropped, "QP1Dropped", 160, 16),
    PC(vl15_dropped, "VL15Dropped", 176, 16),
    PC(xmit_data, "PortXmitData", 192, 32),
    PC(rcv_data, "PortRcvData", 224, 32),
    PC(xmit_pkts, "PortXmitPkts", 256, 32),
    PC(rcv_pkts, "PortRcvPkts", 288, 32),
    PC(xmit_wait, "PortXmitWait", 320, 32),
};
const struct fab_attr fab_wire_attr_port_counters =
    ATTR("PortCounters", FAB_PERF_PORT_COUNTERS, 44, struct fab_port_counters, port_counters);

#define PCX(m, name, at) SCALAR(struct fab_port_counters_ext, m, name, at, 64, DEC)
static const struct fab_field port_counters_ext[] = {
    SCALAR(struct fab_port_counters_ext, port_select, "PortSelect", 8, 8, DEC),
    SCALAR(struct fab_port_counters_ext, counter_select, "CounterSelect", 16, 16, HEX),
    SCALAR(struct fab_port_counters_ext, counter_select2, "CounterSelect2", 32, 32, HEX),
    PCX(xmit_data, "PortXmitData", 64),
    PCX(rcv_data, "PortRcvData", 128),
    PCX(xmit_pkts, "PortXmitPkts", 192),
    PCX(rcv_pkts, "PortRcvPkts", 256),
    PCX(unicast_xmit_pkts, "PortUnicastXmitPkts", 320),
    PCX(unicast_rcv_pkts, "PortUnicastRcvPkts", 384),
    PCX(multicast_xmit_pkts, "PortMulticastXmitPkts", 448),
    PCX(multicast_rcv_pkts, "PortMulticastRcvPkts", 512),
    PCX(symbol_errors, "SymbolErrorCounter", 576),
    PCX(link_error_recovery, "LinkErrorRecoveryCounter", 640),
    PCX(link_downed, "LinkDownedCounter", 704),
    PCX(rcv_errors, "PortRcvErrors", 768),
    PCX(rcv_remote_physical_errors, "PortRcvRemotePhysicalErrors", 832),
    PCX(rcv_switch_relay_errors, "PortRcvSwitchRelayErrors", 896),
    PCX(xmit_discards, "PortXmitDiscards", 960),
    PCX(xmit_constraint_errors, "PortXmitConstraintErrors", 1024),
    PCX(rcv_constraint_errors, "PortRcvConstraintErrors", 1088),
    PCX(local_link_integrity_errors, "LocalLinkIntegrityErrors", 1152),
    PCX(excessive_buffer_overrun_errors, "ExcessiveBufferOverrunErrors", 1216),
    PCX(vl15_dropped, "VL15Dropped", 1280),
    PCX(xmit_wait, "PortXmitWait", 1344),
    PCX(qp1_dropped, "QP1Dropped", 1408),
};
const struct fab_attr fab_wire_attr_port_counters_ext =
    ATTR("PortCountersExtended", FAB_PERF_PORT_COUNTERS_EXT, 184, struct fab_port_counters_ext,
         port_counters_ext);

/* ---- congestion control ---------------------------------------------------------------------- */

static const struct fab_field cc_info[] = {
    SCALAR(struct fab_cc_info, info, "CongestionInfo", 0, 16, HEX),
    SCALAR(struct fab_cc_info, table_cap, "ControlTableCap", 16, 8, DEC),
};
const struct fab_attr fab_wire_attr_cc_info =
    ATTR("CongestionInfo", FAB_CC_CONGESTION_INFO, 4, struct fab_cc_info, cc_info);

static const struct fab_field cc_key_info[] = {
    SCALAR(struct fab_cc_key_info, key, "CC_Key", 0, 64, HEX),
    SCALAR(struct fab_cc_key_info, protect, "CC_KeyProtectBit", 64, 1, DEC),
    SCALAR(struct fab_cc_key_info, lease, "CC_KeyLeasePeriod", 80, 16, DEC),
    SCALAR(struct fab_cc_key_info, violations, "CC_KeyViolations", 96, 16, DEC),
};
const struct fab_attr fab_wire_attr_cc_key_info =
    ATTR("CongestionKeyInfo", FAB_CC_KEY_INFO, 16, struct fab_cc_key_info, cc_key_info);

#define STRIDE(type, m) sizeof(((const type *)0)->m[0])
#define LOG(m, name, at, n, how)                                                                   \
    ARRAY(struct fab_cc_log, entry[0].m, name, at, n, 15, 96, STRIDE(struct fab_cc_log, entry), how)
static const struct fab_field cc_log[] = {
    SCALAR(struct fab_cc_log, type, "LogType", 0, 8, DEC),
    SCALAR(struct fab_cc_log, flags, "CongestionFlags", 8, 8, HEX),
    SCALAR(struct fab_cc_log, count, "LogEventsCounter", 16, 16, DEC),
    SCALAR(struct fab_cc_log, time_stamp, "CurrentTimeStamp", 32, 32, DEC),
    ARRAY(struct fab_cc_log, port_map[0], "PortMap", 64, 8, 32, 8, 1, HEX),
    LOG(slid, "SLID", 320, 16, DEC),
    LOG(dlid, "DLID", 336, 16, DEC),
    LOG(sl, "SL", 352, 4, DEC),
    LOG(time_stamp, "Timestamp", 384, 32, DEC),
};
const struct fab_attr fab_wire_attr_cc_log =
    ATTR("CongestionLog", FAB_CC_LOG, 220, struct fab_cc_log, cc_log);

#define LOG_CA(m, name, at, n, how)                                                                \
    ARRAY(struct fab_cc_log_ca, entry[0].m, name, at, n, 13, 128,                                  \
          STRIDE(struct fab_cc_log_ca, entry), how)
static const struct fab_field cc_log_ca[] = {
    SCALAR(struct fab_cc_log_ca, type, "LogType", 0, 8, DEC),
    SCALAR(struct fab_cc_log_ca, flags, "CongestionFlags", 8, 8, HEX),
    SCALAR(struct fab_cc_log_ca, count, "ThresholdEventCounter", 16, 16, DEC),
    SCALAR(struct fab_cc_log_ca, event_map, "ThresholdCongestionEventMap", 32, 16, HEX),
    SCALAR(struct fab_cc_log_ca, time_stamp, "CurrentTimeStamp", 64, 32, DEC),
    LOG_CA(local_qp, "Local_QP_CN_Entry", 96, 24, HEX),
    LOG_CA(sl, "SL_CN_Entry", 120, 4, DEC),
    LOG_CA(service_type, "Service_Type_CN_Entry", 124, 4, HEX),
    LOG_CA(remote_qp, "Remote_QP_Number_CN_Entry", 128, 24, HEX),
    LOG_CA(local_lid, "Local_LID_CN", 160, 16, DEC),
    LOG_CA(remote_lid, "Remote_LID_CN_Entry", 176, 16, DEC),
    LOG_CA(time_stamp, "Timestamp_CN_Entry", 192, 32, DEC),
};
const struct fab_attr fab_wire_attr_cc_log_ca =
    ATTR("CongestionLog", FAB_CC_LOG, 220, struct fab_cc_log_ca, cc_log_ca);

#define SS(m, name, at, n, how) SCALAR(struct fab_cc_switch_setting, m, name, at, n, how)
static const struct fab_field cc_switch_setting[] = {
    SS(control_map, "Control_Map", 0, 32, HEX),
    ARRAY(struct fab_cc_switch_setting, victim_mask[0], "Victim_Mask", 32, 8, 32, 8, 1, HEX),
    ARRAY(struct fab_cc_switch_setting, credit_mask[0], "Credit_Mask", 288, 8, 32, 8, 1, HEX),
    SS(threshold, "Threshold", 544, 4, DEC),
    SS(packet_size, "Packet_Size", 552, 8, DEC),
    SS(cs_threshold, "CS_Threshold", 560, 4, DEC),
    SS(cs_return_delay, "CS_ReturnDelay", 576, 16, HEX),
    SS(marking_rate, "Marking_Rate", 592, 16, DEC),
};
const struct fab_attr fab_wire_attr_cc_switch_setting =
    ATTR("SwitchCongestionSetting", FAB_CC_SWITCH_SETTING, 76, struct fab_cc_switch_setting,
         cc_switch_setting);

#define SP(m, name, at, n)                                                                         \
    ARRAY(struct fab_cc_switch_port_setting, port[0].m, name, at, n, 32, 32,                       \
          STRIDE(struct fab_cc_switch_port_setting, port), DEC)
static const struct fab_field cc_switch_port_setting[] = {
    SP(valid, "Valid", 0, 1),
    SP(control_type, "Control_Type", 1, 1),
    SP(threshold, "Threshold", 4, 4),
    SP(packet_size, "Packet_Size", 8, 8),
    SP(marking_rate, "Cong_Parm_Marking_Rate", 16, 16),
};
const struct fab_attr fab_wire_attr_cc_switch_port_setting =
    ATTR("SwitchPortCongestionSetting", FAB_CC_SWITCH_PORT_SETTING, 128,
         struct fab_cc_switch_port_setting, cc_switch_port_setting);

#define CS(m, name, at, n)                                                                         \
    ARRAY(struct fab_cc_ca_setting, sl[0].m, name, at, n, 16, 64,                                  \
          STRIDE(struct fab_cc_ca_setting, sl), DEC)
static const struct fab_field cc_ca_setting[] = {
    SCALAR(struct fab_cc_ca_setting, port_control, "Port_Control", 0, 16, HEX),
    SCALAR(struct fab_cc_ca_setting, control_map, "Control_Map", 16, 16, HEX),
    CS(timer, "CCTI_Timer", 32, 16),
    CS(increase, "CCTI_Increase", 48, 8),
    CS(trigger_threshold, "Trigger_Threshold", 56, 8),
    CS(min, "CCTI_Min", 64, 8),
};
const struct fab_attr fab_wire_attr_cc_ca_setting =
    ATTR("CACongestionSetting", FAB_CC_CA_SETTING, 132, struct fab_cc_ca_setting, cc_ca_setting);

#define CT(m, name, at, n)                                                                         \
    ARRAY(struct fab_cc_table, entry[0].m, name, at, n, 64, 16,                                    \
          STRIDE(struct fab_cc_table, entry), DEC)
static const struct fab_field cc_table[] = {
    SCALAR(struct fab_cc_table, limit, "CCTI_Limit", 0, 16, DEC),
    CT(shift, "CCT_Shift", 32, 2),
    CT(multiplier, "CCT_Multiplier", 34, 14),
};
const struct fab_attr fab_wire_attr_cc_table =
    ATTR("CongestionControlTable", FAB_CC_TABLE, 132, struct fab_cc_table, cc_table);

static const struct fab_field cc_time_stamp[] = {
    SCALAR(struct fab_cc_time_stamp, value, "TimeStamp", 0, 32, DEC),
};
const struct fab_attr fab_wire_attr_cc_time_stamp =
    ATTR("TimeStamp", FAB_CC_TIME_STAMP, 4, struct fab_cc_time_stamp, cc_time_stamp);

/* ---- look-up --------------------------------------------------------------------------------- */

static const struct fab_attr *find(const struct fab_attr *const *all, size_t count, uint16_t id)
{
    for (size_t i = 0; i < count; i++)
        if (all[i]->id == id)
            return all[i];
    return NULL;
}

const struct fab_attr *fab_wire_attr_of_class(uint8_t mgmt_class, uint16_t id)
{
    static const struct fab_attr *const perf[] = {
        &fab_wire_attr_port_counters,      &fab_wire_attr_port_counters_ext,
        &fab_wire_attr_samples_control,    &fab_wire_attr_samples_result,
        &fab_wire_attr_samples_result_ext, &fab_wire_attr_perf_ext_speeds,
    };
    static const struct fab_attr *const cc[] = {
        &fab_wire_attr_cc_info,
        &fab_wire_attr_cc_key_info,
        &fab_wire_attr_cc_log,
        &fab_wire_attr_cc_switch_setting,
        &fab_wire_attr_cc_switch_port_setting,
        &fab_wire_attr_cc_ca_setting,
        &fab_wire_attr_cc_table,
        &fab_wire_attr_cc_time_stamp,
    };
    if (mgmt_class == FAB_CLASS_SMP_LID || mgmt_class == FAB_CLASS_SMP_DIRECTED)
        return fab_wire_attr_by_id(id);
    if (id == FAB_ATTR_CLASS_PORT_INFO)
        return &fab_wire_attr_class_port_info;
    if (id == FAB_ATTR_NOTICE)
        return &fab_wire_attr_notice;
    for (size_t i = 0; mgmt_class == FAB_CLASS_PERF && i < FAB_PERF_DETAILS; i++)
        if (fab_wire_attr_perf_details[i].id == id)
            return &fab_wire_attr_perf_details[i];
    if (mgmt_class == FAB_CLASS_PERF)
        return find(perf, sizeof perf / sizeof perf[0], id);
    if (mgmt_class == FAB_CLASS_VENDOR)
        return id == FAB_VENDOR_GENERAL_INFO ? &fab_wire_attr_general_info : NULL;
    return mgmt_class == FAB_CLASS_CC ? find(cc, sizeof cc / sizeof cc[0], id) : NULL;
}
