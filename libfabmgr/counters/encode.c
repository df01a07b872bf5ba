/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a block:
 *
 *   version (1 byte), number of ports, number of samples
 *   for each sample: its end, as the difference from the end of the sample before, and its duration
 *   bitset of the columns that have a code other than 0
 *   for each of these columns: the length of its tokens in bytes, and its tokens
 *
 * All numbers are varints: 7 bits in each byte, lowest first; the highest bit says that another
 * byte follows. The codes of a column are predicted: the prediction is the code of the sample
 * before or, for the first sample of a port, the code of the first sample of the port before. A
 * token 2n stands for n + 1 codes that equal their predictions. A token 2z + 1 stands for a code
 * that differs from its prediction by d, with z = 2d for d >= 0 and z = -2d - 1 otherwise. Steady
 * traffic therefore needs one byte for each code, and idle ports almost nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/counters/block.h"

#define VERSION 1
#define VARINT_MOST 10 /* maximum length of a varint in bytes */
#define TOKEN_MOST 3   /* maximum length in bytes of a token for one code */

/* ---- writing --------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

static uint8_t *put_run(uint8_t *to, uint32_t *run)
{
    if (*run > 0)
        to = put(to, (*run - 1) * UINT64_C(2));
    *run = 0;
    return to;
}

static uint8_t *put_column(uint8_t *to, const struct fab_counters_block *b, const uint16_t *code)
{
    uint32_t run = 0;
    int first = 0;
    for (uint32_t p = 0; p < b->ports; p++) {
        int predicted = first;
        for (uint32_t s = 0; s < b->samples; s++) {
            int now = *code++, d = now - predicted;
            predicted = now;
            if (s == 0)
                first = now;
            if (d == 0) {
                run++;
                continue;
            }
            to = put_run(to, &run);
            to = put(to, (uint64_t)(d >= 0 ? 2 * d : -2 * d - 1) * 2 + 1);
        }
    }
    return put_run(to, &run);
}

static bool is_empty(const struct fab_counters_block *b, unsigned column)
{
    size_t count = (size_t)b->ports * b->samples;
    for (size_t i = 0; b->code[column] != NULL && i < count; i++)
        if (b->code[column][i] != 0)
            return false;
    return true;
}

int fab_counters_block_encode(const struct fab_counters_block *b, uint8_t **ret, size_t *ret_len)
{
    size_t codes = (size_t)b->ports * b->samples, columns = 0;
    uint64_t there = 0;
    for (unsigned c = 0; c < FAB_COLUMNS; c++)
        if (!is_empty(b, c)) {
            there |= UINT64_C(1) << c;
            columns++;
        }
    size_t most = 4 * VARINT_MOST + b->samples * 2 * (size_t)VARINT_MOST +
                  columns * (VARINT_MOST + codes * (TOKEN_MOST + 1));
    uint8_t *bytes = malloc(most), *column = malloc(codes * (TOKEN_MOST + 1) + VARINT_MOST);
    int64_t before = 0;
    if (bytes == NULL || column == NULL) {
        free(bytes);
        free(column);
        return FAB_E_NOMEM;
    }
    uint8_t *to = put(put(put(bytes, VERSION), b->ports), b->samples);
    for (uint32_t s = 0; s < b->samples; s++) {
        to = put(put(to, (uint64_t)(b->time[s].end - before)), b->time[s].span_s);
        before = b->time[s].end;
    }
    to = put(to, there);
    for (unsigned c = 0; c < FAB_COLUMNS; c++) {
        if ((there >> c & 1) == 0)
            continue;
        size_t len = (size_t)(put_column(column, b, b->code[c]) - column);
        to = put(to, len);
        memcpy(to, column, len);
        to += len;
    }
    free(column);
    *ret_len = (size_t)(to - bytes);
    uint8_t *fitting = realloc(bytes, *ret_len);
    *ret = fitting != NULL ? fitting : bytes;
    return FAB_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Bytes to be decoded. After the first error, `bad` is true, and all reads return 0. */
