/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Squeezing packed plans. A plan for a cable says nearly the same thing for each of hundreds of
 * switches; told as differences (pack.c) that is the same bytes again and again. So bytes that were
 * there before are said by how far back they begin and how many they are (Ziv & Lempel 1977, with
 * the last place of each four bytes as the only one that is tried):
 *
 *     bytes when unsqueezed, then until so many are there:
 *     how many bytes are new, these, how many come again, from how far back
 *
 * All numbers are of 7 bits a byte, the least first. The copy may run into itself, which is how one
 * record becomes six hundred. What is read here was written here; nothing comes from outside.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/contingency/contingency.h"

#define SLOT_BITS 12
#define LEAST 4 /* bytes again that are worth saying */

struct squeezing {
    const uint8_t *raw;
    uint32_t len;
    uint32_t slot[1 << SLOT_BITS]; /* place + 1 of four bytes, by their hash */
};

/* Where the four bytes at `at` were last, or FAB_NONE; remembers them. */
static uint32_t before(struct squeezing *s, uint32_t at)
{
    uint32_t four;
    memcpy(&four, s->raw + at, sizeof(four));
    uint32_t *slot = &s->slot[four * 0x9e3779b1u >> (32 - SLOT_BITS)];
    uint32_t place = *slot;
    *slot = at + 1;
    return place > 0 && memcmp(s->raw + place - 1, s->raw + at, LEAST) == 0 ? place - 1 : FAB_NONE;
}

static uint8_t *put_piece(uint8_t *to, const struct squeezing *s, uint32_t first, uint32_t at)
{
    to = fab_repair_put_number(to, at - first);
    memcpy(to, s->raw + first, at - first);
    return to + (at - first);
}

int fab_repair_compress(const uint8_t *raw, uint32_t len, uint8_t **ret, uint32_t *ret_len)
{
    struct squeezing *s = calloc(1, sizeof(*s));
    /* New bytes cost themselves and two numbers for each LEAST bytes that come again, at most. */
    uint8_t *most = malloc((size_t)len * 3 + 32), *to = most;
    if (s == NULL || most == NULL) {
        free(s);
        free(most);
        return FAB_E_NOMEM;
    }
    s->raw = raw;
    s->len = len;
    to = fab_repair_put_number(to, len);
    uint32_t first = 0;
    for (uint32_t at = 0; at + LEAST <= len;) {
        uint32_t place = before(s, at), again = LEAST;
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
    uint8_t *less = realloc(most, (size_t)(to - most));
    *ret_len = (uint32_t)(to - most);
    *ret = less != NULL ? less : most;
    return FAB_OK;
}

static void copy_again(uint8_t *to, size_t back, size_t count)
{
    size_t done = back < count ? back : count;
    memcpy(to, to - back, done);
    for (; done < count; done += done) /* twice as much each time */
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
