/* SPDX-License-Identifier: BSD-3-Clause */
/* At which index of a table each key stands. Private to the room. */
#ifndef LIBFABMGR_PARTITION_KEY_INDEX_H
#define LIBFABMGR_PARTITION_KEY_INDEX_H

#include "libfabmgr/partition/partition.h"

/* Puts key[count], the first of which gets index 0, into table[room], count <= room; the others to
 * where the port holds them. Returns the entries up to the last one used. A port that holds none
 * has them in their order. */
uint32_t fab_partition_assign_indexes(const struct fab_blocks *held, uint32_t port,
                                      const uint16_t *key, uint32_t count, uint16_t *table,
                                      uint32_t room);

#endif
