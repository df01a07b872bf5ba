/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabricctl: its output as text and as JSON with any names in the fabric, and its parsing of
 * arguments.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ctl/cmd.h"
#include "cli/ctl/import_files.h"
#include "cli/ctl/show.h"
#include "cli/ctl/when.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static const struct out_column columns[] = {{"name", "NAME", false}, {"lid", "LID", true}};

static void say(struct out *o)
{
    out_record(o, NULL);
    out_text(o, "state", "State", OUT_GOOD, "idle");
    out_textf(o, "Links", OUT_PLAIN, "%d of %d", 3, 4);
    out_number(o, "links", NULL, OUT_PLAIN, 4);
    out_millis(o, "took_ms", NULL, OUT_PLAIN, 12034);
    out_none(o, "engine", "Engine");
    out_lines(o, "witness", "a\nb");
    out_note(o, OUT_PLAIN, "A \x1b[2J line");
    out_table(o, "nodes", columns, 2, false);
    out_row(o);
    out_text(o, "name", "NAME", OUT_PLAIN, "K\xc3\xb6ln");
    out_number(o, "lid", "LID", OUT_PLAIN, 7);
    out_bool(o, "leaf", NULL, OUT_PLAIN, true);
    out_row_end(o);
    out_row(o);
    out_text(o, "name", "NAME", OUT_PLAIN, "\"\\\xff\t");
    out_number(o, "lid", "LID", OUT_PLAIN, 12345);
    out_bool(o, "leaf", NULL, OUT_PLAIN, false);
    out_row_end(o);
    out_table_end(o);
    out_table(o, "none", NULL, 0, false);
    out_table_end(o);
    out_record_end(o);
}

START_TEST(engines_passed_over_have_a_line_each)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(to);
    struct out *o = out_new(OUT_TEXT, to, false);
    ck_assert_ptr_nonnull(o);
    show_rejected_engines(o, "dor: no grid: 4 slices; see leaf-1; dragonfly+: a; b: leaf-2; nue: ");
    show_rejected_engines(o, "");
    ck_assert_int_eq(out_close(o), 0);
    fclose(to);
    ck_assert_str_eq(text, "Passed over:  dor: no grid: 4 slices; see leaf-1\n"
                           "              dragonfly+: a\n"
                           "              b: leaf-2\n"
                           "              nue: \n");
    free(text);
}
END_TEST

static void check(enum out_format format, bool colour, const char *want)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(to);
    struct out *o = out_new(format, to, colour);
    ck_assert_ptr_nonnull(o);
    say(o);
    ck_assert_int_eq(out_close(o), FAB_OK);
    fclose(to);
    ck_assert_str_eq(text, want);
    free(text);
}

START_TEST(text_is_aligned)
{
    check(OUT_TEXT, false,
          "State:        idle\n"
          "Links:        3 of 4\n"
          "Engine:       -\n"
          "A \xef\xbf\xbd[2J line\n"
          "NAME    LID\n"
          "K\xc3\xb6ln      7\n"
          "\"\\\xef\xbf\xbd\xef\xbf\xbd  12345\n");
}
END_TEST

/* In text output, each invalid byte becomes U+FFFD, which takes three bytes in UTF-8. A name of 64
 * invalid bytes must be complete. */
START_TEST(texts_of_bad_bytes_are_complete)
{
    char *text = NULL, want[3 * 64 + 16] = "Name:         ", bad[65] = "";
    size_t len = 0;
    memset(bad, 0xff, sizeof bad - 1);
    for (unsigned i = 0; i < 64; i++)
        strcat(want, "\xef\xbf\xbd");
    strcat(want, "\n");
    FILE *to = open_memstream(&text, &len);
    struct out *o = out_new(OUT_TEXT, to, false);
    out_record(o, NULL);
    out_text(o, "name", "Name", OUT_PLAIN, bad);
    out_record_end(o);
    ck_assert_int_eq(out_close(o), FAB_OK);
    fclose(to);
    ck_assert_str_eq(text, want);
    free(text);
}
END_TEST

/* A table is stored until the widths of its columns are known. Even of a large table, all rows must
 * be printed in order. */
START_TEST(large_tables_are_whole)
{
    enum { ROWS = 3000 };
    char *text = NULL, *next;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(to);
    struct out *o = out_new(OUT_TEXT, to, false);
    ck_assert_ptr_nonnull(o);
    out_table(o, "nodes", columns, 2, false);
    for (uint32_t i = 0; i < ROWS; i++) {
        char name[32];
        snprintf(name, sizeof name, "host-%04" PRIu32, i);
        out_row(o);
        out_text(o, "name", "NAME", OUT_PLAIN, name);
        out_number(o, "lid", "LID", OUT_PLAIN, i);
        out_row_end(o);
    }
    out_table_end(o);
    ck_assert_int_eq(out_close(o), FAB_OK);
    fclose(to);
    next = strchr(text, '\n') + 1;
    for (uint32_t i = 0; i < ROWS; i++) {
        char want[64];
        snprintf(want, sizeof want, "host-%04" PRIu32 "  %4" PRIu32 "\n", i, i);
        ck_assert_msg(strncmp(next, want, strlen(want)) == 0, "row %u: %.40s", i, next);
        next += strlen(want);
    }
    ck_assert_str_eq(next, "");
    free(text);
}
END_TEST

