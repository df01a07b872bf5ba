/* SPDX-License-Identifier: BSD-3-Clause */
/* A token bucket holds at most `burst` tokens, and gains one token every `each_us` microseconds.
 * Its state is one number: the time at which the bucket will be full again. If this time is in the
 * past, for example 0, the bucket is full. Times are microseconds of any monotonic clock. */
#ifndef LIBFABMGR_BASE_BUCKET_H
#define LIBFABMGR_BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct fab_bucket_rate {
    uint64_t each_us;
    /* Maximum number of tokens in the bucket, at least 1. */
    uint32_t burst;
};

static inline bool fab_base_bucket_is_full(uint64_t full_us, uint64_t now)
{
    return full_us <= now;
}

static inline bool fab_base_bucket_has(uint64_t full_us, uint64_t now,
                                       const struct fab_bucket_rate *rate)
{
    return fab_base_bucket_is_full(full_us, now) ||
           full_us - now <= rate->each_us * (rate->burst - 1);
}

/* Takes a token from the bucket and returns true; returns false if the bucket is empty. *full_us is
 * the state of the bucket, that is the time at which it will be full again; `now` is the present
 * time. */
static inline bool fab_base_bucket_take(uint64_t *full_us, uint64_t now,
                                        const struct fab_bucket_rate *rate)
{
    if (!fab_base_bucket_has(*full_us, now, rate))
        return false;
    *full_us = (fab_base_bucket_is_full(*full_us, now) ? now : *full_us) + rate->each_us;
    return true;
}

#endif
