/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gRPC: messages whose frames arrive in pieces of any length, timeouts, percent encoding, and the
 * replacement of invalid UTF-8.
 */
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/descriptor.h"
#include "libfabmgr/grpc/grpc.h"
#include "tests/unit/testing.h"

/* ---- framing --------------------------------------------------------------------------------- */

START_TEST(messages_are_put_together_however_they_are_cut)
{
    static const uint8_t stream[] = {0, 0, 0, 0, 3, 'a', 'b', 'c', 0,   0,
                                     0, 0, 0, 0, 0, 0,   0,   2,   'x', 'y'};
    static const char *const want[] = {"abc", "", "xy"};
    for (size_t piece = 1; piece <= sizeof stream; piece++) {
        struct fab_grpc_reader r;
        size_t got = 0;
        fab_grpc_reader_init(&r, 10);
        for (size_t at = 0; at < sizeof stream; at += piece) {
            const uint8_t *data = stream + at;
            size_t len = sizeof stream - at < piece ? sizeof stream - at : piece;
            while (len > 0) {
                int rc = fab_grpc_reader_feed(&r, &data, &len);
                ck_assert_int_ge(rc, 0);
                if (rc == 0)
                    continue;
                ck_assert_uint_lt(got, 3);
                ck_assert_uint_eq(r.len, strlen(want[got]));
                ck_assert_mem_eq(r.body, want[got], r.len);
                ck_assert(fab_grpc_reader_idle(&r));
                got++;
            }
        }
        ck_assert_uint_eq(got, 3);
        fab_grpc_reader_fini(&r);
    }
}
END_TEST

static int feed(uint32_t max, const char *bytes, size_t len, bool *ret_idle)
{
    struct fab_grpc_reader r;
    const uint8_t *data = (const uint8_t *)bytes;
    fab_grpc_reader_init(&r, max);
    int rc = fab_grpc_reader_feed(&r, &data, &len);
    *ret_idle = fab_grpc_reader_idle(&r);
    fab_grpc_reader_fini(&r);
    return rc;
}

START_TEST(bad_frames_are_refused)
{
    bool idle;
    ck_assert_int_eq(feed(10, "\1\0\0\0\1x", 6, &idle), FAB_E_UNSUPPORTED);
    ck_assert_int_eq(feed(10, "\0\0\0\0\x0b", 5, &idle), FAB_E_LIMIT);
    ck_assert_int_eq(feed(10, "\0\xff\xff\xff\xff", 5, &idle), FAB_E_LIMIT);
    ck_assert_int_eq(feed(10, "\0\0\0\0\x0a", 5, &idle), 0);
    ck_assert(!idle);
    ck_assert_int_eq(feed(10, "\0\0", 2, &idle), 0);
    ck_assert(!idle);
    ck_assert_int_eq(feed(10, "", 0, &idle), 0);
    ck_assert(idle);
}
END_TEST

START_TEST(memory_follows_what_arrives)
{
    struct fab_grpc_reader r;
    const uint8_t head[] = {0, 0, 0x40, 0, 0, 'x'};
    const uint8_t *data = head;
    size_t len = sizeof head;
    fab_grpc_reader_init(&r, 8u << 20);
    ck_assert_int_eq(fab_grpc_reader_feed(&r, &data, &len), 0);
    ck_assert_uint_lt(r.cap, 1024);
    fab_grpc_reader_fini(&r);
}
END_TEST

START_TEST(the_prefix_is_read_as_written)
{
    uint8_t prefix[FAB_GRPC_PREFIX];
    fab_grpc_prefix(prefix, 0x01020304);
    ck_assert_mem_eq(prefix, "\0\1\2\3\4", 5);
}
END_TEST

/* ---- header values --------------------------------------------------------------------------- */

START_TEST(timeouts)
{
    static const struct {
        const char *text;
        uint64_t us;
    } good[] = {{"1S", 1000000},   {"100m", 100000},   {"7u", 7},
                {"1n", 1},         {"1500n", 2},       {"0m", 0},
                {"2M", 120000000}, {"1H", 3600000000}, {"99999999H", 31536000000000}};
    static const char *const bad[] = {"", "S", "1", "1s", "-1S", "1SS", "123456789S", "1 S", "+1S"};
    uint64_t us;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(fab_grpc_timeout_parse(good[i].text, &us), FAB_OK);
        ck_assert_uint_eq(us, good[i].us);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(fab_grpc_timeout_parse(bad[i], &us), FAB_E_FORMAT);
}
END_TEST

START_TEST(a_timeout_is_never_shortened)
{
    struct fab_prng g;
    fab_base_prng_init(&g, test_seed("timeouts", 1));
    for (int i = 0; i < 10000; i++) {
        uint64_t us = fab_base_prng_next(&g) >> (24 + fab_base_prng_next(&g) % 40), again;
        char text[16];
        fab_grpc_timeout_format(us, text);
        ck_assert_int_eq(fab_grpc_timeout_parse(text, &again), FAB_OK);
        ck_assert_uint_ge(again, us < 31536000000000 ? us : 31536000000000);
        ck_assert_uint_le(again, us + us / 10000 + 1);
    }
}
END_TEST

START_TEST(messages_survive_trailers)
{
    char text[64], coded[256], again[64];
    ck_assert_uint_eq(fab_grpc_percent_encode("50% \xc3\xa4\n", coded, sizeof coded), 15);
    ck_assert_str_eq(coded, "50%25 %C3%A4%0A");
    for (int c = 1; c < 256; c++) {
        snprintf(text, sizeof text, "a%cb", c);
        fab_grpc_percent_encode(text, coded, sizeof coded);
        for (const char *p = coded; *p != '\0'; p++)
            ck_assert(*p >= 0x20 && *p < 0x7f);
        fab_grpc_percent_decode(coded, strlen(coded), again, sizeof again);
        ck_assert_str_eq(again, text);
    }
}
END_TEST