START_TEST(colours_are_for_tones)
{
    check(OUT_TEXT, true,
          "State:        \033[32midle\033[0m\n"
          "Links:        3 of 4\n"
          "Engine:       \033[2m-\033[0m\n"
          "A \xef\xbf\xbd[2J line\n"
          "\033[2mNAME\033[0m    \033[2mLID\033[0m\n"
          "K\xc3\xb6ln      7\n"
          "\"\\\xef\xbf\xbd\xef\xbf\xbd  12345\n");
}
END_TEST

START_TEST(json_is_escaped)
{
    check(OUT_JSON, true,
          "{\n"
          "  \"state\": \"idle\",\n"
          "  \"links\": 4,\n"
          "  \"took_ms\": 12.034,\n"
          "  \"engine\": null,\n"
          "  \"witness\": \"a\\u000ab\",\n"
          "  \"nodes\": [\n"
          "    {\"name\": \"K\xc3\xb6ln\", \"lid\": 7, \"leaf\": true},\n"
          "    {\"name\": \"\\\"\\\\\xef\xbf\xbd\xef\xbf\xbd\", \"lid\": 12345, \"leaf\": false}\n"
          "  ],\n"
          "  \"none\": []\n"
          "}\n");
}
END_TEST

START_TEST(live_rows_are_lines)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    struct out *o = out_new(OUT_JSON, to, false);
    out_table(o, "nodes", columns, 2, true);
    for (uint64_t i = 1; i <= 2; i++) {
        out_row(o);
        out_text(o, "name", "NAME", OUT_PLAIN, "a");
        out_number(o, "lid", "LID", OUT_PLAIN, i);
        out_row_end(o);
    }
    ck_assert_str_eq(text, "{\"name\": \"a\", \"lid\": 1}\n{\"name\": \"a\", \"lid\": 2}\n");
    out_table_end(o);
    out_close(o);
    fclose(to);
    free(text);
}
END_TEST

static int parse(const char *text, char **ret_node, uint32_t *ret_number)
{
    struct session s = {.argv = (char *[]){(char *)(uintptr_t)text}};
    return parse_port(&s, ret_node, ret_number);
}

START_TEST(ports_are_parsed)
{
    static const char *const bad[] = {"leaf-1",  "/1",        "leaf/",  "leaf/x",
                                      "leaf/-1", "leaf/1234", "leaf/1 "};
    char *node;
    uint32_t port;
    ck_assert_int_eq(parse("leaf-1/12", &node, &port), EXIT_OK);
    ck_assert_str_eq(node, "leaf-1");
    ck_assert_uint_eq(port, 12);
    free(node);
    ck_assert_int_eq(parse("rack 3/leaf/1/254", &node, &port), EXIT_OK);
    ck_assert_str_eq(node, "rack 3/leaf/1");
    ck_assert_uint_eq(port, 254);
    free(node);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(parse(bad[i], &node, &port), EXIT_USAGE);
}
END_TEST

START_TEST(durations_are_readable)
{
    static const struct {
        uint64_t us;
        const char *want;
    } cases[] = {
        {120, "0.12 ms"},        {12345, "12.3 ms"},        {1500000, "1.50 s"},
        {61000000, "1 min 1 s"}, {7200000000, "2 h 0 min"}, {90061000000, "1 d 1 h"},
    };
    char text[SHOW_LEN];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        show_duration(cases[i].us, text);
        ck_assert_str_eq(text, cases[i].want);
    }
}
END_TEST

START_TEST(odd_numbers_have_words_too)
{
    ck_assert_str_eq(show_port_state((Fabric__V1__PortState)99), "?");
    ck_assert_str_eq(show_severity((Fabric__V1__EventSeverity)-1), "?");
    ck_assert_int_eq(tone_port_state((Fabric__V1__PortState)99), OUT_WARN);
}
END_TEST

/* ---- times ----------------------------------------------------------------------------------- */

#define NOW 1796000000 /* 2026-11-29 23:33:20 UTC */

/* Sets the time zone of Central Europe. In this zone, 2026-10-25 has 25 hours. */
static void set_zone(void)
{
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
}

