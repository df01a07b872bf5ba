/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * General services: the attributes of performance management (IBA 16.1) and congestion control (IBA
 * annex A10), as structs in host byte order. Attribute ids of different classes overlap, so
 * fab_wire_attr_of_class needs the class, too.
 */
#ifndef LIBFABMGR_WIRE_GS_H
#define LIBFABMGR_WIRE_GS_H

#include "libfabmgr/wire/wire.h"

/* Byte offsets in MADs of performance management and congestion control. */
#define FAB_PERF_DATA 64 /* offset in bytes of the attribute in a MAD of performance management */
#define FAB_CC_KEY 24
#define FAB_CC_DATA 64 /* offset in bytes of the attribute in a MAD of congestion control */
/* offset in bytes of the attribute CongestionLog, which is longer than the other attributes */
#define FAB_CC_LOG_DATA 32
/* size in bytes of an attribute that begins at FAB_PERF_DATA or FAB_CC_DATA */
#define FAB_GS_DATA 192

enum fab_gs_attr_id {
    FAB_PERF_SAMPLES_CONTROL = 0x0010,
    FAB_PERF_SAMPLES_RESULT = 0x0011,
    FAB_PERF_PORT_COUNTERS = 0x0012,
    FAB_PERF_RCV_ERROR_DETAILS = 0x0015,
    FAB_PERF_XMIT_DISCARD_DETAILS = 0x0016,
    FAB_PERF_OP_RCV = 0x0017,
    FAB_PERF_FLOW_CTL = 0x0018,
    FAB_PERF_VL_OP_PACKETS = 0x0019,
    FAB_PERF_VL_OP_DATA = 0x001a,
    FAB_PERF_VL_FLOW_CTL_ERRORS = 0x001b,
    FAB_PERF_VL_XMIT_WAIT = 0x001c,
    FAB_PERF_PORT_COUNTERS_EXT = 0x001d,
    FAB_PERF_SAMPLES_RESULT_EXT = 0x001e,
    FAB_PERF_EXT_SPEEDS = 0x001f,
    FAB_PERF_SW_VL_CONGESTION = 0x0030,
    FAB_PERF_RCV_CON_CTRL = 0x0031,
    FAB_PERF_SL_RCV_FECN = 0x0032,
    FAB_PERF_SL_RCV_BECN = 0x0033,
    FAB_PERF_XMIT_CON_CTRL = 0x0034,
    FAB_PERF_VL_XMIT_TIME_CONG = 0x0035,
    FAB_PERF_XMIT_DATA_SL = 0x0036,
    FAB_PERF_RCV_DATA_SL = 0x0037,
    FAB_CC_CONGESTION_INFO = 0x0011,
    FAB_CC_KEY_INFO = 0x0012,
    FAB_CC_LOG = 0x0013,
    FAB_CC_SWITCH_SETTING = 0x0014,
    FAB_CC_SWITCH_PORT_SETTING = 0x0015,
    FAB_CC_CA_SETTING = 0x0016,
    FAB_CC_TABLE = 0x0017,
    FAB_CC_TIME_STAMP = 0x0018,
};

struct fab_class_port_info { /* defined in IBA 13.4.8.1 */
    uint8_t base_version, class_version;
    uint16_t cap_mask;
    uint32_t cap_mask2; /* 27 bits */
    uint8_t resp_time;  /* RespTimeValue, 5 bits */
    uint64_t redirect_gid[2];
    uint8_t redirect_tc, redirect_sl;
    uint32_t redirect_fl;
    uint16_t redirect_lid, redirect_pkey;
    uint32_t redirect_qp, redirect_qkey;
    uint64_t trap_gid[2];
    uint8_t trap_tc, trap_sl;
    uint32_t trap_fl;
    uint16_t trap_lid, trap_pkey;
    uint8_t trap_hl;
    uint32_t trap_qp, trap_qkey;
};
/* Bits of CapabilityMask in ClassPortInfo of performance management (IBA 16.1.3.1). */
#define FAB_PERF_ALL_PORT_SELECT 0x0100
#define FAB_PERF_EXT_WIDTH 0x0200
#define FAB_PERF_XMIT_WAIT 0x1000
#define FAB_PERF_QP1_DROPPED 0x8000
/* Bit of CapabilityMask2: PortCountersExtended has error counters. */
#define FAB_PERF2_ERRORS_EXT 0x00000002

