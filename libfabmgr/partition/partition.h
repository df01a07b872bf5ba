/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the P_Key table of every port from the partitions that an operator configured.
 *
 * Index 0 has the P_Key of a partition with the flag indx0; otherwise, the P_Key of the default
 * partition; or, if the port is not a member of it, the lowest P_Key of the port. A key that a port
 * already holds stays at its index. So a change of a partition changes only the tables of its
 * members, and in these tables only the entry of this partition.
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
    /* [quarantined_count] Sorted port GUIDs of ports in quarantine. Such a port is a limited member
     * of the partition quarantine_pkey, of which only the manager is a full member. The port is
     * also a limited member of the default partition if the manager is the only full member there.
     * It is in no other partition. Switches enforce P_Keys of these ports in both directions,
     * whatever `enforce` is. */
    const uint64_t *quarantined;
    size_t quarantined_count;
    uint16_t quarantine_pkey;
    /* pinned names of nodes, with which patterns are compared; NULL: patterns are compared with
     * the names that nodes show */
    const struct fab_pins *pins;
    /* the P_Key tables that ports hold now; NULL: no table is known */
    const struct fab_blocks *held;
    /* enum fab_enforce bits: the directions in which switches enforce P_Keys at their ports to
     * adapters and routers */
    uint8_t enforce;
    /* true: a port can be both a full and a limited member of a partition. If several rules of a
     * partition select the port, the last rule applies. false: the membership "both" means full,
     * and a full membership takes precedence over a limited one. */
    bool both;
};
struct fab_partition_overflow {
    uint32_t port;
    /* wanted: number of P_Keys that the port should have. room: number of entries of its P_Key
     * table, which is less than `wanted`. So an endport does not get its highest P_Keys, and a
     * switch port does not enforce P_Keys. */
    uint32_t wanted, room;
};
struct fab_partition_report {
    struct fab_partition_overflow overflow[FAB_PARTITION_OVERFLOWS];
    /* Number of ports whose P_Key tables have too few entries; overflow[] describes the first
     * FAB_PARTITION_OVERFLOWS of them. */
    size_t overflows;
};
/* Computes the tables of all ports. Returns OK or NOMEM. */
int fab_partition_tables(const struct fab_partition_input *in, struct fab_pkeys *ret,
                         struct fab_partition_report *ret_report);

#endif
