/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pseudonyms in the parts of a support bundle. They replace names, GUIDs and addresses in every
 * spelling, in JSON and in logs, and all other text stays. In random parts, no original name may
 * remain.
 */
#include <string.h>

#include "cli/ctl/anonymize.h"
#include "cli/ctl/plain_words.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

struct part {
    const char *name, *text;
};

/* Anonymizes parts. Returns the text of the last one, which the caller frees, and the status. */
static char *run(const struct part *parts, size_t count, int *ret_status)
{
    struct anonymizer *a;
    struct fab_text to = {0};
    char *text;
    ck_assert_int_eq(anonymizer_new(&a), FAB_OK);
    for (size_t i = 0; i < 2 * count; i++)
        anonymizer_read(a, parts[i % count].name, parts[i % count].text,
                        strlen(parts[i % count].text));
    anonymizer_seal(a);
    for (size_t i = 0; i < count; i++) {
        fab_base_text_fini(&to);
        anonymizer_write(a, parts[i].name, parts[i].text, strlen(parts[i].text), &to);
    }
    *ret_status = anonymizer_status(a);
    anonymizer_free(a);
    ck_assert_int_eq(fab_base_text_take(&to, &text, NULL), FAB_OK);
    return text;
}

/* Replaces the numbers in pseudonyms, which are random, by #, so that the test can compare
 * texts. */
static void mask(char *text)
{
    static const char *const stems[] = {"node-", "user-", "word-", "text-", "certificate-"};
    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++)
        for (char *at = text; (at = strstr(at, stems[i])) != NULL;) {
            at += strlen(stems[i]);
            size_t n = strspn(at, "0123456789");
            if (n > 0)
                memmove(at + 1, at + n, strlen(at + n) + 1);
            *at = n > 0 ? '#' : *at;
        }
}

#define NODES                                                                                      \
    "{\"nodes\": [{\"name\": \"rack7-sw\", \"guid\": \"0xe41d2d0300000010\"}, {\"name\": "         \
    "\"rack7-sw-b\"}, {\"name\": \"link\"}, {\"name\": \"zoe HCA-1\"}]}"

static const struct {
    const char *log, *want;
} logs[] = {
    {"link rack7-sw/5 - rack7-sw-b/12 is down", "link node-#/5 - node-#/12 is down"},
    {"RACK7-SW is unresponsive", "node-# is unresponsive"},
    {"rack7-switch and xrack7-sw are others", "word-# and word-# are others"},
    {"link link/3 is down", "link node-#/3 is down"},
    {"zoe HCA-1/1 and zoe HCA-2, GUID of zoe", "node-# HCA-1/1 and node-# HCA-2, GUID of node-#"},
    {"gone-quux/3 left, and leaf-003", "node-#/3 left, and word-#"},
    {"by alice42 (uid 1234) in 3.5 ms", "by word-# (user-#) in 3.5 ms"},
    {"root (uid 0)", "root (uid 0)"},
    {"file /home/bert.x/ca.pem", "file /home/user-#/ca.pem"},
    {"P_Key 0x8001, LID 7, 0x0000000000001000", "P_Key 0x8001, LID 7, 0x0000000000001000"},
    {"2026-11-28T10:00:00.123456+0000", "2026-11-28T10:00:00.123456+0000"},
    {"0xe41d2d0300000010", "0x0200000000000100"},
    {"e41d2d0300000010", "0200000000000100"},
    {"e4:1d:2d:03:00:00:00:10,", "02:00:00:00:00:00:01:00,"},
    {"E41D:2D03:0000:0010", "0200:0000:0000:0100"},
    {"fe80::e41d:2d03:0:10", "fe80::200:0:0:100"},
    {"fe80:0000:0000:0000:e41d:2d03:0000:0010", "fe80:0000:0000:0000:0200:0000:0000:0100"},
    {"fec0::e41d:2d03:0:10", "2001:db8:0:1:200::100"},
    {"ff12:401b:8011::ffff:ffff", "ff12:401b:8011::ffff:ffff"},
    {"127.0.0.1 and ::1", "127.0.0.1 and ::1"},
    {"10.1.2.3:4711.", "198.18.0.1:4711."},
    {"00:02:c9:12:34:56 and 00-11-22-33-44-55.", "word-# and word-#."},
    {"80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:00:00:10", "word-#"},
    {"at 10:11:12, 2026-11-28", "at 10:11:12, 2026-11-28"},
    {"1764327791000000 us", "1764327791000000 us"},
};

