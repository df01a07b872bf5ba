/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The containers of libfabmgr/base, each compared with a simple model. Cursors are tested at the
 * ends of their buffers.
 */
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/bucket.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/digits.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/stream.h"
#include "libfabmgr/base/text.h"
#include "tests/unit/testing.h"

START_TEST(every_status_has_its_sentence)
{
    for (int status = FAB_OK; status >= FAB_E_DENIED; status--) {
        ck_assert_str_ne(fab_base_status_text(status), "unknown status");
        for (int other = FAB_OK; other > status; other--)
            ck_assert_str_ne(fab_base_status_text(status), fab_base_status_text(other));
    }
    ck_assert_str_eq(fab_base_status_text(FAB_E_DENIED - 1), "unknown status");
    ck_assert_str_eq(fab_base_status_text(1), "unknown status");
    ck_assert_str_eq(fab_base_status_text(INT32_MIN), "unknown status");
}
END_TEST

START_TEST(reader_gives_big_endian_numbers)
{
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    struct fab_base_reader r = fab_base_reader(bytes, sizeof bytes);
    ck_assert_uint_eq(fab_base_read_u8(&r), 0x01);
    ck_assert_uint_eq(fab_base_read_u16(&r), 0x0203);
    ck_assert_uint_eq(fab_base_read_u32(&r), 0x04050607);
    ck_assert_uint_eq(fab_base_read_u64(&r), UINT64_C(0x08090a0b0c0d0e0f));
    ck_assert_uint_eq(fab_base_read_left(&r), 0);
    ck_assert_int_eq(r.status, FAB_OK);
}
END_TEST

START_TEST(reader_error_sticks)
{
    const uint8_t bytes[] = {1, 2, 3};
    struct fab_base_reader r = fab_base_reader(bytes, sizeof bytes);
    ck_assert_uint_eq(fab_base_read_u32(&r), 0);
    ck_assert_int_eq(r.status, FAB_E_TRUNCATED);
    /* One byte is left, but after an error the reader returns only zeros. */
    ck_assert_uint_eq(fab_base_read_u8(&r), 0);
    ck_assert_ptr_null(fab_base_read_bytes(&r, 0));
    ck_assert_int_eq(r.status, FAB_E_TRUNCATED);
}
END_TEST

START_TEST(nothing_at_all_can_be_read)
{
    struct fab_base_reader r = fab_base_reader(NULL, 0);
    ck_assert_uint_eq(fab_base_read_left(&r), 0);
    ck_assert_uint_eq(fab_base_read_u8(&r), 0);
    ck_assert_int_eq(r.status, FAB_E_TRUNCATED);
}
END_TEST

START_TEST(reader_survives_huge_lengths)
{
    const uint8_t bytes[] = {1, 2, 3};
    struct fab_base_reader r = fab_base_reader(bytes, sizeof bytes);
    ck_assert_ptr_null(fab_base_read_bytes(&r, SIZE_MAX));
    ck_assert_int_eq(r.status, FAB_E_TRUNCATED);
}
END_TEST

START_TEST(writer_writes_what_reader_reads)
{
    uint8_t bytes[20];
    struct fab_base_writer w = fab_base_writer(bytes, sizeof bytes);
    fab_base_write_u8(&w, 0xfe);
    fab_base_write_u16(&w, 0xabcd);
    fab_base_write_u32(&w, 0x12345678);
    fab_base_write_u64(&w, UINT64_C(0x1122334455667788));
    fab_base_write_bytes(&w, (const uint8_t *)"xyz", 3);
    fab_base_write_zeros(&w, 2);
    ck_assert_int_eq(w.status, FAB_OK);
    struct fab_base_reader r = fab_base_reader(bytes, sizeof bytes);
    ck_assert_uint_eq(fab_base_read_u8(&r), 0xfe);
    ck_assert_uint_eq(fab_base_read_u16(&r), 0xabcd);
    ck_assert_uint_eq(fab_base_read_u32(&r), 0x12345678);
    ck_assert_uint_eq(fab_base_read_u64(&r), UINT64_C(0x1122334455667788));
    ck_assert_mem_eq(fab_base_read_bytes(&r, 5), "xyz\0\0", 5);
}
END_TEST

