/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control (IBA annex A10) computed from the fabric. A switch port whose queue grows
 * beyond its threshold marks packets (FECN); their receiver tells the sender (BECN); the sender
 * raises its index into a table of delays (CCTI) by `increase`, up to `limit`, and lowers it by one
 * each `timer`. After a packet that takes t to be sent it waits t * multiplier / 2^shift of the
 * entry, so that it sends at the link's rate / (1 + multiplier / 2^shift).
 *
 * What stands at one port stands at many: each different setting is kept once. Why a number is what
 * it is follows from the setting's `basis`, which the sentences of explain.h are made of.
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
#define FAB_CONGESTION_BLOCK 64 /* entries of the control table in a MAD */
#define FAB_CONGESTION_NONE UINT16_MAX

/* A port of a switch (A10.4.3.6, A10.4.3.7). */
struct fab_congestion_port {
    uint8_t threshold;     /* 0: does not mark; 1: marks at the longest queue .. 15: the shortest */
    uint8_t packet_size;   /* of 64 bytes: shorter packets are not marked */
    bool victim;           /* marks even when it has no credits to send on */
    uint16_t marking_rate; /* packets, on average, between two marked ones; 0: all are marked */
};

/* A port of an adapter (A10.4.3.8, A10.4.3.9). */
struct fab_congestion_sl {
    uint16_t timer; /* of 1.024 us */
    uint8_t increase, trigger, min;
};
struct fab_congestion_table {
    uint16_t limit;                            /* greatest index */
    uint16_t entry[FAB_CONGESTION_TABLE_MOST]; /* shift << 14 | multiplier, rising, [0] is 0 */
};
struct fab_congestion_adapter {
    uint16_t sls; /* map of the SLs that are controlled; 0: none is */
    struct fab_congestion_sl sl[FAB_CONGESTION_SLS];
    struct fab_congestion_table table;
};

/* Delay by which a packet is followed, in 1/8 of its own time (exact: shift is 0..3). */
static inline uint32_t fab_congestion_delay(uint16_t entry)
{
    return (uint32_t)(entry & 0x3fff) << (3 - (entry >> 14));
}
/* The entry of the least delay that is no shorter than `eighths`; the longest there is, 16383, if
 * none is. */
uint16_t fab_congestion_entry(uint64_t eighths);

/* ---- what it was computed from ----------------------------------------------------------------
 */

enum fab_congestion_fan_in { /* where the fan-in is from */
                             FAB_CONGESTION_FROM_POLICY,
                             FAB_CONGESTION_FROM_CLASS, /* of service */
                             FAB_CONGESTION_FROM_JOBS,  /* partitions */
                             FAB_CONGESTION_FROM_FABRIC,
};
struct fab_congestion_basis {
    uint8_t profile;
    bool edge;              /* of switch ports: leads to an end */
    bool up, down;          /* the others: away from ends, towards them, or neither */
    uint8_t fan_in_from;    /* enum fab_congestion_fan_in */
    uint8_t hops;           /* switches on the longest way */
    uint16_t mtu;           /* bytes */
    uint16_t entries;       /* of the table, that the device has */
    uint32_t rate, slowest; /* Mb/s: of the link; of the slowest link to an end */
    uint32_t ends;          /* in the fabric */
    uint32_t fan_in;        /* senders to one end that are counted on: most of all SLs */
    uint32_t sl_fan_in[FAB_CONGESTION_SLS]; /* of adapters: by SL */
    uint32_t taper;    /* percent: what comes from ends of a leaf to what goes up, 100: none */
    uint32_t rtt_ns;   /* without queues */
    uint32_t queue_ns; /* to empty a full queue at the slowest link */
};

struct fab_congestion_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy; /* its congestion, max_mtu */
    uint32_t hops;                   /* switches on the longest way in force; 0: shortest ways */
    const uint8_t *table_blocks;     /* [node_count] ControlTableCap; 0 or NULL: not known */
    const uint32_t
        *fan_in; /* [FAB_CONGESTION_SLS] senders to one end by class; 0 or NULL: not known */
    /* [port_count] of adapters: senders to any one end that it can send to, by the partitions that
     * it is in; 0 or NULL: not known. The smaller of the two counts. */
    const uint32_t *port_fan_in;
};
struct fab_congestion {
    uint32_t ports;    /* of the fabric */
    uint16_t *of_port; /* [ports] which of `port` (switches) or `adapter`; FAB_CONGESTION_NONE: no
                          setting (no cable; port 0; aggregation nodes) */
    uint16_t port_count, adapter_count;
    struct fab_congestion_port *port;
    struct fab_congestion_adapter *adapter;
    struct fab_congestion_basis *port_basis, *adapter_basis; /* as many */
};
/* NOMEM; LIMIT: more than 65,534 different settings. Profile off: thresholds 0 and no SL. A slower
 * end never makes a delay shorter, and rates, hops and fan-in count in steps, so that a small
 * change of the fabric changes few settings. */
int fab_congestion_compute(const struct fab_congestion_input *in, struct fab_congestion *ret);
void fab_congestion_fini(struct fab_congestion *c);
/* Of a port of a switch; of an adapter or router. NULL: none. */
const struct fab_congestion_port *
fab_congestion_of_switch(const struct fab_congestion *c, const struct fab_fabric *f, uint32_t port);
const struct fab_congestion_adapter *fab_congestion_of_adapter(const struct fab_congestion *c,
                                                               const struct fab_fabric *f,
                                                               uint32_t port);

#endif
