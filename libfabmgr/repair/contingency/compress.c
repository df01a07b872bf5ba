/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compresses encoded plans. A plan for a link repeats nearly the same differences for each of
 * hundreds of switches (encode.c). So bytes that occurred before are replaced by their number and
 * their distance (Ziv & Lempel 1977). To find a repetition quickly, only the last position with the
 * same four bytes is tried. The compressed data consist of
 *
 *   - the number of uncompressed bytes;
 *   - pieces, until this number is reached. A piece consists of the number of new bytes, the new
 *     bytes, the number of repeated bytes, and the distance back to the bytes that are repeated.
 *     The last piece may end after its new bytes.
 *
 * Each number is written with 7 bits per byte, the lowest bits first. A repetition may overlap the
 * bytes that it repeats, so that one piece can repeat a record many times. Decompression reads only
 * data that this file has written, and does not check them.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/contingency.h"

#define SLOT_BITS 12
/* length in bytes of the shortest repetition that is encoded as a repetition */
#define MIN_REPEAT 4

struct compression {
    const uint8_t *raw;
    uint32_t len;
    /* slot[hash of four bytes] is 1 + the last position that was noted for four bytes with this
     * hash; 0: none */
    uint32_t slot[1 << SLOT_BITS];
};

/* Returns the position that was noted last for the hash of the four bytes at `at`, if the same four
 * bytes are there; otherwise FAB_NONE. Notes `at` for this hash. */
static uint32_t previous(struct compression *s, uint32_t at)
{
    uint32_t four;
    memcpy(&four, s->raw + at, sizeof(four));
    uint32_t *slot = &s->slot[four * 0x9e3779b1u >> (32 - SLOT_BITS)];
    uint32_t place = *slot;
    *slot = at + 1;
    return place > 0 && memcmp(s->raw + place - 1, s->raw + at, MIN_REPEAT) == 0 ? place - 1
                                                                                 : FAB_NONE;
}

static uint8_t *put_piece(uint8_t *to, const struct compression *s, uint32_t first, uint32_t at)
{
    to = fab_repair_put_number(to, at - first);
    memcpy(to, s->raw + first, at - first);
    return to + (at - first);
}

int fab_repair_compress(const uint8_t *raw, uint32_t len, uint8_t **ret, uint32_t *ret_len)
{
    struct compression *s = calloc(1, sizeof(*s));
    /* in the worst case, every MIN_REPEAT bytes are a repetition, which takes three numbers */
    uint8_t *buffer = malloc((size_t)len * 3 + 32), *to = buffer;
    if (s == NULL || buffer == NULL) {
        free(s);
        free(buffer);
        return FAB_E_NOMEM;
    }
    s->raw = raw;
    s->len = len;
    to = fab_repair_put_number(to, len);
    uint32_t first = 0;
    for (uint32_t at = 0; at + MIN_REPEAT <= len;) {
        uint32_t place = previous(s, at), again = MIN_REPEAT;
        if (place == FAB_NONE) {
            at++;
            continue;
        }
        while (at + again < len && raw[place + again] == raw[at + again])
            again++;
        to = put_piece(to, s, first, at);
        to = fab_repair_put_number(to, again);
        to = fab_repair_put_number(to, at - place);
        at += again;
        first = at;
    }
    if (first < len)
        to = put_piece(to, s, first, len);
    free(s);
    uint8_t *shrunk = realloc(buffer, (size_t)(to - buffer));
    *ret_len = (uint32_t)(to - buffer);
    *ret = shrunk != NULL ? shrunk : buffer;
    return FAB_OK;
}

static void copy_again(uint8_t *to, size_t back, size_t count)
{
    size_t done = back < count ? back : count;
    memcpy(to, to - back, done);
    /* each copy doubles the number of bytes copied so far */
    for (; done < count; done += done)
        memcpy(to + done, to, done < count - done ? done : count - done);
}

uint8_t *fab_repair_decompress(const uint8_t *at)
{
    uint64_t len = fab_repair_get_number(&at), done = 0;
    uint8_t *raw = malloc(len + 1);
    while (raw != NULL && done < len) {
        uint64_t fresh = fab_repair_get_number(&at);
        memcpy(raw + done, at, fresh);
        at += fresh;
        done += fresh;
        if (done < len) {
            uint64_t again = fab_repair_get_number(&at), back = fab_repair_get_number(&at);
            copy_again(raw + done, back, again);
            done += again;
        }
    }
    return raw;
}
