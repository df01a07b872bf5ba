/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash map from 64-bit keys (GUIDs, mostly) to 32-bit values (dense ids). Any key and any value.
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
void fab_base_map_init(struct fab_map *m); /* all zeros is as good */
void fab_base_map_fini(struct fab_map *m);
int fab_base_map_reserve(struct fab_map *m, size_t count); /* NOMEM; put cannot fail up to count */
/* Sets or replaces. NOMEM. */
int fab_base_map_put(struct fab_map *m, uint64_t key, uint32_t value);
/* Sets, unless the key is there. NOMEM, EXISTS. */
int fab_base_map_add(struct fab_map *m, uint64_t key, uint32_t value);
bool fab_base_map_get(const struct fab_map *m, uint64_t key,
                      uint32_t *ret_value); /* false: not there */
bool fab_base_map_has(const struct fab_map *m, uint64_t key);
bool fab_base_map_remove(struct fab_map *m, uint64_t key); /* false: was not there */
/* Visits all: start with *cursor = 0; false at the end. The order depends on history: it must not
 * reach any result. The map must not change meanwhile. */
bool fab_base_map_next(const struct fab_map *m, size_t *cursor, uint64_t *ret_key,
                       uint32_t *ret_value);

#endif
