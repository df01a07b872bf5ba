/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of fabricctl for other programs: the formats, and the selection and order of rows. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/output.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static const struct out_column columns[] = {
    {"name", "NAME", false}, {"state", "STATE", false}, {NULL, "RATE", false}};

static const struct {
    const char *name, *state, *rate;
    uint64_t lid;
    bool peer; /* true: this row also has a nested record "peer" */
} links[] = {
    {"leaf-10", "Active", "4x EDR (100 Gb/s)", 7, true},
    {"leaf-2", "Down", "1x EDR (25 Gb/s)", 10, false},
    {"a \"b\", c", "Init", "4x HDR (200 Gb/s)", 9, true},
};

static void say_links(struct out *o, bool live)
{
    out_table(o, "links", columns, 3, live);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        out_row(o);
        out_text(o, "name", "NAME", OUT_PLAIN, links[i].name);
        out_number(o, "lid", NULL, OUT_PLAIN, links[i].lid);
        if (links[i].peer) {
            out_record(o, "peer");
            out_text(o, "host", NULL, OUT_PLAIN, "yes");
            out_record_end(o);
        } else {
            out_none(o, "reason", NULL);
        }
        out_text(o, "state", "STATE", OUT_PLAIN, links[i].state);
        out_text(o, NULL, "RATE", OUT_PLAIN, links[i].rate);
        out_row_end(o);
    }
    out_table_end(o);
}

/* Prints the list in this format. rows: which rows to print, and in what order. Returns the
 * text. */
static char *print_list(enum out_format format, const struct out_rows *rows, bool headers,
                        const char **ret_unknown)
{
    static char unknown[300];
    char *text = NULL, listed[200];
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(to);
    struct out *o = out_new(format, to, false);
    ck_assert_ptr_nonnull(o);
    out_is_list(o);
    if (!headers)
        out_no_headers(o);
    if (rows != NULL)
        ck_assert_int_eq(out_select(o, rows), FAB_OK);
    out_record(o, NULL);
    out_number(o, "total", "Total", OUT_PLAIN, 3);
    say_links(o, false);
    out_record_end(o);
    const char *column = out_unknown_column(o, listed, sizeof listed);
    snprintf(unknown, sizeof unknown, "%s of %s", column != NULL ? column : "",
             column != NULL ? listed : "");
    if (ret_unknown != NULL)
        *ret_unknown = column != NULL ? unknown : NULL;
    ck_assert_int_eq(out_close(o), FAB_OK);
    fclose(to);
    return text;
}

static void check_list(enum out_format format, const struct out_rows *rows, const char *want)
{
    const char *unknown;
    char *text = print_list(format, rows, true, &unknown);
    ck_assert_str_eq(text, want);
    ck_assert_ptr_null(unknown);
    free(text);
}

START_TEST(csv_has_all_keys)
{
    check_list(OUT_CSV, NULL,
               "name,lid,peer.host,state,reason\n"
               "leaf-10,7,yes,Active,\n"
               "leaf-2,10,,Down,\n"
               "\"a \"\"b\"\", c\",9,yes,Init,\n");
    char *text = print_list(OUT_CSV, NULL, false, NULL);
    ck_assert_int_eq(strncmp(text, "leaf-10,", 8), 0);
    free(text);
}
END_TEST

START_TEST(wide_is_aligned)
{
    check_list(OUT_WIDE, NULL,
               "NAME      LID  PEER.HOST  STATE   REASON\n"
               "leaf-10   7    yes        Active  -\n"
               "leaf-2    10   -          Down    -\n"
               "a \"b\", c  9    yes        Init    -\n");
}
END_TEST

START_TEST(names_are_lines)
{
    check_list(OUT_NAME, NULL, "leaf-10\nleaf-2\na \"b\", c\n");
}
END_TEST

/* In YAML 1.1, an unquoted yes is a truth value, so the name "yes" must be in quotes. */
START_TEST(yaml_is_nested)
{
    check_list(OUT_YAML, NULL,
               "total: 3\n"
               "links:\n"
               "  - name: leaf-10\n"
               "    lid: 7\n"
               "    peer:\n"
               "      host: \"yes\"\n"
               "    state: Active\n"
               "  - name: leaf-2\n"
               "    lid: 10\n"
               "    reason: null\n"
               "    state: Down\n"
               "  - name: \"a \\\"b\\\", c\"\n"
               "    lid: 9\n"
               "    peer:\n"
               "      host: \"yes\"\n"
               "    state: Init\n");
}
END_TEST

static void say_values(struct out *o)
{
    out_record(o, NULL);
    out_text(o, "role", "Role", OUT_PLAIN, "master");
    out_record(o, "empty");
    out_record_end(o);
    out_record(o, "address");
    out_text(o, "host", NULL, OUT_PLAIN, "");
    out_number(o, "port", NULL, OUT_PLAIN, 7);
    out_record_end(o);
    say_links(o, false);
    out_table(o, "none", NULL, 0, false);
    out_table_end(o);
    out_record_end(o);
}

static char *print_values(enum out_format format)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    struct out *o = out_new(format, to, false);
    ck_assert_ptr_nonnull(o);
    say_values(o);
    ck_assert_int_eq(out_close(o), FAB_OK);
    fclose(to);
    return text;
}

