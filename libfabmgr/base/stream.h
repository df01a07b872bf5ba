/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A generator of numbers that nobody can predict without the key: the key stream of ChaCha8 (D. J.
 * Bernstein, 2008), with a 64-bit block counter and the nonce 0. The caller provides the key, from
 * the system's random source. The same key gives the same numbers on every machine. Somebody who
 * sees some of the numbers cannot compute the others from them.
 */
#ifndef LIBFABMGR_BASE_STREAM_H
#define LIBFABMGR_BASE_STREAM_H

#include <stdint.h>

#define FAB_STREAM_KEY 32
#define FAB_STREAM_WORDS 16

struct fab_stream {
    uint32_t key[FAB_STREAM_KEY / 4];
    uint64_t block; /* number of the next block of the key stream */
    uint32_t words[FAB_STREAM_WORDS];
    /* number of 32-bit words of the present block that were already returned */
    uint32_t used;
};
void fab_base_stream_init(struct fab_stream *s, const uint8_t key[FAB_STREAM_KEY]);
uint32_t fab_base_stream_next(struct fab_stream *s);

#endif