START_TEST(a_line_of_the_log)
{
    const struct part parts[] = {{"nodes.json", NODES}, {"journal.txt", logs[_i].log}};
    int status;
    char *text = run(parts, 2, &status);
    mask(text);
    ck_assert_int_eq(status, FAB_OK);
    ck_assert_str_eq(text, logs[_i].want);
    free(text);
}
END_TEST

static const struct {
    struct part part;
    const char *want; /* expected text; NULL: anonymization must refuse the part */
} documents[] = {
    {{"events.json", "{\"subject\": \"old\\u00e9 \\\"7\\\"/4\", \"port\": 4}"},
     "{\"subject\": \"node-#\\\"/4\", \"port\": 4}"},
    {{"events.json", "{\"fields\": {\"by\": \"bob9 (uid 1000)\"}, \"message\": \"by bob9\"}"},
     "{\"fields\": {\"by\": \"user-# (user-#)\"}, \"message\": \"by user-#\"}"},
    {{"events.json", "{\"names\": \"a1, b2 and 3 more\"}"},
     "{\"names\": \"node-#, node-# and 3 more\"}"},
    {{"events.json", "{\"names\": \"a1 and 3 b7 more\"}"}, "{\"names\": \"node-# and node-#\"}"},
    {{"audit.json", "{\"account\": \"certificate of x9.example\"}"},
     "{\"account\": \"certificate of certificate-#\"}"},
    {{"whoami.json", "{\"user\": \"root\", \"uid\": 1000, \"gid\": 5}"},
     "{\"user\": \"root\", \"uid\": null, \"gid\": null}"},
    {{"version.json", "{\"fabricd\": \"0.1.0-rc7-gabc\"}"}, "{\"fabricd\": \"0.1.0-rc7-gabc\"}"},
    {{"x.json", "{\"a\": [1, -2.5e3, true, null, \"\\ud83d\\ude00\"]}\n"},
     "{\"a\": [1, -2.5e3, true, null, \"word-#\"]}\n"},
    {{"x.json", "{\"a\": \"\\ud83d\"}"}, NULL},
    {{"x.json", "{\"a\": \"\\x\"}"}, NULL},
    {{"x.json", "{\"a\": \"b"}, NULL},
    {{"x.json", "{'a': 1}"}, NULL},
    {{"settings.txt", "rpc.roles.viewer[0].user: carl3\nlisten[0]: unix:/run/fabricd/s\n"},
     "rpc.roles.viewer[0].user: user-#\nlisten[0]: unix:/run/fabricd/s\n"},
    {{"cpus.txt", "Model name: Xeon 9999X\n"}, "Model name: Xeon 9999X\n"},
};

START_TEST(a_part)
{
    int status;
    char *text = run(&documents[_i].part, 1, &status);
    mask(text);
    ck_assert_int_eq(status, documents[_i].want != NULL ? FAB_OK : FAB_E_FORMAT);
    if (documents[_i].want != NULL)
        ck_assert_str_eq(text, documents[_i].want);
    free(text);
}
END_TEST

/* A node name that looks like a pseudonym is replaced like any other name. */
START_TEST(pseudonyms_are_no_originals)
{
    const struct part parts[] = {{"nodes.json", "[{\"name\": \"node-1\"}, {\"name\": \"xnode\"}]"},
                                 {"journal.txt", "node-1/1 and node-2/1"}};
    int status;
    char *text = run(parts, 2, &status);
    ck_assert_int_eq(status, FAB_OK);
    ck_assert_ptr_nonnull(strstr(text, "xxnode-"));
    ck_assert_int_eq(text[0], 'x');
    free(text);
}
END_TEST

/* A reason that an operator gave is replaced even if fabricd itself uses all its words in
 * messages. */
START_TEST(reasons_go)
{
    const struct part parts[] = {
        {"audit", "{\"reason\": \"the switch is down\"}\n{\"reason\": \"link\"}"},
        {"journal.txt", "result: OK, reason: the switch is down; the link is down"}};
    int status;
    char *text = run(parts, 2, &status);
    mask(text);
    ck_assert_int_eq(status, FAB_OK);
    ck_assert_str_eq(text, "result: OK, reason: text-#; the link is down");
    free(text);
}
END_TEST