struct source {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t get_long(struct source *s)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && s->at < s->end; shift += 7) {
        uint8_t byte = *s->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    s->bad = true;
    return 0;
}

static inline uint64_t get(struct source *s)
{
    const uint8_t *at = s->at; /* most numbers have one or two bytes */
    if (at < s->end && at[0] < 0x80) {
        s->at = at + 1;
        return at[0];
    }
    if (s->end - at >= 2 && at[1] < 0x80) {
        s->at = at + 2;
        return (at[0] & 0x7fu) | (unsigned)at[1] << 7;
    }
    return get_long(s);
}

static bool get_column(struct source *s, const struct fab_counters_block *b, uint16_t *code)
{
    uint64_t run = 0;
    int first = 0;
    for (uint32_t p = 0; p < b->ports; p++) {
        int now = first;
        for (uint32_t i = 0; i < b->samples; i++) {
            uint64_t token = run == 0 ? get(s) : 0;
            if (run > 0) {
                run--;
            } else if ((token & 1) == 0) {
                run = token >> 1;
            } else {
                uint64_t z = token >> 1;
                if (z > 2 * FAB_CODE_END)
                    return false;
                now += (z & 1) != 0 ? -(int)(z / 2) - 1 : (int)(z / 2);
            }
            if (s->bad || now < 0 || now >= FAB_CODE_END)
                return false;
            if (i == 0)
                first = now;
            *code++ = (uint16_t)now;
        }
    }
    return run == 0 && s->at == s->end;
}

static bool get_times(struct source *s, struct fab_counters_block *b)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < b->samples && !s->bad; i++) {
        end += get(s);
        uint64_t span = get(s);
        if (end > UINT64_C(1) << 40 || span > UINT32_MAX)
            return false;
        b->time[i] = (struct fab_counters_time){(int64_t)end, (uint32_t)span};
    }
    return !s->bad;
}

static int get_columns(struct source *s, uint64_t columns, struct fab_counters_block *b)
{
    uint64_t there = get(s);
    if (there >> FAB_COLUMNS != 0)
        return FAB_E_FORMAT;
    for (unsigned c = 0; c < FAB_COLUMNS && !s->bad; c++) {
        if ((there >> c & 1) == 0)
            continue;
        uint64_t len = get(s);
        if (s->bad || len > (size_t)(s->end - s->at))
            return FAB_E_FORMAT;
        struct source tokens = {.at = s->at, .end = s->at + len};
        s->at += len;
        if ((columns >> c & 1) == 0)
            continue;
        b->code[c] = malloc((size_t)b->ports * b->samples * sizeof *b->code[c] + 1);
        if (b->code[c] == NULL)
            return FAB_E_NOMEM;
        if (!get_column(&tokens, b, b->code[c]))
            return FAB_E_FORMAT;
    }
    return s->bad || s->at != s->end ? FAB_E_FORMAT : FAB_OK;
}

int fab_counters_block_decode(const uint8_t *bytes, size_t len, uint64_t columns,
                              struct fab_counters_block *ret)
{
    struct source s = {.at = bytes, .end = bytes + len};
    struct fab_counters_block b = {0};
    uint64_t version = get(&s), ports = get(&s), samples = get(&s);
    if (s.bad || version != VERSION || ports > FAB_BLOCK_PORTS || samples > FAB_BLOCK_SAMPLES)
        return FAB_E_FORMAT;
    int status = fab_counters_block_init(&b, (uint32_t)ports, (uint32_t)samples);
    if (status == FAB_OK && !get_times(&s, &b))
        status = FAB_E_FORMAT;
    if (status == FAB_OK)
        status = get_columns(&s, columns, &b);
    if (status == FAB_OK)
        *ret = b;
    else
        fab_counters_block_fini(&b);
    return status;
}
