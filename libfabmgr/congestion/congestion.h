/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control settings (IBA annex A10), computed from the fabric.
 *
 * A switch port whose queue exceeds its threshold marks packets (FECN). The receiver of a marked
 * packet notifies its sender (BECN). The sender has an index (CCTI) into a table of delays. Each
 * notification raises the index by CCTI_Increase, up to CCTI_Limit, and each period of CCTI_Timer
 * lowers it by one. A table entry has a multiplier and a shift. After a packet that takes time t,
 * the sender waits t * multiplier / 2^shift. So the sender's rate is the link's rate divided by (1
 * + multiplier / 2^shift).
 *
 * Many ports have the same settings, so each different set of values is stored once and called a
 * setting, together with its `basis`: the facts from which it was derived. explain.h explains a
 * setting from its basis.
 */
#ifndef LIBFABMGR_CONGESTION_CONGESTION_H
#define LIBFABMGR_CONGESTION_CONGESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/wire/gs.h"

#define FAB_CONGESTION_SLS 16
#define FAB_CONGESTION_BLOCK 64 /* number of entries of the congestion control table in one MAD */
#define FAB_CONGESTION_NONE UINT16_MAX

/* settings of a switch port (A10.4.3.6, A10.4.3.7) */
struct fab_congestion_port {
    /* Threshold for marking. 0: the port marks no packets. 1 to 15: the higher the value, the
     * shorter the queue at which the port begins to mark. */
    uint8_t threshold;
    /* minimum size of the packets that the port marks, in units of 64 bytes */
    uint8_t packet_size;
    /* Victim_Mask; true: the port also marks packets while it waits for credits */
    bool victim;
    /* mean number of packets between two marked packets; 0: all packets are marked */
    uint16_t marking_rate;
};

/* Settings of an adapter port (A10.4.3.8, A10.4.3.9): struct fab_congestion_sl has the settings for
 * one SL, struct fab_congestion_table the delays, and struct fab_congestion_adapter both. */
struct fab_congestion_sl {
    /* period after which the index (CCTI) falls by one, in units of 1.024 us */
    uint16_t timer;
    uint8_t increase, trigger, min;
};
struct fab_congestion_table {
    /* highest index that a sender may reach (CCTI_Limit) */
    uint16_t limit;
    /* Entries of the form shift << 14 | multiplier. entry[0] is 0, and no entry stands for a
     * shorter delay than the one before. */
    uint16_t entry[FAB_CONGESTION_TABLE_MOST];
};
struct fab_congestion_adapter {
    /* bitset of the SLs that congestion control throttles */
    uint16_t sls;
    struct fab_congestion_sl sl[FAB_CONGESTION_SLS];
    struct fab_congestion_table table;
};

/* Returns the delay that an entry of the congestion control table adds after a packet, in eighths
 * of the transmission time of this packet. The result is exact, because the shift of an entry is 0
 * to 3. */
static inline uint32_t fab_congestion_delay(uint16_t entry)
{
    return (uint32_t)(entry & 0x3fff) << (3 - (entry >> 14));
}
/* Returns the table entry with the shortest delay that is at least `eighths` eighths of the
 * transmission time of a packet. If there is none, returns 16383, the entry with the longest delay.
 */
uint16_t fab_congestion_entry(uint64_t eighths);

/* ---- input and basis ------------------------------------------------------------------------- */

