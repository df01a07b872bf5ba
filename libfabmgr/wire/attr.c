/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs, unpacks and compares attributes, by a table of fields (tables.c). A field has at most 64
 * bits, all of them in the eight bytes that begin with its first byte; a test checks this for all
 * tables. So one big-endian load of eight bytes and two shifts are enough to read a field. Packing
 * and unpacking use a copy that is longer than the attribute, so the loads and stores never touch
 * memory beyond the caller's bytes.
 *
 * While the manager brings up a fabric, this code takes most of its CPU time. Each branch of the
 * code depends only on the kind of attribute, not on the values, so the processor predicts the
 * branches well.
 */
#include <assert.h>
#include <string.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/wire/member.h"
#include "libfabmgr/wire/wire.h"

/* upper limit of wire_size, a multiple of 8; the longest attributes have 220 bytes */
#define LARGEST_ATTR 224
/* Number of 64-bit words of the largest attribute, plus one, because the 8-byte load of the last
 * field may reach beyond the attribute. */
#define WORDS (LARGEST_ATTR / 8 + 1)

int fab_wire_attr_unpack(const struct fab_attr *a, const uint8_t *bytes, size_t len,
                         void *ret_struct)
{
    uint8_t copy[WORDS * 8];
    assert(a->wire_size <= LARGEST_ATTR);
    if (len < a->wire_size)
        return FAB_E_TRUNCATED;
    memcpy(copy, bytes, a->wire_size);
    /* the load of the last field may reach into the 8 bytes after the attribute, so they must be
     * defined */
    memset(copy + a->wire_size, 0, 8);
    memset(ret_struct, 0, a->struct_size);
    for (const struct fab_field *f = a->fields, *end = f + a->field_count; f < end; f++) {
        uint8_t *member = (uint8_t *)ret_struct + f->member;
        unsigned bit = f->bit, left = f->repeat;
        do {
            uint64_t value = fab_base_get_be64(copy + bit / 8) << (bit % 8) >> (64 - f->bits);
            fab_wire_store_member(member, f->member_size, value);
            member += f->stride;
            bit += f->bit_stride;
        } while (--left > 0);
    }
    return FAB_OK;
}

/* Stores the value of a field in words[], which holds the attribute as 64-bit numbers in host byte
 * order. The field begins at bit `bit` of the attribute (0: the most significant bit of words[0])
 * and has `bits` bits. */
static void put_bits(uint64_t *words, unsigned bit, unsigned bits, uint64_t value)
{
    unsigned word = bit / 64, end = bit % 64 + bits;
    if (end <= 64) {
        words[word] |= value << (64 - end);
    } else {
        /* the field is in two words, words[word] and words[word + 1] */
        words[word] |= value >> (end - 64);
        words[word + 1] |= value << (128 - end);
    }
}

int fab_wire_attr_pack(const struct fab_attr *a, const void *from, uint8_t *bytes, size_t len)
{
    uint64_t words[WORDS];
    /* the bits of all values that do not fit their fields; if any is set, packing fails */
    uint64_t excess = 0;
    size_t count = a->wire_size / 8u + 1;
    assert(a->wire_size <= LARGEST_ATTR);
    if (len < a->wire_size)
        return FAB_E_TRUNCATED;
    memset(words, 0, count * sizeof *words);
    for (const struct fab_field *f = a->fields, *end = f + a->field_count; f < end; f++) {
        const uint8_t *member = (const uint8_t *)from + f->member;
        unsigned bit = f->bit, left = f->repeat;
        do {
            uint64_t value = fab_wire_load_member(member, f->member_size);
            excess |= value >> (f->bits - 1) >> 1;
            put_bits(words, bit, f->bits, value);
            member += f->stride;
            bit += f->bit_stride;
        } while (--left > 0);
    }
    if (excess != 0)
        return FAB_E_RANGE;
    for (size_t w = 0; w < count; w++)
        fab_base_put_be64((uint8_t *)&words[w], words[w]);
    memcpy(bytes, words, a->wire_size);
    memset(bytes + a->wire_size, 0, len - a->wire_size);
    return FAB_OK;
}

const struct fab_field *fab_wire_attr_diff(const struct fab_attr *a, const void *x, const void *y)
{
    for (const struct fab_field *f = a->fields, *end = f + a->field_count; f < end; f++) {
        const uint8_t *in_x = (const uint8_t *)x + f->member;
        const uint8_t *in_y = (const uint8_t *)y + f->member;
        for (size_t i = 0; i < f->repeat; i++)
            if (memcmp(in_x + i * f->stride, in_y + i * f->stride, f->member_size) != 0)
                return f;
    }
    return NULL;
}
