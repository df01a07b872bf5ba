/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of fields (tables.c explains them) of PortSamplesControl and its results (IBA
 * 16.1.3.2, 16.1.3.4, 16.1.4.12) and of PortExtendedSpeedsCounters (16.1.4.13). The file also has
 * the tables of the optional attributes that count per kind of error, per VL or per SL (16.1.4,
 * A10.4.4, A13.6). These attributes all have the same layout.
 */
#include "libfabmgr/wire/gs.h"
#include "libfabmgr/wire/table.h"

/* ---- samples --------------------------------------------------------------------------------- */

#define PSC(m, name, at, n, how) SCALAR(struct fab_samples_control, m, name, at, n, how)
static const struct fab_field samples_control[] = {
    PSC(op_code, "OpCode", 0, 8, HEX),
    PSC(port_select, "PortSelect", 8, 8, DEC),
    PSC(tick, "Tick", 16, 8, DEC),
    PSC(counter_width, "CounterWidth", 29, 3, DEC),
    ARRAY(struct fab_samples_control, counter_mask[0], "CounterMask0to9", 34, 3, 10, 3, 1, DEC),
    ARRAY(struct fab_samples_control, counter_mask[10], "CounterMask10to14", 65, 3, 5, 3, 1, DEC),
    PSC(mechanisms, "SampleMechanisms", 80, 8, DEC),
    PSC(status, "SampleStatus", 94, 2, DEC),
    PSC(option_mask, "OptionMask", 96, 64, HEX),
    PSC(vendor_mask, "VendorMask", 160, 64, HEX),
    PSC(start, "SampleStart", 224, 32, DEC),
    PSC(interval, "SampleInterval", 256, 32, DEC),
    PSC(tag, "Tag", 288, 16, HEX),
    ARRAY(struct fab_samples_control, select[0], "CounterSelect", 304, 16, FAB_SAMPLES, 16, 2, HEX),
    PSC(samples_only_mask, "SamplesOnlyOptionMask", 576, 64, HEX),
};
const struct fab_attr fab_wire_attr_samples_control =
    ATTR("PortSamplesControl", FAB_PERF_SAMPLES_CONTROL, 80, struct fab_samples_control,
         samples_control);

#define PSR(m, name, at, n, how) SCALAR(struct fab_samples_result, m, name, at, n, how)
static const struct fab_field samples_result[] = {
    PSR(tag, "Tag", 0, 16, HEX),
    PSR(status, "SampleStatus", 30, 2, DEC),
    ARRAY(struct fab_samples_result, counter[0], "Counter", 32, 32, FAB_SAMPLES, 32, 8, DEC),
};
const struct fab_attr fab_wire_attr_samples_result = ATTR(
    "PortSamplesResult", FAB_PERF_SAMPLES_RESULT, 64, struct fab_samples_result, samples_result);
static const struct fab_field samples_result_ext[] = {
    PSR(tag, "Tag", 0, 16, HEX),
    PSR(status, "SampleStatus", 30, 2, DEC),
    PSR(width, "ExtendedWidth", 32, 2, DEC),
    ARRAY(struct fab_samples_result, counter[0], "Counter", 64, 64, FAB_SAMPLES, 64, 8, DEC),
};
const struct fab_attr fab_wire_attr_samples_result_ext =
    ATTR("PortSamplesResultExtended", FAB_PERF_SAMPLES_RESULT_EXT, 128, struct fab_samples_result,
         samples_result_ext);

/* ---- details --------------------------------------------------------------------------------- */

#define PD(m, name, at, n, how) SCALAR(struct fab_perf_details, m, name, at, n, how)
#define PORT PD(port_select, "PortSelect", 8, 8, DEC)
#define OP_AND_PORT PD(op_code, "OpCode", 0, 8, HEX), PORT
#define SELECT PD(counter_select, "CounterSelect", 16, 16, HEX)
#define EACH(name, n, count) ARRAY(struct fab_perf_details, value[0], name, 32, n, count, n, 4, DEC)

static const struct fab_field rcv_error_details[] = {
    PORT,
    SELECT,
    PD(value[0], "PortLocalPhysicalErrors", 32, 16, DEC),
    PD(value[1], "PortMalformedPacketErrors", 48, 16, DEC),
    PD(value[2], "PortBufferOverrunErrors", 64, 16, DEC),
    PD(value[3], "PortDLIDMappingErrors", 80, 16, DEC),
    PD(value[4], "PortVLMappingErrors", 96, 16, DEC),
    PD(value[5], "PortLoopingErrors", 112, 16, DEC),
};
static const struct fab_field xmit_discard_details[] = {
    PORT,
    SELECT,
    PD(value[0], "PortInactiveDiscards", 32, 16, DEC),
    PD(value[1], "PortNeighborMTUDiscards", 48, 16, DEC),
    PD(value[2], "PortSwLifetimeLimitDiscards", 64, 16, DEC),
    PD(value[3], "PortSwHOQLifetimeLimitDiscards", 80, 16, DEC),
};
static const struct fab_field op_rcv[] = {
    OP_AND_PORT,
    SELECT,
    PD(value[0], "PortOpRcvPkts", 32, 32, DEC),
    PD(value[1], "PortOpRcvData", 64, 32, DEC),
};
static const struct fab_field flow_ctl[] = {
    PORT,
    SELECT,
    PD(value[0], "PortXmitFlowPkts", 32, 32, DEC),
    PD(value[1], "PortRcvFlowPkts", 64, 32, DEC),
};
static const struct fab_field vl_op_packets[] = {OP_AND_PORT, SELECT,
                                                 EACH("PortVLOpPackets", 16, 16)};
