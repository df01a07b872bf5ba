/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy of congestion control. It consists of a profile, of properties of the fabric that
 * devices do not report, and of values that the operator sets in place of computed ones. */
#ifndef LIBFABMGR_POLICY_CONGESTION_H
#define LIBFABMGR_POLICY_CONGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fab_congestion_profile {
    /* Congestion control is off: no switch marks packets with FECN, and no adapter reduces its
     * rate. */
    FAB_CONGESTION_OFF,
    /* profile for mixed traffic with many small incasts and a few large ones */
    FAB_CONGESTION_BALANCED,
    FAB_CONGESTION_INCAST, /* profile for storage: incasts are large and long */
    /* profile for machine learning (collective operations): incasts are short, throughput is
     * most important */
    FAB_CONGESTION_COLLECTIVE,
    FAB_CONGESTION_PROFILES
};
/* Returns the name of a profile: "off", "balanced", "incast" or "collective". */
const char *fab_policy_congestion_profile_name(uint8_t profile);

/* The settings of devices whose values the operator can set (IBA A10.4.3). */
enum fab_congestion_value {
    /* Threshold of switch ports that lead to adapters, 0..15. 0: no packet is marked. 15: marking
     * begins at the shortest queue. */
    FAB_CONGESTION_THRESHOLD,
    /* Threshold of switch ports that lead to other switches, 0..15 */
    FAB_CONGESTION_SWITCH_THRESHOLD,
    /* Marking_Rate: number of packets between two marked packets, 0..65535 */
    FAB_CONGESTION_MARKING_RATE,
    /* Packet_Size: 0..255, in units of 64 bytes */
    FAB_CONGESTION_PACKET_SIZE,
    /* Victim_Mask: 1: a switch port that leads to an adapter marks packets even while it has no
     * credits, that is, while congestion elsewhere blocks this port */
    FAB_CONGESTION_VICTIM_MASK,
    /* CCTI_Timer: 1..65535, in units of 1.024 us */
    FAB_CONGESTION_TIMER,
    FAB_CONGESTION_INCREASE,          /* CCTI_Increase: 1..255 */
    FAB_CONGESTION_TRIGGER_THRESHOLD, /* Trigger_Threshold: 0..255 */
    FAB_CONGESTION_MIN,               /* CCTI_Min: 0..255 */
    /* CCTI_Limit: 1..255, the last index of the control table */
    FAB_CONGESTION_LIMIT,
    FAB_CONGESTION_VALUES
};
struct fab_congestion_domain {
    const char *name; /* name of the setting, such as "marking_rate" */
    uint16_t least, most;
};
extern const struct fab_congestion_domain fab_policy_congestion_domains[FAB_CONGESTION_VALUES];

#define FAB_CONGESTION_AUTO (-1)
/* Maximum of fan_in (senders to one endport). More senders would need longer delays than the
 * entries of a congestion control table can express. */
#define FAB_CONGESTION_FAN_IN_MOST 16384u
#define FAB_CONGESTION_TABLE_MOST 256
struct fab_policy_congestion {
    /* true: the manager writes the settings to devices; false: it only computes and shows them */
    bool apply;
    uint8_t profile; /* enum fab_congestion_profile */
    /* CC_Key that the manager puts into every Set; 0: no key */
    uint64_t key;
    /* CC_KeyLeasePeriod in seconds; 0: the lease never ends */
    uint16_t key_lease_s;
    /* maximum number of senders to one endport at the same time; 0: the manager estimates it */
    uint32_t fan_in;
    uint32_t hop_ns;     /* latency of a switch in ns */
    uint32_t adapter_ns; /* latency of an adapter in ns */
    uint32_t cable_m;    /* length of cables, in metres */
    /* size of the buffer that a switch port has for one VL, in KiB */
    uint32_t queue_kb;
    /* [enum fab_congestion_value] values that the operator has set; FAB_CONGESTION_AUTO: the
     * manager computes the value */
    int32_t value[FAB_CONGESTION_VALUES];
    /* Number of entries of table[]; 0: the manager computes the table. The entries are encoded as
     * in CongestionControlTable. */
    uint16_t table_count;
    uint16_t table[FAB_CONGESTION_TABLE_MOST];
};
void fab_policy_congestion_defaults(struct fab_policy_congestion *p);
/* Checks all values. If a value is outside its range, returns RANGE and writes to why[] a sentence
 * that begins with the name of the setting. */
int fab_policy_congestion_validate(const struct fab_policy_congestion *p, char *why,
                                   size_t why_len);

#endif