START_TEST(writer_error_sticks_and_writes_nothing)
{
    uint8_t bytes[3] = {9, 9, 9};
    struct fab_base_writer w = fab_base_writer(bytes, 2);
    fab_base_write_u32(&w, 1);
    fab_base_write_u8(&w, 1);
    ck_assert_int_eq(w.status, FAB_E_TRUNCATED);
    ck_assert_mem_eq(bytes, "\x09\x09\x09", 3);
}
END_TEST

START_TEST(sizes_are_checked)
{
    size_t size, capacity = 0;
    ck_assert(fab_base_size_mul(3, 4, &size) && size == 12);
    ck_assert(!fab_base_size_mul(SIZE_MAX / 2, 3, &size));
    ck_assert(!fab_base_size_add(SIZE_MAX, 1, &size));
    ck_assert_ptr_null(fab_base_alloc_array(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(fab_base_grow(NULL, 16, SIZE_MAX / 8, &capacity));
    ck_assert_uint_eq(capacity, 0);
}
END_TEST

START_TEST(arrays_grow_and_keep_their_items)
{
    uint32_t *items = NULL;
    size_t capacity = 0, moves = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = capacity;
        void *grown = fab_base_grow(items, sizeof *items, i + 1, &capacity);
        ck_assert_ptr_nonnull(grown);
        items = grown;
        items[i] = i;
        moves += capacity != before;
    }
    for (uint32_t i = 0; i < 100000; i++)
        ck_assert_uint_eq(items[i], i);
    ck_assert_uint_lt(moves, 30);
    free(items);
}
END_TEST

START_TEST(arena_gives_zeroed_aligned_separate_memory)
{
    struct fab_arena a = {0};
    struct fab_prng prng;
    struct {
        uint8_t *at;
        size_t len;
    } pieces[500];
    fab_base_prng_init(&prng, test_seed("arena", 3));
    for (size_t i = 0; i < 500; i++) {
        pieces[i].len = (size_t)fab_base_prng_below(&prng, i % 50 == 0 ? 100000 : 300);
        pieces[i].at = fab_base_arena_alloc(&a, pieces[i].len, 1);
        ck_assert_ptr_nonnull(pieces[i].at);
        ck_assert_uint_eq((uintptr_t)pieces[i].at % _Alignof(max_align_t), 0);
        for (size_t b = 0; b < pieces[i].len; b++)
            ck_assert_uint_eq(pieces[i].at[b], 0);
        memset(pieces[i].at, (int)(i % 255 + 1), pieces[i].len);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t b = 0; b < pieces[i].len; b++)
            ck_assert_uint_eq(pieces[i].at[b], i % 255 + 1);
    fab_base_arena_fini(&a);
    fab_base_arena_fini(&a); /* a second call has no effect */
}
END_TEST

START_TEST(arena_refuses_what_overflows)
{
    struct fab_arena a = {0};
    ck_assert_ptr_null(fab_base_arena_alloc(&a, SIZE_MAX, 2));
    ck_assert_ptr_null(fab_base_arena_alloc(&a, SIZE_MAX, 1));
    ck_assert_ptr_null(fab_base_arena_text(&a, "", SIZE_MAX));
    ck_assert_ptr_nonnull(fab_base_arena_alloc(&a, 0, 8));
    ck_assert_str_eq(fab_base_arena_text(&a, "abcdef", 3), "abc");
    fab_base_arena_fini(&a);
}
END_TEST

START_TEST(bits_behave_as_an_array_of_bools)
{
    enum { BITS = 300 };
    bool model[BITS] = {false};
    uint64_t *set = fab_base_bits_new(BITS);
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("bits", 4));
    for (int step = 0; step < 20000; step++) {
        size_t i = (size_t)fab_base_prng_below(&prng, BITS), found = i;
        bool value = fab_base_prng_chance(&prng, 0.1);
        if (value && fab_base_prng_chance(&prng, 0.5))
            ck_assert_int_eq(fab_base_bits_add(set, i), !model[i]);
        else
            fab_base_bits_put(set, i, value);
        model[i] = value;
        while (found < BITS && !model[found])
            found++;
        ck_assert_uint_eq(fab_base_bits_next(set, BITS, i), found);
        ck_assert_int_eq(fab_base_bits_get(set, i), value);
    }
    size_t count = 0;
    for (size_t i = 0; i < BITS; i++)
        count += model[i];
    ck_assert_uint_eq(fab_base_bits_count(set, BITS), count);
    ck_assert_uint_eq(fab_base_bits_next(set, BITS, BITS), BITS);
    fab_base_bits_zero(set, BITS);
    ck_assert_uint_eq(fab_base_bits_count(set, BITS), 0);
    free(set);
}
END_TEST

