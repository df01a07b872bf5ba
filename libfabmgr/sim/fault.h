/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a simulated fabric. A fault begins at the current time of the simulation. A lasting
 * fault continues as time advances (fab_sim_advance). A link fault applies to both ends of the
 * link; the caller may name either port.
 *
 * All functions here whose result is an int return OK, NOT_FOUND (no such node or port, or no link
 * at the port), INVAL (a value out of its range) or NOMEM. fab_sim_increment and fab_sim_bit_errors
 * also return LIMIT (too many counters are rising).
 */
#ifndef LIBFABMGR_SIM_FAULT_H
#define LIBFABMGR_SIM_FAULT_H

#include "libfabmgr/sim/sim.h"

/* ---- links (fab_sim_unlink and fab_sim_relink are in sim.h) ---------------------------------- */

/* Pulls the cable at a port and plugs it in again half a period later. Does this `count` times,
 * once every period_us. */
int fab_sim_flap(struct fab_sim *s, uint32_t node, uint8_t port, uint64_t period_us,
                 uint32_t count);
/* Limits the width of the link to `lanes` (1, 2, 4, 8 or 12; 0: as in the snapshot) and its
 * speed to `speed` ("SDR" to "XDR"; NULL: as in the snapshot). The link then trains again. */
int fab_sim_degrade(struct fab_sim *s, uint32_t node, uint8_t port, unsigned lanes,
                    const char *speed);

/* Corrupts packets on the link in both directions. `share` (0..1) is the share of the packets that
 * are corrupted. The receiving port drops these packets and counts them. */
int fab_sim_noise(struct fab_sim *s, uint32_t node, uint8_t port, double share);
/* Sets the bit error rate of the link to `rate` (0..1). Packets with a wrong bit are lost. At both
 * ends, SymbolErrorCounter rises by the bit errors that the link has at its full data rate, even
 * without traffic. A good cable has a bit error rate of 1e-12 or less. */
int fab_sim_bit_errors(struct fab_sim *s, uint32_t node, uint8_t port, double rate);

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Switches a node off. Without power, the node answers and forwards nothing, its links are down,
 * and it loses its LIDs, tables and keys. When it is switched on again, it is unresponsive for
 * boot_us; then its ports come up one after the other, step_us apart. */
int fab_sim_power_off(struct fab_sim *s, uint32_t node);
int fab_sim_power_on(struct fab_sim *s, uint32_t node, uint64_t boot_us, uint64_t step_us);
/* Delays each answer of the node's agents by late_us plus a random time from 0 to spread_us. If
 * late_us and spread_us are 0, the delay ends. */
int fab_sim_delay(struct fab_sim *s, uint32_t node, uint32_t late_us, uint32_t spread_us);

/* Heats the module at a port (port 0: the ASIC of the node) by `degrees` above its usual
 * temperature. `degrees` is in degrees Celsius, -100 to 100. */
int fab_sim_heat(struct fab_sim *s, uint32_t node, uint8_t port, int degrees);
/* Sets the firmware version of the node. `version` is a text such as "28.39.1002": three numbers of
 * at most 9999, separated by points. version == NULL: the node has its usual firmware again.
 * Returns INVAL if the text is not a version. */
int fab_sim_firmware(struct fab_sim *s, uint32_t node, const char *version);
/* Number of fans of a switch; an adapter has none. */
#define FAB_SIM_FANS 4u
/* Sets the speed of fan number `fan` (0 to FAB_SIM_FANS - 1) to `rpm`, in rotations per minute. rpm
 * 0: the fan stops; FAB_SIM_FAN_USUAL: the fan has its usual speed again. Returns NOT_FOUND if
 * there is no such fan. */
#define FAB_SIM_FAN_USUAL UINT16_MAX
int fab_sim_fan(struct fab_sim *s, uint32_t node, uint8_t fan, uint16_t rpm);
/* Replaces the cable or optic at a port by another one of the same kind, which has another serial
 * number. A copper cable or active optical cable changes at both ends of the link. Returns
 * NOT_FOUND if the port has no cable. */
int fab_sim_replace_module(struct fab_sim *s, uint32_t node, uint8_t port);

