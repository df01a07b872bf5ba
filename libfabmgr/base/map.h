/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash map from 64-bit keys (mostly GUIDs) to 32-bit values (dense ids). No key and no value is
 * reserved.
 */
#ifndef LIBFABMGR_BASE_MAP_H
#define LIBFABMGR_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fab_map_slot {
    uint64_t key;
    uint32_t value;
    uint32_t used;
};
struct fab_map {
    struct fab_map_slot *slots; /* a power of two of them, at most 3/4 used */
    size_t capacity, count;
};
void fab_base_map_init(struct fab_map *m); /* an all-zero map is valid, too */
void fab_base_map_fini(struct fab_map *m);
/* Allocates for `count` entries: put and add cannot run out of memory below that. NOMEM. */
int fab_base_map_reserve(struct fab_map *m, size_t count);
/* Sets the value of the key, or replaces it. NOMEM. */
int fab_base_map_put(struct fab_map *m, uint64_t key, uint32_t value);
/* Sets the value of a new key. NOMEM; EXISTS: the key has a value, which is not changed. */
int fab_base_map_add(struct fab_map *m, uint64_t key, uint32_t value);
/* False: the map does not have the key. */
bool fab_base_map_get(const struct fab_map *m, uint64_t key, uint32_t *ret_value);
bool fab_base_map_has(const struct fab_map *m, uint64_t key);
bool fab_base_map_remove(struct fab_map *m, uint64_t key);
/* Visits all entries: start with *cursor = 0; false at the end. The map must not change during the
 * visit. The order depends on earlier insertions and removals, so no result may depend on it. */
bool fab_base_map_next(const struct fab_map *m, size_t *cursor, uint64_t *ret_key,
                       uint32_t *ret_value);

#endif
