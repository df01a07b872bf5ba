/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic on sizes that detects overflow, and growing arrays. */
#ifndef LIBFABMGR_BASE_SIZE_H
#define LIBFABMGR_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* fab_base_size_mul and fab_base_size_add return false if the result overflows; *ret is then
 * unspecified. */
static inline bool fab_base_size_mul(size_t a, size_t b, size_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}
static inline bool fab_base_size_add(size_t a, size_t b, size_t *ret)
{
    return !__builtin_add_overflow(a, b, ret);
}

/* Returns uninitialised memory for `count` items of `item` bytes each. Returns NULL if there is no
 * memory, or if the size overflows. If `count` is 0, the result is a pointer that can be freed.
 * (For zeroed memory use calloc, which also detects overflow.) */
static inline void *fab_base_alloc_array(size_t count, size_t item)
{
    size_t size;
    if (!fab_base_size_mul(count, item, &size))
        return NULL;
    return malloc(size > 0 ? size : 1);
}

/* Grows an array that came from malloc, so that it has room for `need` items (at least 1) of `item`
 * bytes each. *capacity is the number of items for which there is room; if this is too small, the
 * function raises it by at least half. Returns the new address of the array, like realloc. Returns
 * NULL if there is no memory; the old array is then still valid. New items are not initialised. */
void *fab_base_grow(void *items, size_t item, size_t need, size_t *capacity);

#endif