enum fab_sim_corruption {
    FAB_SIM_CORRUPT_NONE,
    FAB_SIM_CORRUPT_BUSY, /* the status of the answer is "busy" */
    /* the answer has the status "method/attribute combination not supported" */
    FAB_SIM_CORRUPT_UNSUPPORTED,
    FAB_SIM_CORRUPT_RANDOM,         /* the data of the attribute are random bytes */
    FAB_SIM_CORRUPT_BIT_FLIP,       /* one bit of the attribute is flipped */
    FAB_SIM_CORRUPT_ZEROS,          /* the attribute is all zeros */
    FAB_SIM_CORRUPT_DUPLICATE_GUID, /* NodeInfo has the GUIDs of node 0 */
    FAB_SIM_CORRUPT_WRONG_TID,      /* the answer has another transaction ID */
};
/* Corrupts answers of the node to SMPs. rate: share (0..1) of the answers. */
int fab_sim_corrupt(struct fab_sim *s, uint32_t node, enum fab_sim_corruption corruption,
                    double rate);

/* Makes the node answer NodeInfo with the node type, the number of ports and the GUIDs in *as, and
 * with the LocalPortNum in *as if this is not 0. as == NULL: the node answers with its own values
 * again. Returns INVAL if `as` has more than 254 ports. */
int fab_sim_impersonate(struct fab_sim *s, uint32_t node, const struct fab_node_info *as);

/* Sets an M_Key, its protection level (0-3) and its lease period on all ports of the node, as if
 * another manager had set them (IBA 14.2.4). m_key 0 removes the key. */
int fab_sim_set_m_key(struct fab_sim *s, uint32_t node, uint64_t m_key, uint8_t protect,
                      uint16_t lease_s);
/* Makes the node send a trap with its DataDetails, and repeat it until a manager represses it (IBA
 * 14.2.5.1). A node that cannot send traps (no LID or no SM LID, silent, or without power) sends
 * nothing. `trap`: 128-131, 144, 145 or 256-259; for other numbers, the function returns INVAL.
 * `port`: number of the port with the condition that causes the trap. */
int fab_sim_trap(struct fab_sim *s, uint32_t node, uint8_t port, uint16_t trap);
/* Makes the node send the trap `count` times, once every period_us, even if the manager represses
 * it. */
int fab_sim_trap_storm(struct fab_sim *s, uint32_t node, uint16_t trap, uint64_t period_us,
                       uint32_t count);

/* ---- impairments of MADs in the whole fabric; the seed decides which MADs -------------------- */

struct fab_sim_impairments {
    /* share (0..1) of the MADs that are lost, requests and answers alike; fab_sim_loss sets it */
    double loss;
    double duplicate; /* share (0..1) of requests that arrive twice */
    /* share (0..1) of the MADs that are delayed, requests and answers alike */
    double delay;
    uint32_t delay_us; /* fixed part of the delay */
    /* maximum of the random part of the delay, in us; because of the random part, MADs can overtake
     * each other */
    uint32_t spread_us;
};
void fab_sim_set_impairments(struct fab_sim *s, const struct fab_sim_impairments *impairments);
struct fab_sim_impairments fab_sim_impairments(const struct fab_sim *s);

/* ---- counters (IBA 16.1.3.5, 16.1.4.11) and congestion (A10.4.3.5) of a port ----------------- */

