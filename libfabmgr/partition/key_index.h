/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns the keys of a port to indexes of its P_Key table. For this folder only. */
#ifndef LIBFABMGR_PARTITION_KEY_INDEX_H
#define LIBFABMGR_PARTITION_KEY_INDEX_H

#include "libfabmgr/partition/partition.h"

/* Puts the keys key[count] into table[room]; count must not exceed room. The first key gets index
 * 0. Another key that the port holds already stays at its index. The remaining keys get free
 * indexes in the order of key[]. Returns the number of entries up to the last used one. */
uint32_t fab_partition_assign_indexes(const struct fab_blocks *held, uint32_t port,
                                      const uint16_t *key, uint32_t count, uint16_t *table,
                                      uint32_t room);

#endif