enum fab_congestion_fan_in { /* Where the assumed fan-in comes from. */
                             FAB_CONGESTION_FROM_POLICY,
                             /* the number of endports in the traffic class */
                             FAB_CONGESTION_FROM_CLASS,
                             /* the greatest fan-in that the partitions permit (`port_fan_in` of the
                              * input) */
                             FAB_CONGESTION_FROM_JOBS,
                             FAB_CONGESTION_FROM_FABRIC,
};
struct fab_congestion_basis {
    uint8_t profile;
    /* true: the port is a switch port with a link to an endport */
    bool edge;
    /* Direction of a link between two switches: `up` leads away from endports, `down` towards them.
     * `up` and `down` are both false if the switches are equally far from endports, and for links
     * to endports. */
    bool up, down;
    uint8_t fan_in_from; /* enum fab_congestion_fan_in */
    uint8_t hops;        /* number of switches on the longest path of the fabric */
    uint16_t mtu;        /* largest MTU in use, in bytes */
    /* number of entries of the device's congestion control table */
    uint16_t entries;
    /* rate: rate of the port's link. slowest: rate of the slowest link of an endport in the fabric.
     * Both are in Mb/s. */
    uint32_t rate, slowest;
    uint32_t endports; /* number of endports in the fabric, rounded */
    /* assumed number of senders to one endport; if SLs differ, the greatest */
    uint32_t fan_in;
    /* [SL] assumed number of senders to one endport; only for adapters */
    uint32_t sl_fan_in[FAB_CONGESTION_SLS];
    /* Taper of the port's switch: total rate of the endports in percent of the total rate of the
     * ISLs. 100 means that the ISLs can carry all that the endports send; therefore lower
     * percentages are stored as 100, too. */
    uint32_t taper;
    uint32_t rtt_ns; /* round-trip time without queues */
    /* time in ns that the slowest link of an endport needs to empty a full queue */
    uint32_t queue_ns;
};

struct fab_congestion_input {
    const struct fab_fabric *fabric;
    /* policy, of which fab_congestion_compute uses only the congestion settings and max_mtu */
    const struct fab_policy *policy;
    /* number of switches on the longest path of the active tables; 0: unknown, so the longest of
     * the shortest paths is used instead */
    uint32_t hops;
    /* [node_count] ControlTableCap of each device; an element of 0, or a NULL pointer: not known */
    const uint8_t *table_blocks;
    /* [FAB_CONGESTION_SLS] for each SL, the number of endports that may send in the traffic classes
     * with this SL; an element of 0, or a NULL pointer: all endports may send */
    const uint32_t *fan_in;
    /* [port_count] For each adapter port: the greatest number of senders, as the partitions permit,
     * that any of the endports to which this port can send may have. If this number is lower than
     * the fan_in of an SL, it replaces that fan_in for this port. 0, or a NULL pointer: unknown. */
    const uint32_t *port_fan_in;
};
struct fab_congestion {
    uint32_t ports; /* number of ports in the fabric */
    /* [ports] For each port id, the index of its setting in port[] (switches) or adapter[]
     * (adapters). FAB_CONGESTION_NONE: the port has no setting, because it has no link, is port 0,
     * or belongs to an aggregation node. */
    uint16_t *of_port;
    uint16_t port_count, adapter_count;
    struct fab_congestion_port *port;
    struct fab_congestion_adapter *adapter;
    /* [port_count], [adapter_count] the facts from which each setting was derived */
    struct fab_congestion_basis *port_basis, *adapter_basis;
};
/* Computes the settings of all ports. With the profile "off", all thresholds are 0 and no SL is
 * throttled. If the slowest endport becomes even slower, no delay in a table becomes shorter.
 * Taper, endport counts and fan-in are rounded, so that a small change of the fabric changes few
 * settings. Returns OK, NOMEM, or LIMIT if switch ports or adapter ports have more than 65,535
 * different settings. */
int fab_congestion_compute(const struct fab_congestion_input *in, struct fab_congestion *ret);
void fab_congestion_fini(struct fab_congestion *c);
/* fab_congestion_of_switch returns the setting of a switch port, and fab_congestion_of_adapter that
 * of an adapter or router port. Both return NULL if the port has no setting, or is a port of the
 * other kind. */
const struct fab_congestion_port *
fab_congestion_of_switch(const struct fab_congestion *c, const struct fab_fabric *f, uint32_t port);
const struct fab_congestion_adapter *fab_congestion_of_adapter(const struct fab_congestion *c,
                                                               const struct fab_fabric *f,
                                                               uint32_t port);

#endif