enum fab_sim_counter {
    FAB_SIM_SYMBOL_ERRORS,
    FAB_SIM_LINK_ERROR_RECOVERY,
    FAB_SIM_LINK_DOWNED,
    FAB_SIM_RCV_ERRORS,
    FAB_SIM_RCV_REMOTE_PHYSICAL_ERRORS,
    FAB_SIM_RCV_SWITCH_RELAY_ERRORS,
    FAB_SIM_XMIT_DISCARDS,
    FAB_SIM_XMIT_CONSTRAINT_ERRORS,
    FAB_SIM_RCV_CONSTRAINT_ERRORS,
    FAB_SIM_LOCAL_LINK_INTEGRITY_ERRORS,
    FAB_SIM_EXCESSIVE_BUFFER_OVERRUN_ERRORS,
    FAB_SIM_VL15_DROPPED,
    FAB_SIM_XMIT_DATA,
    FAB_SIM_RCV_DATA,
    FAB_SIM_XMIT_PKTS,
    FAB_SIM_RCV_PKTS,
    FAB_SIM_XMIT_WAIT,
    FAB_SIM_QP1_DROPPED,
    FAB_SIM_UNICAST_XMIT_PKTS,
    FAB_SIM_UNICAST_RCV_PKTS,
    FAB_SIM_MULTICAST_XMIT_PKTS,
    FAB_SIM_MULTICAST_RCV_PKTS,
    FAB_SIM_COUNTERS,
    /* The counters of the attributes in fab_wire_attr_perf_details, in the order of the attributes
     * and of their fields. If a field has one counter for each VL or SL, this enumerator stands for
     * VL or SL 0, and the numbers after it for 1, 2, and so on. */
    FAB_SIM_LOCAL_PHYSICAL_ERRORS = FAB_SIM_COUNTERS,
    FAB_SIM_MALFORMED_PACKET_ERRORS,
    FAB_SIM_BUFFER_OVERRUN_ERRORS,
    FAB_SIM_DLID_MAPPING_ERRORS,
    FAB_SIM_VL_MAPPING_ERRORS,
    FAB_SIM_LOOPING_ERRORS,
    FAB_SIM_INACTIVE_DISCARDS,
    FAB_SIM_NEIGHBOR_MTU_DISCARDS,
    FAB_SIM_SW_LIFETIME_LIMIT_DISCARDS,
    FAB_SIM_SW_HOQ_LIFETIME_LIMIT_DISCARDS,
    FAB_SIM_OP_RCV_PKTS,
    FAB_SIM_OP_RCV_DATA,
    FAB_SIM_XMIT_FLOW_PKTS,
    FAB_SIM_RCV_FLOW_PKTS,
    FAB_SIM_VL_OP_PACKETS,
    FAB_SIM_VL_OP_DATA = FAB_SIM_VL_OP_PACKETS + 16,
    FAB_SIM_VL_FLOW_CTL_ERRORS = FAB_SIM_VL_OP_DATA + 16,
    FAB_SIM_VL_XMIT_WAIT = FAB_SIM_VL_FLOW_CTL_ERRORS + 16,
    FAB_SIM_SW_VL_CONGESTION = FAB_SIM_VL_XMIT_WAIT + 16,
    FAB_SIM_PKT_RCV_FECN = FAB_SIM_SW_VL_CONGESTION + 16,
    FAB_SIM_PKT_RCV_BECN,
    FAB_SIM_SL_RCV_FECN,
    FAB_SIM_SL_RCV_BECN = FAB_SIM_SL_RCV_FECN + 16,
    FAB_SIM_XMIT_TIME_CONG = FAB_SIM_SL_RCV_BECN + 16,
    FAB_SIM_VL_XMIT_TIME_CONG,
    FAB_SIM_XMIT_DATA_SL = FAB_SIM_VL_XMIT_TIME_CONG + 15,
    FAB_SIM_RCV_DATA_SL = FAB_SIM_XMIT_DATA_SL + 16,
    /* The counters of the attribute fab_wire_attr_perf_ext_speeds. */
    FAB_SIM_SYNC_HEADER_ERRORS = FAB_SIM_RCV_DATA_SL + 16,
    FAB_SIM_ALL_COUNTERS = FAB_SIM_SYNC_HEADER_ERRORS + 38,
};
int fab_sim_counter_add(struct fab_sim *s, uint32_t node, uint8_t port,
                        enum fab_sim_counter counter, uint64_t add);
/* Lets the counter rise from now on by `per_second` each second; this may be a fraction. per_second
 * == 0: the counter stops rising. */
int fab_sim_increment(struct fab_sim *s, uint32_t node, uint8_t port, enum fab_sim_counter counter,
                      double per_second);
/* Starts background traffic among the endports, so the counters of data and packets and
 * PortXmitWait rise. `load` is the mean rate at which an endport sends, as a share (0..1) of the
 * rate of its link; 0 stops the traffic. */
int fab_sim_traffic(struct fab_sim *s, double load, uint64_t seed);
/* Returns the value of a counter; 0: there is no such port. */
uint64_t fab_sim_counter(struct fab_sim *s, uint32_t node, uint8_t port,
                         enum fab_sim_counter counter);
/* Finds a counter by its name in the specification, such as "PortXmitWait". If each VL, SL or lane
 * has its own counter, the name ends with the number of the VL, SL or lane, as in
 * "PortVLXmitWait3". Returns NOT_FOUND if there is no such counter. */
int fab_sim_counter_by_name(const char *name, enum fab_sim_counter *ret);

struct fab_sim_congestion {
    /* switch: source and destination LID of the flow; adapter: its local and remote LID */
    uint16_t slid, dlid;
    uint8_t sl;
    uint32_t local_qp, remote_qp; /* local and remote queue pair, 24 bits each; only for adapters */
};
/* Adds an event to the congestion log of the node. Also increments counters of the port: at a
 * switch, the congestion counter of the VL; at an adapter, the counters of received BECNs, of the
 * port and of the SL. */
int fab_sim_congest(struct fab_sim *s, uint32_t node, uint8_t port,
                    const struct fab_sim_congestion *what);

#endif