START_TEST(map_agrees_with_a_plain_array)
{
    enum { KEYS = 500 };
    struct {
        bool there;
        uint32_t value;
    } model[KEYS] = {{0}};
    struct fab_map m = {0};
    struct fab_prng prng;
    size_t count = 0;
    fab_base_prng_init(&prng, test_seed("map", 5));
    for (int step = 0; step < 200000; step++) {
        uint64_t key = fab_base_prng_below(&prng, KEYS),
                 /* keys whose low 40 bits are 0 test the hash function of the map */
            wide = key << 40;
        uint32_t value = (uint32_t)fab_base_prng_next(&prng), got = 0;
        switch (fab_base_prng_below(&prng, 4)) {
        case 0:
            ck_assert_int_eq(fab_base_map_put(&m, wide, value), FAB_OK);
            count += !model[key].there;
            model[key].there = true;
            model[key].value = value;
            break;
        case 1:
            ck_assert_int_eq(fab_base_map_add(&m, wide, value),
                             model[key].there ? FAB_E_EXISTS : FAB_OK);
            if (!model[key].there) {
                model[key].there = true;
                model[key].value = value;
                count++;
            }
            break;
        case 2:
            ck_assert_int_eq(fab_base_map_remove(&m, wide), model[key].there);
            count -= model[key].there;
            model[key].there = false;
            break;
        default:
            ck_assert_int_eq(fab_base_map_get(&m, wide, &got), model[key].there);
            if (model[key].there)
                ck_assert_uint_eq(got, model[key].value);
        }
        ck_assert_uint_eq(m.count, count);
    }
    size_t cursor = 0, visited = 0;
    uint64_t key;
    uint32_t value;
    while (fab_base_map_next(&m, &cursor, &key, &value)) {
        ck_assert(model[key >> 40].there);
        ck_assert_uint_eq(model[key >> 40].value, value);
        visited++;
    }
    ck_assert_uint_eq(visited, count);
    fab_base_map_fini(&m);
}
END_TEST

START_TEST(map_takes_any_key_and_value)
{
    struct fab_map m = {0};
    uint32_t value = 1;
    ck_assert(!fab_base_map_get(&m, 0, &value));
    ck_assert(!fab_base_map_remove(&m, 0));
    ck_assert_int_eq(fab_base_map_put(&m, 0, UINT32_MAX), FAB_OK);
    ck_assert_int_eq(fab_base_map_put(&m, UINT64_MAX, 0), FAB_OK);
    ck_assert(fab_base_map_get(&m, 0, &value) && value == UINT32_MAX);
    ck_assert(fab_base_map_get(&m, UINT64_MAX, &value) && value == 0);
    ck_assert_int_eq(fab_base_map_reserve(&m, SIZE_MAX / 4), FAB_E_NOMEM);
    fab_base_map_fini(&m);
}
END_TEST

START_TEST(map_reserve_makes_room_at_once)
{
    struct fab_map m = {0};
    ck_assert_int_eq(fab_base_map_reserve(&m, 10000), FAB_OK);
    size_t capacity = m.capacity;
    for (uint64_t i = 0; i < 10000; i++)
        ck_assert_int_eq(fab_base_map_put(&m, i, (uint32_t)i), FAB_OK);
    ck_assert_uint_eq(m.capacity, capacity);
    fab_base_map_fini(&m);
}
END_TEST

