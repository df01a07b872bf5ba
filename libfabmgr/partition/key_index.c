/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * At which index of a table each key stands. Programs know a P_Key by its index (queue pairs are
 * made with it), so that one which a port has stays where it is for as long as the port has it, a
 * change from limited to full membership included. New ones take entries that nobody used first,
 * since one that is being vacated has to be emptied before it is filled.
 */
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

/* Where the port holds this key, or with `loose` one of the same partition that it shall not hold
 * any more; room: nowhere that is free. */
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

/* One way of finding a place for those that have none. */
static void settle(const struct fab_blocks *held, uint32_t port, const uint16_t *key,
                   uint32_t count, uint16_t *table, uint32_t room, unsigned way)
{
    for (uint32_t i = 1; i < count; i++) {
        if (has(table, room, key[i]))
            continue;
        uint32_t at = way < 2 ? find_held(held, port, table, room, key[i], way == 1)
                              : find_free(held, port, table, room, way == 3);
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
    for (unsigned way = 0; way < 4; way++)
        settle(held, port, key, count, table, room, way);
    while (used > 0 && table[used - 1] == 0)
        used--;
    return used;
}
