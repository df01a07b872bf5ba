/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log lines. Each call writes one line, with a prefix for journald or with a time. Characters that
 * could control a terminal are escaped.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabricd/base/log.h"
#include "tests/unit/testing.h"

static void clean_eq(const char *in, const char *out)
{
    char buffer[128];
    ck_assert_uint_eq(log_clean(in, buffer, sizeof(buffer)), strlen(out));
    ck_assert_str_eq(buffer, out);
}

START_TEST(text_of_the_wire_cannot_act)
{
    clean_eq("leaf-3 \"a\" {x}", "leaf-3 \"a\" {x}");
    clean_eq("\x1b[2Jroot\n<0>x", "\\x1b[2Jroot\\x0a<0>x");
    clean_eq("\x7f\r\t", "\\x7f\\x0d\\x09");
    clean_eq("caf\xc3\xa9 \xe6\x9c\xba \xf0\x9f\x8c\xb2",
             "caf\xc3\xa9 \xe6\x9c\xba \xf0\x9f\x8c\xb2");
    clean_eq("\xc2\x9b"
             "31m",
             "\\xc2\\x9b31m"); /* U+009B (CSI), which begins a control sequence */
    clean_eq("a\xe2\x80\xae"
             "b",
             /* U+202E (right-to-left override), which changes the order of characters */
             "a\\xe2\\x80\\xaeb");
    clean_eq("a\xe2\x80\xa8"
             "b",
             "a\\xe2\\x80\\xa8"
             "b"); /* U+2028 (line separator) */
    clean_eq("\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80",
             "\\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");
    clean_eq("\xe6\x9c", "\\xe6\\x9c"); /* an incomplete UTF-8 sequence */
    clean_eq("\xff", "\\xff");
}
END_TEST

START_TEST(long_text_is_cut_between_characters)
{
    char small[6];
    ck_assert_uint_eq(log_clean("abcd\xc3\xa9", small, sizeof(small)), 4);
    ck_assert_str_eq(small, "abcd");
    ck_assert_uint_eq(log_clean("abc\n", small, sizeof(small)), 3);
    ck_assert_uint_eq(log_clean("abc", small, 1), 0);
    ck_assert_str_eq(small, "");
}
END_TEST

/* Logs a warning and a debug message to a file, and copies the file to ret[]. journal: the
 * environment says, as systemd does by JOURNAL_STREAM, that the file is the journal. */
static void capture(bool journal, char *ret, size_t len)
{
    char path[] = "/tmp/test-log-XXXXXX", stream[64];
    struct stat st;
    int file = mkstemp(path), kept = dup(STDERR_FILENO);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(fstat(file, &st), 0);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
             (uintmax_t)st.st_ino + (journal ? 0 : 1));
    setenv("JOURNAL_STREAM", stream, 1);
    dup2(file, STDERR_FILENO);
    log_init(LOG_LEVEL_INFO);
    log_warning("port leaf-1/12", "node \"%s\" is silent guid=0x%x", "a\nb", 7);
    log_debug("sm", "not to be seen");
    dup2(kept, STDERR_FILENO);
    ssize_t n = pread(file, ret, len - 1, 0);
    ck_assert_int_gt(n, 0);
    ret[n] = '\0';
    close(file);
    close(kept);
    unlink(path);
}

START_TEST(journald_gets_priorities)
{
    char text[512];
    capture(true, text, sizeof(text));
    ck_assert_str_eq(text, "<4>port leaf-1/12: node \"a\\x0ab\" is silent guid=0x7\n");
}
END_TEST

START_TEST(people_get_the_time)
{
    char text[512];
    capture(false, text, sizeof(text));
    ck_assert_uint_eq(strspn(text, "0123456789-T:.Z"), strlen("2026-11-20T11:07:09.123Z"));
    ck_assert_ptr_nonnull(strstr(text, "Z warning port leaf-1/12: node"));
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}
END_TEST

START_TEST(a_huge_line_is_cut_and_marked)
{
    char path[] = "/tmp/test-log-XXXXXX";
    static char huge[20000], text[8192];
    memset(huge, '\n', sizeof(huge) - 1);
    int file = mkstemp(path), kept = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    log_error(huge, "%s", huge);
    dup2(kept, STDERR_FILENO);
    ssize_t n = pread(file, text, sizeof(text), 0);
    ck_assert_int_gt(n, 2000);
    ck_assert_int_le(n, 4096);
    ck_assert_int_eq(memcmp(text + n - 5, " ...\n", 5), 0);
    unlink(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/log");
    TCase *tcase = tcase_create("log");
    tcase_add_test(tcase, text_of_the_wire_cannot_act);
    tcase_add_test(tcase, long_text_is_cut_between_characters);
    tcase_add_test(tcase, journald_gets_priorities);
    tcase_add_test(tcase, people_get_the_time);
    tcase_add_test(tcase, a_huge_line_is_cut_and_marked);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
