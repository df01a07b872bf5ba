/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements the longer operations on bit sets; bitset.h has the short ones. */
#include "libfabmgr/base/bitset.h"

size_t fab_base_bits_count(const uint64_t *set, size_t bits)
{
    size_t count = 0;
    for (size_t w = 0; w < fab_base_bits_words(bits); w++)
        count += (size_t)__builtin_popcountll(set[w]);
    return count;
}

size_t fab_base_bits_next(const uint64_t *set, size_t bits, size_t from)
{
    if (from >= bits)
        return bits;
    size_t words = fab_base_bits_words(bits), w = from / 64;
    uint64_t word = set[w] & (~UINT64_C(0) << (from % 64));
    while (word == 0 && ++w < words)
        word = set[w];
    if (word == 0)
        return bits;
    size_t found = w * 64 + (size_t)__builtin_ctzll(word);
    return found < bits ? found : bits;
}