struct fab_port_counters { /* defined in IBA 16.1.3.5 */
    uint8_t port_select;
    uint16_t counter_select, symbol_errors;
    uint8_t link_error_recovery, link_downed;
    uint16_t rcv_errors, rcv_remote_physical_errors, rcv_switch_relay_errors, xmit_discards;
    uint8_t xmit_constraint_errors, rcv_constraint_errors, counter_select2;
    uint8_t local_link_integrity_errors, excessive_buffer_overrun_errors; /* 4 bits each */
    uint16_t qp1_dropped, vl15_dropped;
    /* xmit_data and rcv_data count words of 4 bytes. */
    uint32_t xmit_data, rcv_data, xmit_pkts, rcv_pkts, xmit_wait;
};
struct fab_port_counters_ext { /* defined in IBA 16.1.4.11 */
    uint8_t port_select;
    uint16_t counter_select;
    uint32_t counter_select2;
    uint64_t xmit_data, rcv_data, xmit_pkts, rcv_pkts;
    uint64_t unicast_xmit_pkts, unicast_rcv_pkts, multicast_xmit_pkts, multicast_rcv_pkts;
    uint64_t symbol_errors, link_error_recovery, link_downed, rcv_errors;
    uint64_t rcv_remote_physical_errors, rcv_switch_relay_errors, xmit_discards;
    uint64_t xmit_constraint_errors, rcv_constraint_errors, local_link_integrity_errors;
    uint64_t excessive_buffer_overrun_errors, vl15_dropped, xmit_wait, qp1_dropped;
};

/* One struct for all attributes that count per VL, per SL, or per kind of error (16.1.4.1-10,
 * A10.4.4, A13.6). The attribute determines how many of the values are in use, and which bit of
 * CounterSelect belongs to which value. */
struct fab_perf_details {
    /* op_code exists only in the attributes 0x17, 0x19 and 0x1a */
    uint8_t op_code, port_select;
    uint16_t counter_select;
    uint32_t value[16];
};
struct fab_perf_ext_speeds { /* defined in IBA 16.1.4.13 */
    uint8_t port_select;
    uint64_t counter_select;
    uint16_t sync_header_errors, unknown_blocks, lane_errors[12];
    uint32_t fec_correctable[12], fec_uncorrectable[12];
};
#define FAB_SAMPLES 15
enum fab_sample_status { FAB_SAMPLE_DONE = 0, FAB_SAMPLE_STARTS = 1, FAB_SAMPLE_RUNS = 2 };
struct fab_samples_control { /* defined in IBA 16.1.3.2 */
    uint8_t op_code, port_select;
    /* length of a tick; the value n means 4 ns * (n + 1) */
    uint8_t tick;
    uint8_t counter_width; /* CounterWidth; 4 means that counters have 32 bits */
    /* for each of the sample counters, a bitset of the kinds of port counters that it can sample: 1
     * mandatory, 2 optional, 4 vendor counters */
    uint8_t counter_mask[FAB_SAMPLES];
    uint8_t mechanisms, status; /* status: enum fab_sample_status */
    uint64_t option_mask, vendor_mask;
    /* time until the sampling starts, and its duration, both in ticks (member `tick`) */
    uint32_t start, interval;
    uint16_t tag, select[FAB_SAMPLES];
    uint64_t samples_only_mask;
};
/* PortSamplesResult and PortSamplesResultExtended, IBA 16.1.3.4 and 16.1.4.12 */
struct fab_samples_result {
    uint16_t tag;
    uint8_t status;
    /* ExtendedWidth of PortSamplesResultExtended; 2 means that counters have 64 bits */
    uint8_t width;
    uint64_t counter[FAB_SAMPLES];
};