START_TEST(coding_keeps_to_its_room)
{
    char small[6];
    memset(small, 'x', sizeof small);
    ck_assert_uint_eq(fab_grpc_percent_encode("ab%cd", small, 5), 2);
    ck_assert_str_eq(small, "ab");
    ck_assert_int_eq(small[5], 'x');
    ck_assert_uint_eq(fab_grpc_percent_decode("%4", 2, small, sizeof small), 2);
    ck_assert_str_eq(small, "%4");
    ck_assert_uint_eq(fab_grpc_percent_decode("%zz%41", 6, small, sizeof small), 4);
    ck_assert_str_eq(small, "%zzA");
    ck_assert_uint_eq(fab_grpc_percent_decode("abcdefgh", 8, small, 4), 3);
    ck_assert_str_eq(small, "abc");
}
END_TEST

/* ---- text ------------------------------------------------------------------------------------ */

#define BAD "\xef\xbf\xbd"

START_TEST(hostile_names_become_utf8)
{
    static const char *const pairs[][2] = {
        {"leaf-1", "leaf-1"},
        {"K\xc3\xb6ln \xf0\x9f\x98\x80", "K\xc3\xb6ln \xf0\x9f\x98\x80"},
        {"a\xff"
         "b",
         "a" BAD "b"},
        {"\xc0\xaf", BAD BAD},
        {"\xed\xa0\x80", BAD BAD BAD},
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD},
        {"\xe2\x82", BAD BAD},
        {"\x1b[31mred\x7f\n", BAD "[31mred" BAD BAD},
        {"\xc2\x9b"
         "1m",
         BAD "1m"},
    };
    char clean[64];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        fab_grpc_utf8_clean(pairs[i][0], strlen(pairs[i][0]), clean, sizeof clean);
        ck_assert_str_eq(clean, pairs[i][1]);
    }
    ck_assert_uint_eq(fab_grpc_utf8_clean("\xc3\xb6\xc3\xb6", 4, clean, 4), 2);
    ck_assert_str_eq(clean, "\xc3\xb6");
}
END_TEST

START_TEST(cleaning_twice_changes_nothing)
{
    struct fab_prng g;
    fab_base_prng_init(&g, test_seed("text", 2));
    for (int i = 0; i < 5000; i++) {
        char text[32], once[100], twice[300];
        for (size_t j = 0; j < sizeof text; j++)
            text[j] = (char)fab_base_prng_next(&g);
        size_t n = fab_grpc_utf8_clean(text, sizeof text, once, sizeof once);
        ck_assert_uint_eq(fab_grpc_utf8_clean(once, n, twice, sizeof twice), n);
        ck_assert_str_eq(once, twice);
    }
}
END_TEST

/* A newer protoc may add fields of any type to a descriptor. The name of the file follows a field
 * of 4 bytes and one of 8 bytes, which must be skipped. */
START_TEST(fields_of_a_fixed_size_are_skipped)
{
    static const uint8_t set[] = {0x0a, 23,                           /* FileDescriptorSet.file */
                                  0xfd, 0x06,                         /* field 111, 4 bytes */
                                  0xff, 0xff, 0xff, 0xff, 0xf9, 0x06, /* field 111, 8 bytes */
                                  0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                  0xff, 0xff, 0x0a, 5, /* FileDescriptorProto.name */
                                  'a',  '.',  'p',  'r',  'o'};
    struct fab_grpc_descriptor_file file;
    ck_assert_int_eq(fab_grpc_descriptor_by_name(set, sizeof(set), "a.pro", &file), FAB_OK);
    ck_assert_ptr_eq(file.bytes, set + 2);
    ck_assert_uint_eq(file.len, 23);
}
END_TEST

START_TEST(codes_have_names)
{
    ck_assert_str_eq(fab_grpc_code_name(FAB_GRPC_NOT_FOUND), "NOT_FOUND");
    ck_assert_str_eq(fab_grpc_code_name(FAB_GRPC_UNAUTHENTICATED), "UNAUTHENTICATED");
    ck_assert_str_eq(fab_grpc_code_name(17), "UNKNOWN");
    ck_assert_str_eq(fab_grpc_code_name(-1), "UNKNOWN");
    ck_assert_int_eq(fab_grpc_code_of(FAB_OK), FAB_GRPC_OK);
    for (int status = FAB_E_DENIED; status < 0; status++) {
        ck_assert_int_ne(fab_grpc_code_of(status), FAB_GRPC_OK);
        /* PERMISSION_DENIED means that the caller's role is too low, which no status of the library
         * says */
        ck_assert_int_ne(fab_grpc_code_of(status), FAB_GRPC_PERMISSION_DENIED);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grpc");
    TCase *tcase = tcase_create("grpc");
    tcase_add_test(tcase, messages_are_put_together_however_they_are_cut);
    tcase_add_test(tcase, bad_frames_are_refused);
    tcase_add_test(tcase, memory_follows_what_arrives);
    tcase_add_test(tcase, the_prefix_is_read_as_written);
    tcase_add_test(tcase, timeouts);
    tcase_add_test(tcase, a_timeout_is_never_shortened);
    tcase_add_test(tcase, messages_survive_trailers);
    tcase_add_test(tcase, coding_keeps_to_its_room);
    tcase_add_test(tcase, hostile_names_become_utf8);
    tcase_add_test(tcase, cleaning_twice_changes_nothing);
    tcase_add_test(tcase, fields_of_a_fixed_size_are_skipped);
    tcase_add_test(tcase, codes_have_names);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
