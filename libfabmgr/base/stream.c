/* SPDX-License-Identifier: BSD-3-Clause */
/* ChaCha8, as RFC 8439 describes ChaCha20, but with 8 rounds and the original 64-bit counter. */
#include "libfabmgr/base/stream.h"

#include <string.h>

#define DOUBLE_ROUNDS 4

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b;
    *d = rotate(*d ^ *a, 16);
    *c += *d;
    *b = rotate(*b ^ *c, 12);
    *a += *b;
    *d = rotate(*d ^ *a, 8);
    *c += *d;
    *b = rotate(*b ^ *c, 7);
}

static void double_round(uint32_t x[FAB_STREAM_WORDS])
{
    for (unsigned i = 0; i < 4; i++) /* a column round: one quarter round for each column */
        quarter_round(&x[i], &x[4 + i], &x[8 + i], &x[12 + i]);
    for (unsigned i = 0; i < 4; i++) /* a diagonal round: one quarter round for each diagonal */
        quarter_round(&x[i], &x[4 + (i + 1) % 4], &x[8 + (i + 2) % 4], &x[12 + (i + 3) % 4]);
}

static void make_block(struct fab_stream *s)
{
    uint32_t in[FAB_STREAM_WORDS] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    memcpy(in + 4, s->key, sizeof(s->key));
    in[12] = (uint32_t)s->block;
    in[13] = (uint32_t)(s->block >> 32);
    memcpy(s->words, in, sizeof(in));
    for (unsigned i = 0; i < DOUBLE_ROUNDS; i++)
        double_round(s->words);
    for (unsigned i = 0; i < FAB_STREAM_WORDS; i++)
        s->words[i] += in[i];
    s->block++;
    s->used = 0;
}

void fab_base_stream_init(struct fab_stream *s, const uint8_t key[FAB_STREAM_KEY])
{
    *s = (struct fab_stream){.used = FAB_STREAM_WORDS};
    for (unsigned i = 0; i < FAB_STREAM_KEY; i++)
        s->key[i / 4] |= (uint32_t)key[i] << 8 * (i % 4);
}

uint32_t fab_base_stream_next(struct fab_stream *s)
{
    if (s->used == FAB_STREAM_WORDS)
        make_block(s);
    return s->words[s->used++];
}