struct fab_cc_info { /* defined in IBA A10.4.3.3 */
    uint16_t info;
    /* size of the congestion control table, in blocks of 64 entries */
    uint8_t table_cap;
};
struct fab_cc_key_info { /* defined in IBA A10.4.3.4 */
    uint64_t key;
    uint8_t protect;
    uint16_t lease, violations;
};
/* CongestionLog of a switch, IBA A10.4.3.5 */
struct fab_cc_log {
    uint8_t type, flags;
    uint16_t count;
    uint32_t time_stamp;
    uint8_t port_map[32];
    struct {
        uint16_t slid, dlid;
        uint8_t sl;
        uint32_t time_stamp;
    } entry[15];
};
/* CongestionLog of an adapter, IBA A10.4.3.5 */
struct fab_cc_log_ca {
    uint8_t type, flags;
    uint16_t count, event_map;
    uint32_t time_stamp;
    struct {
        uint32_t local_qp, remote_qp;
        uint8_t sl, service_type;
        uint16_t local_lid, remote_lid;
        uint32_t time_stamp;
    } entry[13];
};
struct fab_cc_switch_setting { /* defined in IBA A10.4.3.6 */
    uint32_t control_map;
    uint8_t victim_mask[32], credit_mask[32];
    uint8_t threshold, packet_size, cs_threshold;
    uint16_t cs_return_delay, marking_rate;
};
/* SwitchPortCongestionSetting, IBA A10.4.3.7: one block, with the settings of 32 ports */
struct fab_cc_switch_port_setting {
    struct {
        uint8_t valid, control_type, threshold, packet_size;
        uint16_t marking_rate;
    } port[32];
};
struct fab_cc_ca_setting { /* defined in IBA A10.4.3.8 */
    uint16_t port_control, control_map;
    struct {
        uint16_t timer;
        uint8_t increase, trigger_threshold, min;
    } sl[16];
};
/* CongestionControlTable, IBA A10.4.3.9: one block, with 64 entries */
struct fab_cc_table {
    uint16_t limit;
    struct {
        uint8_t shift;       /* 2 bits */
        uint16_t multiplier; /* 14 bits */
    } entry[64];
};
struct fab_cc_time_stamp {
    uint32_t value; /* time in units of 1.024 us */
};

extern const struct fab_attr fab_wire_attr_class_port_info, fab_wire_attr_port_counters,
    fab_wire_attr_port_counters_ext, fab_wire_attr_samples_control, fab_wire_attr_samples_result,
    fab_wire_attr_samples_result_ext, fab_wire_attr_perf_ext_speeds, fab_wire_attr_cc_info,
    fab_wire_attr_cc_key_info, fab_wire_attr_cc_log, fab_wire_attr_cc_log_ca,
    fab_wire_attr_cc_switch_setting, fab_wire_attr_cc_switch_port_setting,
    fab_wire_attr_cc_ca_setting, fab_wire_attr_cc_table, fab_wire_attr_cc_time_stamp;
#define FAB_PERF_DETAILS 16
/* The field tables of the attributes that use struct fab_perf_details, in ascending order of
 * attribute ids. */
extern const struct fab_attr fab_wire_attr_perf_details[FAB_PERF_DETAILS];
/* Returns the field table of an attribute of a management class: FAB_CLASS_PERF, FAB_CLASS_CC,
 * FAB_CLASS_VENDOR, or a class of subnet management. For ClassPortInfo and Notice, any other class
 * is possible, too. Returns NULL if the attribute has no table. For CongestionLog, returns the
 * layout that switches use; fab_wire_attr_cc_log_ca is the layout of adapters. */
const struct fab_attr *fab_wire_attr_of_class(uint8_t mgmt_class, uint16_t id);

#endif
