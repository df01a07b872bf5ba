/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a simulated fabric. They begin at the sim's now; those that last go on by its time
 * (fab_sim_advance). Where a port is named, the fault is one of its cable, at both ends.
 * Errors: NOT_FOUND (no such node or port, no cable there), INVAL, NOMEM.
 */
#ifndef LIBFABMGR_SIM_FAULT_H
#define LIBFABMGR_SIM_FAULT_H

#include "libfabmgr/sim/sim.h"

/* ---- cables (fab_sim_unlink and fab_sim_relink are in sim.h) ----------------------------------
 */

/* Out and in again, `count` times, one time a period; out first. */
int fab_sim_flap(struct fab_sim *s, uint32_t node, uint8_t port, uint64_t period_us,
                 uint32_t count);
/* Comes up with at most so many lanes (1, 2, 4, 8, 12; 0: as ever) at such a speed ("SDR" to "XDR";
 * NULL: as ever) from now on; the link is trained anew. */
int fab_sim_degrade(struct fab_sim *s, uint32_t node, uint8_t port, unsigned lanes,
                    const char *speed);

/* Spoils that share of packets (0..1), both ways, which are lost and counted where they arrive. */
int fab_sim_noise(struct fab_sim *s, uint32_t node, uint8_t port, double share);
/* Wrong bits, that share (0..1; 1e-12 is what a good cable may have) of all: the noise that they
 * make, and SymbolErrorCounter rises at both ends, data or not. */
int fab_sim_bit_errors(struct fab_sim *s, uint32_t node, uint8_t port, double rate);

/* ---- nodes ------------------------------------------------------------------------------------
 */

/* Power off: the links fall, nothing is answered or forwarded, LIDs, tables and keys are lost. On
 * again: silent and dark for boot_us, then the ports come up, one each step_us. */
int fab_sim_power_off(struct fab_sim *s, uint32_t node);
int fab_sim_power_on(struct fab_sim *s, uint32_t node, uint64_t boot_us, uint64_t step_us);
/* Its agents answer that much later, and up to spread_us more by the seed. 0, 0: as ever. */
int fab_sim_delay(struct fab_sim *s, uint32_t node, uint32_t late_us, uint32_t spread_us);

enum fab_sim_corrupt {
    FAB_SIM_CORRUPT_NONE,
    FAB_SIM_CORRUPT_BUSY,           /* status "busy", always */
    FAB_SIM_CORRUPT_UNSUPPORTED,    /* status "attribute not supported", always */
    FAB_SIM_CORRUPT_RANDOM,         /* random attributes */
    FAB_SIM_CORRUPT_BIT_FLIP,       /* one bit of the attribute is wrong */
    FAB_SIM_CORRUPT_ZEROS,          /* zeros instead of the attribute */
    FAB_SIM_CORRUPT_DUPLICATE_GUID, /* its NodeInfo has the GUIDs of node 0 */
    FAB_SIM_CORRUPT_WRONG_TID,      /* answers with another transaction id */
};
/* rate: the share of its answers to SMPs that are such a lie, 0..1. */
int fab_sim_corrupt(struct fab_sim *s, uint32_t node, enum fab_sim_corrupt lie, double rate);

/* A key that another manager has set, on all its ports. protect: 0-3. */
int fab_sim_set_m_key(struct fab_sim *s, uint32_t node, uint64_t m_key, uint8_t protect,
                      uint16_t lease_s);
/* Sends a trap: 128-131, 144, 145, 256-259 with the details that belong to it (INVAL: others).
 * port: where it happened. It is repeated until repressed. */
int fab_sim_trap(struct fab_sim *s, uint32_t node, uint8_t port, uint16_t trap);
/* That trap `count` times, one time a period, repressed or not. */
int fab_sim_trap_storm(struct fab_sim *s, uint32_t node, uint16_t trap, uint64_t period_us,
                       uint32_t count);

/* ---- the weather: what befalls MADs anywhere, by the seed
 * --------------------------------------*/

struct fab_sim_impairments {
    double loss;        /* share of MADs that are lost, each way; fab_sim_loss sets this one */
    double duplicate;   /* share of requests that arrive twice */
    double delay;       /* share of MADs, each way, that are delayed ... */
    uint32_t delay_us;  /* ... by this much ... */
    uint32_t spread_us; /* ... and up to this much more: what is behind overtakes them */
};
void fab_sim_set_impairments(struct fab_sim *s, const struct fab_sim_impairments *weather);
struct fab_sim_impairments fab_sim_impairments(const struct fab_sim *s);

/* ---- counters (IBA 16.1.3.5, 16.1.4.11) and congestion (A10.4.3.5), of one port -----------------
 */

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
    /* Those of details (fab_attr_perf_details), in the order of attributes and of their values; of
     * VLs and SLs: the first one. */
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
    /* and of fab_attr_perf_ext_speeds */
    FAB_SIM_SYNC_HEADER_ERRORS = FAB_SIM_RCV_DATA_SL + 16,
    FAB_SIM_ALL_COUNTERS = FAB_SIM_SYNC_HEADER_ERRORS + 38,
};
int fab_sim_counter_add(struct fab_sim *s, uint32_t node, uint8_t port,
                        enum fab_sim_counter counter, uint64_t add);
/* It rises by so many a second from now on; 0: not any more. */
int fab_sim_increment(struct fab_sim *s, uint32_t node, uint8_t port, enum fab_sim_counter counter,
                      double per_second);
uint64_t fab_sim_counter(struct fab_sim *s, uint32_t node, uint8_t port,
                         enum fab_sim_counter counter); /* 0 also where there is no such port */
/* By its name in the standard, "PortXmitWait"; one of a VL, SL or lane: "PortVLXmitWait3".
 * NOT_FOUND. */
int fab_sim_counter_by_name(const char *name, enum fab_sim_counter *ret);

struct fab_sim_congestion {
    uint16_t slid, dlid; /* adapters: the local and the remote one */
    uint8_t sl;
    uint32_t local_qp, remote_qp; /* adapters; 24 bits */
};
/* An event for the congestion log of that node. It is counted at its port, too: a switch's
 * congestion of the VL, an adapter's packets with BECN. */
int fab_sim_congest(struct fab_sim *s, uint32_t node, uint8_t port,
                    const struct fab_sim_congestion *what);

#endif
