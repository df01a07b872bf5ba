/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns the keys of a port to indexes of its P_Key table. For this folder only. */
#ifndef LIBFABMGR_PARTITION_KEY_INDEX_H
#define LIBFABMGR_PARTITION_KEY_INDEX_H

#include "libfabmgr/partition/partition.h"

/* Puts the keys key[count] of a port into its P_Key table table[room]; count must not exceed room.
 * key[0] gets index 0. Each other key that is already in the port's table keeps its index. The
 * remaining keys get free indexes in the order of key[]. Returns the index of the last used entry
 * plus 1. */
uint32_t fab_partition_assign_indexes(const struct fab_blocks *held, uint32_t port,
                                      const uint16_t *key, uint32_t count, uint16_t *table,
                                      uint32_t room);

#endif
