/* SPDX-License-Identifier: BSD-3-Clause */
/* The generator is xoshiro256** by Blackman and Vigna, seeded with splitmix64 as they advise.
 * Numbers below a bound are made by Lemire's method: multiplication with rejection. */
#include "libfabmgr/base/prng.h"

#include <assert.h>

static uint64_t rotate(uint64_t x, unsigned by)
{
    return (x << by) | (x >> (64 - by));
}

void fab_base_prng_init(struct fab_prng *p, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        p->s[i] = fab_base_mix64(seed);
    }
}

uint64_t fab_base_prng_next(struct fab_prng *p)
{
    uint64_t *s = p->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t fab_base_prng_below(struct fab_prng *p, uint64_t bound)
{
    assert(bound > 0);
    uint64_t threshold = -bound % bound; /* this is 2^64 modulo bound */
    for (;;) {
        unsigned __int128 m = (unsigned __int128)fab_base_prng_next(p) * bound;
        if ((uint64_t)m >= threshold)
            return (uint64_t)(m >> 64);
    }
}

bool fab_base_prng_chance(struct fab_prng *p, double rate)
{
    return (double)(fab_base_prng_next(p) >> 11) * 0x1.0p-53 < rate;
}

void fab_base_prng_shuffle(struct fab_prng *p, uint32_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)fab_base_prng_below(p, i);
        uint32_t t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}
