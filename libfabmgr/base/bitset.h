/* SPDX-License-Identifier: BSD-3-Clause */
/* Bit sets as plain arrays of 64-bit words. The caller knows how many bits a set has. */
#ifndef LIBFABMGR_BASE_BITSET_H
#define LIBFABMGR_BASE_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline size_t fab_base_bits_words(size_t bits)
{
    return bits / 64 + (bits % 64 != 0);
}
/* Returns a new set with all bits clear, which the caller frees with free(); NULL: no memory. */
static inline uint64_t *fab_base_bits_new(size_t bits)
{
    size_t words = fab_base_bits_words(bits);
    return calloc(words > 0 ? words : 1, sizeof(uint64_t));
}
static inline bool fab_base_bits_get(const uint64_t *set, size_t i)
{
    return (set[i / 64] >> (i % 64)) & 1;
}
static inline void fab_base_bits_set(uint64_t *set, size_t i)
{
    set[i / 64] |= UINT64_C(1) << (i % 64);
}
static inline void fab_base_bits_clear(uint64_t *set, size_t i)
{
    set[i / 64] &= ~(UINT64_C(1) << (i % 64));
}
static inline void fab_base_bits_put(uint64_t *set, size_t i, bool value)
{
    if (value)
        fab_base_bits_set(set, i);
    else
        fab_base_bits_clear(set, i);
}
/* Sets bit i. Returns true if the bit was clear before. */
static inline bool fab_base_bits_add(uint64_t *set, size_t i)
{
    bool was = fab_base_bits_get(set, i);
    fab_base_bits_set(set, i);
    return !was;
}
static inline void fab_base_bits_zero(uint64_t *set, size_t bits)
{
    memset(set, 0, fab_base_bits_words(bits) * sizeof(uint64_t));
}
/* Returns the number of set bits among the first `bits` bits. The unused bits of the last word must
 * be clear. */
size_t fab_base_bits_count(const uint64_t *set, size_t bits);
/* Returns the index of the first set bit at or after `from`. Returns `bits` if there is none. */
size_t fab_base_bits_next(const uint64_t *set, size_t bits, size_t from);

#endif