START_TEST(sets_join_under_their_lowest)
{
    uint32_t sets[8];
    fab_base_sets_init(sets, 8);
    for (uint32_t i = 0; i < 8; i++)
        ck_assert_uint_eq(fab_base_sets_find(sets, i), i);
    fab_base_sets_join(sets, 7, 5);
    fab_base_sets_join(sets, 6, 2);
    fab_base_sets_join(sets, 7, 6);
    fab_base_sets_join(sets, 2, 5);
    const uint32_t want[8] = {0, 1, 2, 3, 4, 2, 2, 2};
    for (uint32_t i = 0; i < 8; i++)
        ck_assert_uint_eq(fab_base_sets_find(sets, i), want[i]);
}
END_TEST

/* expected[] is the beginning of the key stream of ChaCha8 with the key 0 (test vector TC1 of
 * draft-strombergson-chacha-test-vectors). */
START_TEST(stream_gives_the_published_sequence)
{
    static const uint8_t expected[] = {0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6,
                                       0x7f, 0x5b, 0xb8, 0xe8, 0x1f, 0x09, 0xa5, 0xa1,
                                       0x2c, 0x84, 0x0e, 0xc3, 0xce, 0x9a, 0x7f, 0x3b,
                                       0x18, 0x1b, 0xe1, 0x88, 0xef, 0x71, 0x1a, 0x1e};
    static const uint8_t key[FAB_STREAM_KEY] = {0}, other[FAB_STREAM_KEY] = {1};
    struct fab_stream s, t;
    uint32_t same = 0;
    fab_base_stream_init(&s, key);
    for (size_t i = 0; i < sizeof expected; i += 4) {
        uint32_t word = fab_base_stream_next(&s);
        for (size_t k = 0; k < 4; k++)
            ck_assert_uint_eq((uint8_t)(word >> 8 * k), expected[i + k]);
    }
    fab_base_stream_init(&t, other);
    for (size_t i = 0; i < 1000; i++)
        same += fab_base_stream_next(&s) == fab_base_stream_next(&t);
    ck_assert_uint_eq(same, 0);
}
END_TEST

START_TEST(prng_gives_the_published_sequence)
{
    /* The first numbers of xoshiro256** from state {1, 2, 3, 4}, as computed by its authors' code.
     */
    struct fab_prng p = {.s = {1, 2, 3, 4}};
    ck_assert_uint_eq(fab_base_prng_next(&p), UINT64_C(11520));
    ck_assert_uint_eq(fab_base_prng_next(&p), UINT64_C(0));
    ck_assert_uint_eq(fab_base_prng_next(&p), UINT64_C(1509978240));
    ck_assert_uint_eq(fab_base_prng_next(&p), UINT64_C(1215971899390074240));
    /* The first numbers of splitmix64 from 0. */
    fab_base_prng_init(&p, 0);
    ck_assert_uint_eq(p.s[0], UINT64_C(0xe220a8397b1dcdaf));
    ck_assert_uint_eq(p.s[1], UINT64_C(0x6e789e6aa1b965f4));
}
END_TEST

/* fab_base_prng_below multiplies a random 64-bit number by the bound. It must reject the random
 * number exactly if the low 64 bits of the product are less than 2^64 mod bound. For some large
 * bounds, it rejects up to half of all numbers. */
START_TEST(prng_below_rejects_what_would_be_uneven)
{
    static const uint64_t bounds[] = {
        1,         3, 1000000007, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_C(3) << 62,
        UINT64_MAX};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        struct fab_prng p, numbers;
        unsigned __int128 all = (unsigned __int128)1 << 64;
        fab_base_prng_init(&p, 1);
        numbers = p;
        for (unsigned k = 0; k < 200; k++) {
            unsigned __int128 product;
            do
                product = (unsigned __int128)fab_base_prng_next(&numbers) * bounds[i];
            while (product % all < all % bounds[i]);
            ck_assert_uint_eq(fab_base_prng_below(&p, bounds[i]), (uint64_t)(product >> 64));
        }
    }
}
END_TEST

START_TEST(prng_below_is_bounded_and_even)
{
    struct fab_prng p;
    uint32_t seen[7] = {0};
    fab_base_prng_init(&p, test_seed("prng", 6));
    for (int i = 0; i < 70000; i++)
        seen[fab_base_prng_below(&p, 7)]++;
    for (int i = 0; i < 7; i++)
        ck_assert(seen[i] > 9500 && seen[i] < 10500);
    ck_assert_uint_eq(fab_base_prng_below(&p, 1), 0);
    ck_assert_uint_lt(fab_base_prng_below(&p, UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(prng_chance_keeps_its_rate)
{
    struct fab_prng p;
    int hits = 0;
    fab_base_prng_init(&p, test_seed("chance", 7));
    for (int i = 0; i < 100000; i++) {
        hits += fab_base_prng_chance(&p, 0.25);
        ck_assert(!fab_base_prng_chance(&p, 0.0));
        ck_assert(fab_base_prng_chance(&p, 1.0));
    }
    ck_assert(hits > 24000 && hits < 26000);
}
END_TEST

START_TEST(shuffle_is_a_permutation)
{
    enum { COUNT = 1000 };
    struct fab_prng p;
    uint32_t items[COUNT];
    bool seen[COUNT] = {false};
    int fixed = 0;
    fab_base_prng_init(&p, test_seed("shuffle", 8));
    for (uint32_t i = 0; i < COUNT; i++)
        items[i] = i;
    fab_base_prng_shuffle(&p, items, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        ck_assert(!seen[items[i]]);
        seen[items[i]] = true;
        fixed += items[i] == i;
    }
    ck_assert_int_lt(fixed, 20);
    fab_base_prng_shuffle(&p, items, 0);
}
END_TEST

START_TEST(text_grows_as_it_is_written)
{
    struct fab_text t = {0};
    char *taken = NULL;
    size_t len = 0;
    ck_assert_str_eq(fab_base_text_get(&t), "");
    for (int i = 0; i < 1000; i++)
        fab_base_text_addf(&t, "%d,", i);
    fab_base_text_add(&t, "end");
    fab_base_text_bytes(&t, "\0x", 2);
    ck_assert_uint_eq(t.len, 10 * 2 + 90 * 3 + 900 * 4 + 3 + 2);
    ck_assert_int_eq(fab_base_text_take(&t, &taken, &len), FAB_OK);
    ck_assert_uint_eq(len, 10 * 2 + 90 * 3 + 900 * 4 + 5);
    ck_assert_mem_eq(taken, "0,1,2,3,4,5,6,7,8,9,10,", 23);
    ck_assert_mem_eq(taken + len - 9, "999,end\0x", 10);
    free(taken);
    ck_assert_uint_eq(t.len, 0);
    /* an empty text can be taken, too */
    ck_assert_int_eq(fab_base_text_take(&t, &taken, NULL), FAB_OK);
    ck_assert_str_eq(taken, "");
    free(taken);
}
END_TEST

START_TEST(text_error_sticks)
{
    struct fab_text t = {0};
    char *taken = NULL;
    fab_base_text_add(&t, "abc");
    fab_base_text_bytes(&t, "", SIZE_MAX);
    fab_base_text_add(&t, "def");
    ck_assert_int_eq(t.status, FAB_E_NOMEM);
    ck_assert_str_eq(fab_base_text_get(&t), "abc");
    ck_assert_int_eq(fab_base_text_take(&t, &taken, NULL), FAB_E_NOMEM);
    ck_assert_ptr_null(taken);
    fab_base_text_add(&t, "new"); /* after this, the text object is empty and can be used again */
    ck_assert_str_eq(fab_base_text_get(&t), "new");
    fab_base_text_fini(&t);
}
END_TEST

START_TEST(digits_say_numbers)
{
    static const struct {
        const char *text;
        unsigned base;
        uint64_t most, value;
        /* expected number of characters that are read; -1: the number exceeds `most`, so it must be
         * refused */
        int used;
    } cases[] = {
        {"1079 ", 10, 1079, 1079, 4},
        {"1079", 10, 1078, 0, -1},
        {"0018", 8, 100, 1, 3},
        {"fFg", 16, UINT64_MAX, 255, 2},
        {"18446744073709551615", 10, UINT64_MAX, UINT64_MAX, 20},
        {"18446744073709551616", 10, UINT64_MAX, 0, -1},
        {"0000000000000000000ffffffffffffffff", 16, UINT64_MAX, UINT64_MAX, 35},
        {"10000000000000000", 16, UINT64_MAX, 0, -1},
        {"9", 10, 8, 0, -1},
        {"-1", 10, 8, 7, 0},
        {"", 10, 8, 7, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        size_t len = strlen(text);
        uint64_t value = 7;
        const char *stop =
            fab_base_digits_read(text, text + len, cases[i].base, cases[i].most, &value);
        ck_assert_msg(stop == (cases[i].used < 0 ? NULL : text + cases[i].used), "%s", text);
        ck_assert_uint_eq(value, cases[i].used < 0 ? 7 : cases[i].value);
        bool all = cases[i].used > 0 && (size_t)cases[i].used == len;
        ck_assert_int_eq(fab_base_digits_parse(text, len, cases[i].base, cases[i].most, &value),
                         all);
    }
}
END_TEST

START_TEST(a_bucket_agrees_with_counted_tokens)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("bucket", 5));
    const struct fab_bucket_rate rate = {.each_us = 100, .burst = 8};
    /* the model counts tokens in us: one token takes 100 us to fill */
    uint64_t full = 0, now = 1000, tokens = 8 * 100;
    for (int i = 0; i < 100000; i++) {
        uint64_t pause = fab_base_prng_below(&prng, 4) ? fab_base_prng_below(&prng, 60)
                                                       : fab_base_prng_below(&prng, 1500);
        now += pause;
        tokens = tokens + pause < 800 ? tokens + pause : 800;
        ck_assert_int_eq(fab_base_bucket_is_full(full, now), tokens == 800);
        ck_assert_int_eq(fab_base_bucket_has(full, now, &rate), tokens >= 100);
        ck_assert_int_eq(fab_base_bucket_take(&full, now, &rate), tokens >= 100);
        tokens -= tokens >= 100 ? 100 : 0;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tcase = tcase_create("base");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_status_has_its_sentence);
    tcase_add_test(tcase, reader_gives_big_endian_numbers);
    tcase_add_test(tcase, reader_error_sticks);
    tcase_add_test(tcase, nothing_at_all_can_be_read);
    tcase_add_test(tcase, reader_survives_huge_lengths);
    tcase_add_test(tcase, writer_writes_what_reader_reads);
    tcase_add_test(tcase, writer_error_sticks_and_writes_nothing);
    tcase_add_test(tcase, sizes_are_checked);
    tcase_add_test(tcase, arrays_grow_and_keep_their_items);
    tcase_add_test(tcase, arena_gives_zeroed_aligned_separate_memory);
    tcase_add_test(tcase, arena_refuses_what_overflows);
    tcase_add_test(tcase, bits_behave_as_an_array_of_bools);
    tcase_add_test(tcase, map_agrees_with_a_plain_array);
    tcase_add_test(tcase, map_takes_any_key_and_value);
    tcase_add_test(tcase, map_reserve_makes_room_at_once);
    tcase_add_test(tcase, sets_join_under_their_lowest);
    tcase_add_test(tcase, stream_gives_the_published_sequence);
    tcase_add_test(tcase, prng_gives_the_published_sequence);
    tcase_add_test(tcase, prng_below_rejects_what_would_be_uneven);
    tcase_add_test(tcase, prng_below_is_bounded_and_even);
    tcase_add_test(tcase, prng_chance_keeps_its_rate);
    tcase_add_test(tcase, shuffle_is_a_permutation);
    tcase_add_test(tcase, text_grows_as_it_is_written);
    tcase_add_test(tcase, text_error_sticks);
    tcase_add_test(tcase, digits_say_numbers);
    tcase_add_test(tcase, a_bucket_agrees_with_counted_tokens);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
