/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From partitions, as an operator wants them, to the P_Key table of every port.
 *
 * Index 0 has the default partition, or one that asks for index 0. Keys that a port holds already
 * stay where they are; so a change touches the ports concerned, and entries of these that change.
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
    const struct fab_blocks *held; /* NULL: nothing is known */
    uint8_t enforce; /* enum fab_enforce bits: what switches check before adapters and routers */
    bool both;       /* members can be full and limited at once, and the later rule counts. Else
                        "both" is full, and full counts */
};
struct fab_partition_overflow {
    uint32_t port;
    uint32_t wanted, room; /* keys. Of an end port those of the greatest P_Keys are left out; a
                              switch port does not check */
};
struct fab_partition_report {
    struct fab_partition_overflow trouble[FAB_PARTITION_OVERFLOWS];
    size_t troubles; /* of them all; the first ones are kept */
};
/* NOMEM. */
int fab_partition_tables(const struct fab_partition_input *in, struct fab_pkeys *ret,
                         struct fab_partition_report *ret_report);

#endif
