/* SPDX-License-Identifier: BSD-3-Clause */
/* A random number generator: xoshiro256**, with splitmix64 to compute the initial state from a
 * seed. The same seed gives the same numbers on every machine. The generator is for simulations,
 * tests, and random choices that must be reproducible. It is not secure: keys and other secrets
 * need another source. */
#ifndef LIBFABMGR_BASE_PRNG_H
#define LIBFABMGR_BASE_PRNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fab_prng {
    uint64_t s[4];
};
void fab_base_prng_init(struct fab_prng *p, uint64_t seed);
uint64_t fab_base_prng_next(struct fab_prng *p);
/* Returns a number that is uniformly distributed over 0..bound-1. bound must not be 0. */
uint64_t fab_base_prng_below(struct fab_prng *p, uint64_t bound);
/* Returns true with probability `rate` (0..1). */
bool fab_base_prng_chance(struct fab_prng *p, double rate);
void fab_base_prng_shuffle(struct fab_prng *p, uint32_t *items, size_t count);

/* Returns a hash of x, by the finalizer of splitmix64. Different numbers have different hashes, and
 * each bit of x affects all bits of the result. */
static inline uint64_t fab_base_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif
