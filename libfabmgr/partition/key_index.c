/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns the keys of a port to indexes of its P_Key table. Programs refer to a P_Key by its index,
 * for example when they create a queue pair. So a key stays at its index as long as the port has
 * the key, even if the membership changes between limited and full. New keys first get entries that
 * are empty now, because an entry with another key must be cleared before it is filled. */
#include "libfabmgr/partition/key_index.h"

#include <string.h>

static uint16_t held_at(const struct fab_blocks *held, uint32_t port, uint32_t index)
{
    const uint16_t *block =
        held != NULL ? fab_target_blocks_get(held, port, index / FAB_PKEY_BLOCK) : NULL;
    return block != NULL ? block[index % FAB_PKEY_BLOCK] : 0;
}

static bool has(const uint16_t *key, uint32_t count, uint16_t one)
{
    for (uint32_t i = 0; i < count; i++)
        if (key[i] == one)
            return true;
    return false;
}

/* Finds the index at which the port holds the key `one` now. `loose`: a key of the same partition
 * with the other membership also matches. Ignores indexes at which table[] already has a key.
 * Returns `room` if there is no such index. */
static uint32_t find_held(const struct fab_blocks *held, uint32_t port, const uint16_t *table,
                          uint32_t room, uint16_t one, bool loose)
{
    for (uint32_t i = 1; i < room; i++) {
        uint16_t was = held_at(held, port, i);
        if (table[i] == 0 &&
            (was == one || (loose && fab_target_pkey_base(was) == fab_target_pkey_base(one))))
            return i;
    }
    return room;
}

static uint32_t find_free(const struct fab_blocks *held, uint32_t port, const uint16_t *table,
                          uint32_t room, bool loose)
{
    for (uint32_t i = 1; i < room; i++)
        if (table[i] == 0 && (loose || held_at(held, port, i) == 0))
            return i;
    return room;
}

/*
 * Assigns an index of table[], the new P_Key table, to each key of key[] that has none yet. An
 * index is free if table[] has no key at this index. The argument `method` says which free index a
 * key gets. 0: where the port holds the same key now. 1: where it holds a key of the same partition
 * now. 2: where it holds no key now. 3: any.
 */
static void assign(const struct fab_blocks *held, uint32_t port, const uint16_t *key,
                   uint32_t count, uint16_t *table, uint32_t room, unsigned method)
{
    for (uint32_t i = 1; i < count; i++) {
        if (has(table, room, key[i]))
            continue;
        uint32_t at = method < 2 ? find_held(held, port, table, room, key[i], method == 1)
                                 : find_free(held, port, table, room, method == 3);
        if (at < room)
            table[at] = key[i];
    }
}

uint32_t fab_partition_assign_indexes(const struct fab_blocks *held, uint32_t port,
                                      const uint16_t *key, uint32_t count, uint16_t *table,
                                      uint32_t room)
{
    uint32_t used = room;
    memset(table, 0, room * sizeof(*table));
    if (count == 0)
        return 0;
    table[0] = key[0];
    for (unsigned method = 0; method < 4; method++)
        assign(held, port, key, count, table, room, method);
    while (used > 0 && table[used - 1] == 0)
        used--;
    return used;
}
