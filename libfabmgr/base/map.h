/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash map from 64-bit keys (mostly GUIDs) to 32-bit values (mostly ids). Every key and every
 * value is allowed.
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
struct fab_map { /* all bytes zero: an empty map */
    /* [capacity] slots, of which at most 3/4 are used; capacity is a power of two */
    struct fab_map_slot *slots;
    size_t capacity, count;
};
void fab_base_map_fini(struct fab_map *m);
/* Allocates slots for `count` entries in total. Until the map has that many entries, put and add
 * cannot fail with NOMEM. Returns NOMEM if there is no memory. */
int fab_base_map_reserve(struct fab_map *m, size_t count);
/* Adds the key with this value, or replaces the value of a key that the map has already. Returns
 * NOMEM if there is no memory. */
int fab_base_map_put(struct fab_map *m, uint64_t key, uint32_t value);
/* Adds a new key with this value. Returns EXISTS if the map contains the key already; the map is
 * then unchanged. Returns NOMEM if there is no memory. */
int fab_base_map_add(struct fab_map *m, uint64_t key, uint32_t value);
/* Sets *ret_value to the value of the key. If the map does not contain the key, returns false and
 * leaves *ret_value unchanged. */
bool fab_base_map_get(const struct fab_map *m, uint64_t key, uint32_t *ret_value);
bool fab_base_map_has(const struct fab_map *m, uint64_t key);
bool fab_base_map_remove(struct fab_map *m, uint64_t key);
/* Visits one entry in each call. The caller sets *cursor to 0 before the first call. Returns false
 * after the last entry. The map must not change between the calls. The order of the entries depends
 * on earlier insertions and removals, so the results of the caller must not depend on the order. */
bool fab_base_map_next(const struct fab_map *m, size_t *cursor, uint64_t *ret_key,
                       uint32_t *ret_value);

#endif
