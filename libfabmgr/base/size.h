/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes by checked arithmetic, and arrays that grow. */
#ifndef LIBFABMGR_BASE_SIZE_H
#define LIBFABMGR_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* False on overflow; *ret is then unspecified. */
static inline bool fab_base_size_mul(size_t a, size_t b, size_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}
static inline bool fab_base_size_add(size_t a, size_t b, size_t *ret)
{
    return !__builtin_add_overflow(a, b, ret);
}

/* Uninitialised room for `count` items, or NULL (overflow, or no memory). Count 0 gives a pointer
 * that may be freed. For zeroed room use calloc, which checks too. */
static inline void *fab_base_alloc_array(size_t count, size_t item)
{
    size_t size;
    if (!fab_base_size_mul(count, item, &size))
        return NULL;
    return malloc(size > 0 ? size : 1);
}

/* Makes room for `need` items of `item` bytes in a malloc'd array that holds *capacity: as realloc,
 * the new place or NULL (no memory; the old array is still good). Grows by half at least. New room
 * is not initialised. need > 0. */
void *fab_base_grow(void *items, size_t item, size_t need, size_t *capacity);

#endif
