/* SPDX-License-Identifier: BSD-3-Clause */
/* The map uses open addressing with linear probing over a hash of the key. A removal moves the
 * following entries back instead of leaving tombstones, so lookups do not become slower. A hostile
 * device could choose GUIDs whose hashes collide. But a device can add only one key for each of its
 * ports, so this would slow lookups only a little. */
#include "libfabmgr/base/map.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"

#define FIRST_CAPACITY 16

void fab_base_map_fini(struct fab_map *m)
{
    free(m->slots);
    *m = (struct fab_map){0};
}

/* Returns the index of the slot of the key. If the map does not have the key, returns the index of
 * the free slot in which put() would store the key. m->slots must not be NULL. */
static size_t find(const struct fab_map *m, uint64_t key)
{
    size_t mask = m->capacity - 1, i = (size_t)fab_base_mix64(key) & mask;
    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & mask;
    return i;
}

static int resize(struct fab_map *m, size_t capacity)
{
    struct fab_map bigger = {.capacity = capacity, .count = m->count};
    bigger.slots = calloc(capacity, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].used)
            bigger.slots[find(&bigger, m->slots[i].key)] = m->slots[i];
    free(m->slots);
    *m = bigger;
    return FAB_OK;
}

int fab_base_map_reserve(struct fab_map *m, size_t count)
{
    size_t capacity = m->capacity > 0 ? m->capacity : FIRST_CAPACITY;
    if (count > SIZE_MAX / 8)
        return FAB_E_NOMEM;
    while (count > capacity / 4 * 3)
        capacity *= 2;
    return capacity > m->capacity ? resize(m, capacity) : FAB_OK;
}

static int put(struct fab_map *m, uint64_t key, uint32_t value, bool replace)
{
    int status = fab_base_map_reserve(m, m->count + 1);
    if (status != FAB_OK)
        return status;
    struct fab_map_slot *slot = &m->slots[find(m, key)];
    if (slot->used && !replace)
        return FAB_E_EXISTS;
    m->count += !slot->used;
    *slot = (struct fab_map_slot){.key = key, .value = value, .used = 1};
    return FAB_OK;
}

int fab_base_map_put(struct fab_map *m, uint64_t key, uint32_t value)
{
    return put(m, key, value, true);
}

int fab_base_map_add(struct fab_map *m, uint64_t key, uint32_t value)
{
    return put(m, key, value, false);
}

bool fab_base_map_get(const struct fab_map *m, uint64_t key, uint32_t *ret_value)
{
    if (m->count == 0)
        return false;
    const struct fab_map_slot *slot = &m->slots[find(m, key)];
    if (!slot->used)
        return false;
    *ret_value = slot->value;
    return true;
}

bool fab_base_map_has(const struct fab_map *m, uint64_t key)
{
    uint32_t value;
    return fab_base_map_get(m, key, &value);
}

bool fab_base_map_remove(struct fab_map *m, uint64_t key)
{
    if (m->count == 0)
        return false;
    size_t mask = m->capacity - 1, hole = find(m, key);
    if (!m->slots[hole].used)
        return false;
    for (size_t i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
        size_t home = (size_t)fab_base_mix64(m->slots[i].key) & mask;
        /* The entry in slot i may move into the empty slot `hole` if a lookup that starts at the
         * entry's home slot passes `hole` before it reaches i. */
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole].used = 0;
    m->count--;
    return true;
}

bool fab_base_map_next(const struct fab_map *m, size_t *cursor, uint64_t *ret_key,
                       uint32_t *ret_value)
{
    while (*cursor < m->capacity) {
        const struct fab_map_slot *slot = &m->slots[(*cursor)++];
        if (slot->used) {
            *ret_key = slot->key;
            *ret_value = slot->value;
            return true;
        }
    }
    return false;
}
