/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of each key in a port's table. For this folder only. */
#ifndef LIBFABMGR_PARTITION_KEY_INDEX_H
#define LIBFABMGR_PARTITION_KEY_INDEX_H

#include "libfabmgr/partition/partition.h"

/* Puts key[count] into table[room], count <= room: the first key at index 0, the others where the
 * port holds them already. Returns the number of entries up to the last used one. For a port that
 * holds none the keys stay in their order. */
uint32_t fab_partition_assign_indexes(const struct fab_blocks *held, uint32_t port,
                                      const uint16_t *key, uint32_t count, uint16_t *table,
                                      uint32_t room);

#endif
