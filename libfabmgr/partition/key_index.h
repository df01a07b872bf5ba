/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns the keys of a port to indexes of its P_Key table. For this folder only. */
#ifndef LIBFABMGR_PARTITION_KEY_INDEX_H
#define LIBFABMGR_PARTITION_KEY_INDEX_H

#include "libfabmgr/partition/partition.h"

/* Puts key[count] into table[room], count <= room. The first key gets index 0, and other keys stay
 * at the index where the port holds them already. If it holds none of them, they stay in the order
 * of key[]. Returns the number of entries up to the last used one. */
uint32_t fab_partition_assign_indexes(const struct fab_blocks *held, uint32_t port,
                                      const uint16_t *key, uint32_t count, uint16_t *table,
                                      uint32_t room);

#endif