START_TEST(values_are_one_row)
{
    char *text = print_values(OUT_CSV);
    ck_assert_str_eq(text, "role,address.host,address.port\nmaster,,7\n");
    free(text);
    text = print_values(OUT_NAME);
    ck_assert_str_eq(text, "master\n");
    free(text);
    text = print_values(OUT_YAML);
    static const char begin[] = "role: master\n"
                                "empty: {}\n"
                                "address:\n"
                                "  host: \"\"\n"
                                "  port: 7\n"
                                "links:\n";
    ck_assert_int_eq(strncmp(text, begin, sizeof begin - 1), 0);
    ck_assert_ptr_nonnull(strstr(text, "\nnone: []\n"));
    free(text);
}
END_TEST

static void check_live(enum out_format format, const struct out_rows *rows, const char *want)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    struct out *o = out_new(format, to, false);
    ck_assert_ptr_nonnull(o);
    out_is_list(o);
    if (rows != NULL)
        ck_assert_int_eq(out_select(o, rows), FAB_OK);
    say_links(o, true);
    fflush(to);
    ck_assert_str_eq(text, want);
    ck_assert_int_eq(out_close(o), FAB_OK);
    fclose(to);
    free(text);
}

START_TEST(live_rows_are_printed_at_once)
{
    check_live(OUT_CSV, &(struct out_rows){.state = "d*"},
               "name,lid,reason,state\n"
               "leaf-2,10,,Down\n");
    check_live(OUT_NAME, NULL, "leaf-10\nleaf-2\na \"b\", c\n");
    check_live(OUT_YAML, &(struct out_rows){.state = "down"},
               "---\n"
               "name: leaf-2\n"
               "lid: 10\n"
               "reason: null\n"
               "state: Down\n");
}
END_TEST

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct {
    struct out_rows rows;
    const char *names;
} selections[] = {
    {{.sort = "name"}, "a \"b\", c\nleaf-2\nleaf-10\n"},
    {{.sort = "-NAME"}, "leaf-10\nleaf-2\na \"b\", c\n"},
    {{.sort = "lid"}, "leaf-10\na \"b\", c\nleaf-2\n"},
    {{.sort = "-lid"}, "leaf-2\na \"b\", c\nleaf-10\n"},
    /* rows without a host are last, whether the order is ascending or descending */
    {{.sort = "host"}, "leaf-10\na \"b\", c\nleaf-2\n"},
    {{.sort = "-host"}, "leaf-10\na \"b\", c\nleaf-2\n"},
    {{.state = "ACTIVE"}, "leaf-10\n"},
    {{.state = "*i*"}, "leaf-10\na \"b\", c\n"},
    {{.rate = "edr"}, "leaf-10\nleaf-2\n"},
    {{.rate = "1x"}, "leaf-2\n"},
    {{.rate = "DR"}, ""},
    {{.rate = "4x*", .state = "Init"}, "a \"b\", c\n"},
    {{.rate = "4x*", .sort = "lid"}, "leaf-10\na \"b\", c\n"},
};

START_TEST(rows_are_selected_and_sorted)
{
    check_list(OUT_NAME, &selections[_i].rows, selections[_i].names);
}
END_TEST

START_TEST(other_formats_see_the_selection)
{
    check_list(OUT_TEXT, &(struct out_rows){.state = "down"},
               "Total:        3\n"
               "NAME    STATE  RATE\n"
               "leaf-2  Down   1x EDR (25 Gb/s)\n");
    check_list(OUT_TEXT, &(struct out_rows){.state = "nosuch"},
               "Total:        3\n"
               "No row matches.\n");
    check_list(OUT_JSON, &(struct out_rows){.state = "init"},
               "{\n"
               "  \"total\": 3,\n"
               "  \"links\": [\n"
               "    {\"name\": \"a \\\"b\\\", c\", \"lid\": 9, \"peer\": {\"host\": \"yes\"}, "
               "\"state\": \"Init\"}\n"
               "  ]\n"
               "}\n");
}
END_TEST

START_TEST(unknown_columns_are_named)
{
    const char *unknown;
    char *text = print_list(OUT_NAME, &(struct out_rows){.sort = "-speed"}, true, &unknown);
    ck_assert_str_eq(text, "");
    ck_assert_str_eq(unknown, "speed of NAME, STATE, RATE");
    free(text);
}
END_TEST

START_TEST(formats_have_names)
{
    enum out_format f = OUT_TEXT;
    ck_assert(out_format_of("csv", &f));
    ck_assert_int_eq(f, OUT_CSV);
    ck_assert(!out_format_of("xml", &f));
    ck_assert(!out_format_of("", &f));
    ck_assert_int_eq(f, OUT_CSV);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output");
    TCase *tcase = tcase_create("formats");
    tcase_add_test(tcase, csv_has_all_keys);
    tcase_add_test(tcase, wide_is_aligned);
    tcase_add_test(tcase, names_are_lines);
    tcase_add_test(tcase, yaml_is_nested);
    tcase_add_test(tcase, values_are_one_row);
    tcase_add_test(tcase, live_rows_are_printed_at_once);
    tcase_add_test(tcase, formats_have_names);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("rows");
    tcase_add_loop_test(tcase, rows_are_selected_and_sorted, 0,
                        sizeof selections / sizeof selections[0]);
    tcase_add_test(tcase, other_formats_see_the_selection);
    tcase_add_test(tcase, unknown_columns_are_named);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
