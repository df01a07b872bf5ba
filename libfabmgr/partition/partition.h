/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the P_Key table of every port from the partitions that an operator configured.
 *
 * Index 0 has the P_Key of the default partition, or of a partition with the flag indx0. Keys that
 * a port already holds stay at their index. So a change of the partitions changes only the tables
 * of the ports concerned, and in these only the entries concerned.
 */
#ifndef LIBFABMGR_PARTITION_PARTITION_H
#define LIBFABMGR_PARTITION_PARTITION_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/partitions.h"
#include "libfabmgr/target/pkeys.h"

#define FAB_PARTITION_OVERFLOWS 16

struct fab_partition_input {
    const struct fab_fabric *fabric;
    const struct fab_partitions *partitions;
    /* [quarantined_count] port GUIDs of quarantined ports, sorted. They are limited members of the
     * partition quarantine_pkey only, of which the manager is a full member, and of the default
     * partition if the manager is its only full member. Switches enforce their P_Keys in both
     * directions, whatever `enforce` is. No other partition has this P_Key. */
    const uint64_t *quarantined;
    size_t quarantined_count;
    uint16_t quarantine_pkey;
    /* NULL: patterns match the names that nodes show */
    const struct fab_pins *pins;
    /* the tables that ports hold; NULL: no table is known */
    const struct fab_blocks *held;
    /* enum fab_enforce bits: the directions in which switches enforce P_Keys at their ports to
     * adapters and routers */
    uint8_t enforce;
    /* true: a port can be a full and a limited member of a partition at once, and of several rules
     * that select it, the last applies. false: "both" means full, and full membership takes
     * precedence over limited. */
    bool both;
};
struct fab_partition_overflow {
    uint32_t port;
    /* numbers of keys that the port should have, and can have. An endport then lacks the keys with
     * the greatest P_Keys. A switch port then does not enforce P_Keys. */
    uint32_t wanted, room;
};
struct fab_partition_report {
    struct fab_partition_overflow overflow[FAB_PARTITION_OVERFLOWS];
    /* number of ports that have too few entries; overflow[] has the first of them */
    size_t overflows;
};
/* Computes the tables of all ports. Returns NOMEM. */
int fab_partition_tables(const struct fab_partition_input *in, struct fab_pkeys *ret,
                         struct fab_partition_report *ret_report);

#endif