/* The node GUID and the port GUIDs of an adapter are consecutive numbers, and their pseudonyms are
 * consecutive, too. The pseudonyms of two adapters are not consecutive, even if their GUIDs are. */
START_TEST(neighbors_stay)
{
    struct pseudonyms *p;
    ck_assert_int_eq(pseudonyms_new(&p), FAB_OK);
    for (uint64_t i = 0; i < 300; i++)
        ck_assert_int_eq(
            pseudonyms_learn_number(p, PSEUDONYM_GUID, UINT64_C(0xe41d2d0300000080) + i), FAB_OK);
    ck_assert_int_eq(pseudonyms_seal(p), FAB_OK);
    uint64_t first = pseudonyms_number(p, PSEUDONYM_GUID, UINT64_C(0xe41d2d0300000100));
    ck_assert_uint_eq(pseudonyms_number(p, PSEUDONYM_GUID, UINT64_C(0xe41d2d0300000107)),
                      first + 7);
    ck_assert_uint_ne(pseudonyms_number(p, PSEUDONYM_GUID, UINT64_C(0xe41d2d03000000ff)),
                      first - 1);
    ck_assert_uint_eq(pseudonyms_count(p, PSEUDONYM_GUID), 3);
    pseudonyms_free(p);
}
END_TEST

START_TEST(own_words_are_plain)
{
    static const char *const plain[] = {"fabricd", "link-down", "leaf",   "42",   "12.5ms",
                                        "4x",      "EDR",       "0x7fff", "port", "subnet"};
    static const char *const others[] = {"leaf-003", "alice", "0x7fffffffff", "dgx",
                                         "quux",     "e7f",   "12T",          "T12"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        ck_assert_msg(plain_words_has(plain[i], strlen(plain[i])), "%s", plain[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!plain_words_has(others[i], strlen(others[i])), "%s", others[i]);
}
END_TEST

/* No name is left in random texts of names, separators and bytes. */
START_TEST(random_texts_have_no_names)
{
    static const char *const pieces[] = {"rack7-sw",
                                         "rack7-sw-b",
                                         "/5",
                                         " ",
                                         "-",
                                         "zoe HCA-1",
                                         ":",
                                         "0xe41d2d0300000010",
                                         "e41d2d0300000010",
                                         "fe80::",
                                         ".",
                                         "zeta9",
                                         "10.1.2.3",
                                         "\"",
                                         "uid 1001",
                                         "/home/",
                                         "\xc3\xa9",
                                         "\\",
                                         "link",
                                         ", reason: ",
                                         "\x01",
                                         "(",
                                         ")"};
    static const char *const originals[] = {"rack7", "zoe", "e41d2d", "zeta9", "uid 1001 "};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("random texts", 7));
    for (unsigned round = 0; round < test_rounds(2000); round++) {
        char log[1000] = "";
        size_t used = 0;
        for (unsigned i = 0; i < 30; i++) {
            const char *piece =
                pieces[fab_base_prng_below(&prng, sizeof pieces / sizeof pieces[0])];
            used += (size_t)snprintf(log + used, sizeof log - used, "%s", piece);
        }
        const struct part parts[] = {{"nodes.json", NODES}, {"journal.txt", log}};
        int status;
        char *text = run(parts, 2, &status);
        ck_assert_msg(status == FAB_OK, "%d: %s\n%s", status, log, text);
        for (size_t i = 0; i < sizeof originals / sizeof originals[0]; i++)
            ck_assert_msg(strstr(text, originals[i]) == NULL, "%s in %s\n%s", originals[i], text,
                          log);
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("anonymize");
    TCase *tcase = tcase_create("anonymize");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, a_line_of_the_log, 0, sizeof logs / sizeof logs[0]);
    tcase_add_loop_test(tcase, a_part, 0, sizeof documents / sizeof documents[0]);
    tcase_add_test(tcase, pseudonyms_are_no_originals);
    tcase_add_test(tcase, reasons_go);
    tcase_add_test(tcase, neighbors_stay);
    tcase_add_test(tcase, own_words_are_plain);
    tcase_add_test(tcase, random_texts_have_no_names);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