static const struct {
    const char *text;
    int64_t time; /* 0: the text must be refused */
} times[] = {
    {"now", NOW},
    {"0s", NOW},
    {"90s", NOW - 90},
    {"2h", NOW - 7200},
    {"7d", NOW - 7 * 86400},
    {"2w", NOW - 14 * 86400},
    {"today", 1795993200},
    {"yesterday", 1795906800},
    {"2026-11-29", 1795906800},
    {"2026-10-25", 1792879200},
    {"2026-10-26", 1792969200},
    {"2026-11-29T12:00", 1795950000},
    {"2026-11-29 12:00:05", 1795950005},
    {"2026-11-29T12:00:05Z", 1795953605},
    {"2026-11-29T12:00:05.123456Z", 1795953605},
    {"2026-11-29T12:00:05+01:00", 1795950005},
    {"2026-11-29T12:00:05-05:30", 1795973405},
    {"", 0},
    {"h", 0},
    {"2", 0},
    {"-2h", 0},
    {"2h ago", 0},
    {"9999999999d", 0},
    {"tomorrow", 0},
    {"2026-13-01", 0},
    {"2026-11-29T12:00:05+1:00", 0},
    {"2026-11-29T12:00:05+01:00x", 0},
    {"2026-11-29T12:00:05+15:00", 0},
    {"2026-11-29x", 0},
};

START_TEST(times_are_read)
{
    set_zone();
    time_t t = 0;
    bool good = when_time(times[_i].text, NOW, &t);
    ck_assert_msg(good == (times[_i].time != 0), "\"%s\" gives %d", times[_i].text, good);
    if (good)
        ck_assert_msg(t == times[_i].time, "\"%s\" gives %lld", times[_i].text, (long long)t);
}
END_TEST

/* A real number is written as printf writes it, also by the faster way. */
START_TEST(real_numbers_are_those_of_printf)
{
    static const double numbers[] = {0,    -0.0,     1.5,  3,     36.125, 0.1,    0.05,
                                     0.25, 99.95,    1e14, 1e15,  1e300,  -2.5,   2.675,
                                     1e-9, 123456.7, 4.35, 0.005, 1234.5, 1.0 / 3};
    char *text;
    size_t len;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        for (unsigned decimals = 0; decimals < 4; decimals++) {
            char want[400];
            FILE *to = open_memstream(&text, &len);
            struct out *o = out_new(OUT_JSON, to, false);
            out_table(o, "t", NULL, 0, true);
            out_row(o);
            out_real(o, "x", NULL, OUT_PLAIN, numbers[i], decimals);
            out_row_end(o);
            out_table_end(o);
            ck_assert_int_eq(out_close(o), FAB_OK);
            fclose(to);
            snprintf(want, sizeof want, "{\"x\": %.*f}\n", (int)decimals, numbers[i]);
            ck_assert_str_eq(text, want);
            free(text);
        }
}
END_TEST

static char *read_text(const char *path, char text[100])
{
    FILE *f = fopen(path, "r");
    size_t len = f != NULL ? fread(text, 1, 99, f) : 0;
    text[len] = '\0';
    if (f != NULL)
        fclose(f);
    return text;
}

/* A file that another program has made is not replaced, or is kept under another name. */
START_TEST(import_keeps_files_of_others)
{
    static char new[] = "new";
    char folder[] = "/tmp/test_ctl.XXXXXX", path[64], former[80], fresh[80], text[100];
    struct fab_opensm_output o = {.name = "fabricd.yaml", .text = new, .len = 3};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fabricd.yaml", folder);
    snprintf(former, sizeof former, "%s.former", path);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    ck_assert_int_eq(import_file_write(folder, &o, false), EXIT_OK);
    ck_assert_str_eq(read_text(path, text), "new");
    FILE *f = fopen(path, "w");
    fputs("theirs", f);
    fclose(f);
    ck_assert_int_eq(import_file_write(folder, &o, false), EXIT_FAILED);
    ck_assert_str_eq(read_text(path, text), "theirs");
    ck_assert_int_eq(access(fresh, F_OK), -1);
    ck_assert_int_eq(import_file_write(folder, &o, true), EXIT_OK);
    ck_assert_str_eq(read_text(path, text), "new");
    ck_assert_str_eq(read_text(former, text), "theirs");
    unlink(path);
    unlink(former);
    rmdir(folder);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fabricctl");
    TCase *tcase = tcase_create("fabricctl");
    tcase_add_test(tcase, text_is_aligned);
    tcase_add_test(tcase, texts_of_bad_bytes_are_complete);
    tcase_add_test(tcase, large_tables_are_whole);
    tcase_add_test(tcase, colours_are_for_tones);
    tcase_add_test(tcase, json_is_escaped);
    tcase_add_test(tcase, live_rows_are_lines);
    tcase_add_test(tcase, ports_are_parsed);
    tcase_add_test(tcase, durations_are_readable);
    tcase_add_test(tcase, odd_numbers_have_words_too);
    tcase_add_test(tcase, engines_passed_over_have_a_line_each);
    tcase_add_test(tcase, real_numbers_are_those_of_printf);
    tcase_add_test(tcase, import_keeps_files_of_others);
    tcase_add_loop_test(tcase, times_are_read, 0, sizeof times / sizeof times[0]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
