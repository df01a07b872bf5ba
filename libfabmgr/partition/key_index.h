/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns the keys of a port to indexes of its P_Key table. For this folder only. */
#ifndef LIBFABMGR_PARTITION_KEY_INDEX_H
#define LIBFABMGR_PARTITION_KEY_INDEX_H

#include "libfabmgr/partition/partition.h"

/* Puts key[count], the keys that a port must have, into table[room], the new P_Key table of the
 * port. `count` must not exceed `room`. key[0] gets index 0. Any other key that the port holds
 * already (`held`) at an index above 0, perhaps with the other membership, keeps this index. The
 * other keys get free indexes in the order of key[], first those at which the port holds no key
 * now. Returns 1 + the index of the last key in the table. */
uint32_t fab_partition_assign_indexes(const struct fab_blocks *held, uint32_t port,
                                      const uint16_t *key, uint32_t count, uint16_t *table,
                                      uint32_t room);

#endif
