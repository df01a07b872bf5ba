/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the P_Key table of every port from the partitions that an operator configured.
 *
 * Index 0 has the default partition, or one that asks for index 0. Keys that a port already holds
 * stay at their index, so a change touches only the ports concerned, and only their entries that
 * change.
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
    const struct fab_blocks *held; /* NULL: no table is known */
    uint8_t enforce; /* enum fab_enforce bits: what switches check at the ports of adapters and
                        routers */
    bool both;       /* true: a port can be a full and a limited member at once, and the last of
                        several rules applies. false: "both" means full, and full membership
                        takes precedence */
};
struct fab_partition_overflow {
    uint32_t port;
    uint32_t wanted, room; /* numbers of keys. An endport does not get the greatest P_Keys; a
                              switch port does not check at all */
};
struct fab_partition_report {
    struct fab_partition_overflow overflow[FAB_PARTITION_OVERFLOWS];
    size_t overflows; /* number of all of them; the first ones are kept */
};
/* Returns NOMEM. */
int fab_partition_tables(const struct fab_partition_input *in, struct fab_pkeys *ret,
                         struct fab_partition_report *ret_report);

#endif