static const struct fab_field vl_op_data[] = {OP_AND_PORT, SELECT, EACH("PortVLOpData", 32, 16)};
static const struct fab_field vl_flow_ctl_errors[] = {PORT, SELECT,
                                                      EACH("PortVLXmitFlowCtlUpdateErrors", 2, 16)};
static const struct fab_field vl_xmit_wait[] = {PORT, SELECT, EACH("PortVLXmitWait", 16, 16)};
static const struct fab_field sw_vl_congestion[] = {PORT, SELECT,
                                                    EACH("SWPortVLCongestion", 16, 16)};
static const struct fab_field rcv_con_ctrl[] = {
    PORT,
    SELECT,
    PD(value[0], "PortPktRcvFECN", 32, 32, DEC),
    PD(value[1], "PortPktRcvBECN", 64, 32, DEC),
};
static const struct fab_field sl_rcv_fecn[] = {PORT, SELECT, EACH("PortSLRcvFECN", 32, 16)};
static const struct fab_field sl_rcv_becn[] = {PORT, SELECT, EACH("PortSLRcvBECN", 32, 16)};
static const struct fab_field xmit_con_ctrl[] = {PORT, SELECT,
                                                 PD(value[0], "PortXmitTimeCong", 32, 32, DEC)};
static const struct fab_field vl_xmit_time_cong[] = {PORT, SELECT,
                                                     EACH("PortVLXmitTimeCong", 32, 15)};
static const struct fab_field xmit_data_sl[] = {PORT, SELECT, EACH("PortXmitDataSL", 32, 16)};
static const struct fab_field rcv_data_sl[] = {PORT, SELECT, EACH("PortRcvDataSL", 32, 16)};

#define DETAILS(name, id, bytes, fields) ATTR(name, id, bytes, struct fab_perf_details, fields)
const struct fab_attr fab_wire_attr_perf_details[FAB_PERF_DETAILS] = {
    DETAILS("PortRcvErrorDetails", FAB_PERF_RCV_ERROR_DETAILS, 16, rcv_error_details),
    DETAILS("PortXmitDiscardDetails", FAB_PERF_XMIT_DISCARD_DETAILS, 12, xmit_discard_details),
    DETAILS("PortOpRcvCounters", FAB_PERF_OP_RCV, 12, op_rcv),
    DETAILS("PortFlowCtlCounters", FAB_PERF_FLOW_CTL, 12, flow_ctl),
    DETAILS("PortVLOpPackets", FAB_PERF_VL_OP_PACKETS, 36, vl_op_packets),
    DETAILS("PortVLOpData", FAB_PERF_VL_OP_DATA, 68, vl_op_data),
    DETAILS("PortVLXmitFlowCtlUpdateErrors", FAB_PERF_VL_FLOW_CTL_ERRORS, 8, vl_flow_ctl_errors),
    DETAILS("PortVLXmitWaitCounters", FAB_PERF_VL_XMIT_WAIT, 36, vl_xmit_wait),
    DETAILS("SwPortVLCongestion", FAB_PERF_SW_VL_CONGESTION, 36, sw_vl_congestion),
    DETAILS("PortRcvConCtrl", FAB_PERF_RCV_CON_CTRL, 12, rcv_con_ctrl),
    DETAILS("PortSLRcvFECN", FAB_PERF_SL_RCV_FECN, 68, sl_rcv_fecn),
    DETAILS("PortSLRcvBECN", FAB_PERF_SL_RCV_BECN, 68, sl_rcv_becn),
    DETAILS("PortXmitConCtrl", FAB_PERF_XMIT_CON_CTRL, 8, xmit_con_ctrl),
    DETAILS("PortVLXmitTimeCong", FAB_PERF_VL_XMIT_TIME_CONG, 64, vl_xmit_time_cong),
    DETAILS("PortXmitDataSL", FAB_PERF_XMIT_DATA_SL, 68, xmit_data_sl),
    DETAILS("PortRcvDataSL", FAB_PERF_RCV_DATA_SL, 68, rcv_data_sl),
};

#define PES(m, name, at, n, how) SCALAR(struct fab_perf_ext_speeds, m, name, at, n, how)
#define LANES(m, name, at, n)                                                                      \
    ARRAY(struct fab_perf_ext_speeds, m[0], name, at, n, 12, n, n / 8, DEC)
static const struct fab_field ext_speeds[] = {
    PES(port_select, "PortSelect", 8, 8, DEC),
    PES(counter_select, "CounterSelect", 64, 64, HEX),
    PES(sync_header_errors, "SyncHeaderErrorCounter", 128, 16, DEC),
    PES(unknown_blocks, "UnknownBlockCounter", 144, 16, DEC),
    LANES(lane_errors, "ErrorDetectionCounterLane", 160, 16),
    LANES(fec_correctable, "FECCorrectableBlockCtrLane", 352, 32),
    LANES(fec_uncorrectable, "FECUncorrectableBlockCtrLane", 736, 32),
};
const struct fab_attr fab_wire_attr_perf_ext_speeds = ATTR(
    "PortExtendedSpeedsCounters", FAB_PERF_EXT_SPEEDS, 140, struct fab_perf_ext_speeds, ext_speeds);
