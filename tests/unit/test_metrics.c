/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of metrics: which format a request gets, and the lines in both formats. */
#include <string.h>

#include "fabricd/metrics/private.h"
#include "tests/unit/testing.h"

#define OPEN "application/openmetrics-text"

/* ---- Accept ---- */

static const struct {
    const char *accept;
    /* expected format; METRICS_FORMATS: the request must be refused */
    enum metrics_format expected;
} accepts[] = {
    {"", METRICS_TEXT},
    {" , ", METRICS_TEXT},
    {"*/*", METRICS_TEXT},
    {"text/*", METRICS_TEXT},
    {"application/*", METRICS_OPENMETRICS},
    {OPEN, METRICS_OPENMETRICS},
    {OPEN ";version=1.0.0", METRICS_OPENMETRICS},
    {OPEN "; version=\"1.0.0\"; charset=utf-8", METRICS_OPENMETRICS},
    {"Application/OpenMetrics-Text;Version=1.0.0;Q=0.5", METRICS_OPENMETRICS},
    {OPEN ";version=0.0.1", METRICS_FORMATS},
    {OPEN ";version=0.0.1,*/*;q=0.1", METRICS_TEXT},
    {"text/plain;version=0.0.4", METRICS_TEXT},
    {"text/plain;version=1.0.0", METRICS_FORMATS},
    {"text/html", METRICS_FORMATS},
    {"text/html,*/*;q=0.8", METRICS_TEXT},
    {OPEN ",text/plain", METRICS_OPENMETRICS},
    {"text/plain," OPEN, METRICS_OPENMETRICS},
    {OPEN ";q=0.5,text/plain;q=0.5", METRICS_OPENMETRICS},
    {OPEN ";q=0.5,text/plain;q=0.501", METRICS_TEXT},
    /* a q value with more than three digits is invalid, and ignored */
    {OPEN ";q=0.5,text/plain;q=0.5001", METRICS_OPENMETRICS},
    {OPEN ";q=0,*/*", METRICS_TEXT},
    {"text/plain;q=0,*/*", METRICS_OPENMETRICS},
    {"*/*;q=0", METRICS_FORMATS},
    {OPEN ";q=0,text/plain;q=0.0", METRICS_FORMATS},
    {OPEN ";q=nan,text/plain;q=0.1", METRICS_TEXT},
    {OPEN ";q=-1,text/plain;q=0.1", METRICS_TEXT},
    {OPEN ";q=2,text/plain;q=0.1", METRICS_TEXT},
    {OPEN ";q=1.000,text/plain;q=0.999", METRICS_OPENMETRICS},
    {OPEN ";q=,text/plain;q=0.1", METRICS_TEXT},
    {";;;,,,/,*,*/", METRICS_FORMATS},
    /* the Accept headers of Prometheus 2.42 and 3.0 */
    {OPEN ";version=1.0.0," OPEN ";version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
     METRICS_OPENMETRICS},
    {OPEN ";version=1.0.0;escaping=allow-utf-8;q=0.6," OPEN
          ";version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/"
          "plain;version=0.0.4;q=0.3,*/*;q=0.2",
     METRICS_OPENMETRICS},
};

START_TEST(the_accept_header_chooses_the_format)
{
    struct metrics_form form;
    enum metrics_choice choice =
        metrics_form_choose("", accepts[_i].accept, CONFIG_METRICS_OWN, &form);
    if (accepts[_i].expected == METRICS_FORMATS) {
        ck_assert_msg(choice == METRICS_NOT_ACCEPTABLE, "%s", accepts[_i].accept);
        return;
    }
    ck_assert_msg(choice == METRICS_CHOSEN, "%s", accepts[_i].accept);
    ck_assert_msg(form.format == accepts[_i].expected, "%s", accepts[_i].accept);
}
END_TEST

/* ---- the query ---- */

static const struct {
    const char *query;
    enum metrics_choice choice;
    enum config_metrics_names names;
    bool manager, ports;
} queries[] = {
    {"", METRICS_CHOSEN, CONFIG_METRICS_GUILBAULTS, true, true},
    {"names=own", METRICS_CHOSEN, CONFIG_METRICS_OWN, true, true},
    {"names=treydock&collect[]=ports", METRICS_CHOSEN, CONFIG_METRICS_TREYDOCK, false, true},
    {"collect%5B%5d=manager", METRICS_CHOSEN, CONFIG_METRICS_GUILBAULTS, true, false},
    {"collect=manager&collect=ports", METRICS_CHOSEN, CONFIG_METRICS_GUILBAULTS, true, true},
    {"x=1&&y&names=guilbaults&", METRICS_CHOSEN, CONFIG_METRICS_GUILBAULTS, true, true},
    {"names=", METRICS_BAD_QUERY, 0, 0, 0},
    {"names=Own", METRICS_BAD_QUERY, 0, 0, 0},
    {"names=own%", METRICS_BAD_QUERY, 0, 0, 0},
    {"names=own%0", METRICS_BAD_QUERY, 0, 0, 0},
    {"names=own%00", METRICS_CHOSEN, CONFIG_METRICS_OWN, true, true},
    {"collect[]=links", METRICS_BAD_QUERY, 0, 0, 0},
};

START_TEST(the_query_chooses_names_and_families)
{
    struct metrics_form form;
    const char *query = queries[_i].query;
    ck_assert_msg(metrics_form_choose(query, "", CONFIG_METRICS_GUILBAULTS, &form) ==
                      queries[_i].choice,
                  "%s", query);
    if (queries[_i].choice != METRICS_CHOSEN)
        return;
    ck_assert_msg(form.names == queries[_i].names && form.manager == queries[_i].manager &&
                      form.ports == queries[_i].ports,
                  "%s", query);
}
END_TEST

START_TEST(a_long_query_is_refused)
{
    char query[1000];
    struct metrics_form form;
    memset(query, 'x', sizeof(query) - 1);
    query[sizeof(query) - 1] = '\0';
    ck_assert_int_eq(metrics_form_choose(query, "", CONFIG_METRICS_OWN, &form), METRICS_BAD_QUERY);
}
END_TEST

/* ---- lines ---- */

static void assert_family(enum metrics_format format, const char *name, enum page_type type,
                          const char *expected)
{
    struct fab_text text = {0};
    struct page to = {&text, format};
    page_family(&to, name, type, "Help.");
    page_end(&to);
    ck_assert_str_eq(fab_base_text_get(&text), expected);
    fab_base_text_fini(&text);
}

START_TEST(families_have_the_names_of_their_format)
{
    assert_family(METRICS_TEXT, "a_seconds", PAGE_COUNTER,
                  "# HELP a_seconds_total Help.\n# TYPE a_seconds_total counter\n");
    assert_family(METRICS_OPENMETRICS, "a_seconds", PAGE_COUNTER,
                  "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds Help.\n"
                  "# EOF\n");
    assert_family(METRICS_TEXT, "a", PAGE_INFO, "# HELP a_info Help.\n# TYPE a_info gauge\n");
    assert_family(METRICS_OPENMETRICS, "a", PAGE_INFO, "# TYPE a info\n# HELP a Help.\n# EOF\n");
    assert_family(METRICS_OPENMETRICS, "a_bytes", PAGE_GAUGE,
                  "# TYPE a_bytes gauge\n# UNIT a_bytes bytes\n# HELP a_bytes Help.\n# EOF\n");
    assert_family(METRICS_TEXT, "a_bytes", PAGE_HISTOGRAM,
                  "# HELP a_bytes Help.\n# TYPE a_bytes histogram\n");
}
END_TEST

static void assert_label(const char *value, const char *expected)
{
    struct fab_text text = {0};
    page_label(&text, "n", value);
    ck_assert_str_eq(fab_base_text_get(&text), expected);
    fab_base_text_fini(&text);
}

START_TEST(labels_are_safe)
{
    assert_label("leaf-1", "n=\"leaf-1\"");
    assert_label("", "n=\"\"");
    assert_label("a\"b\\c\\", "n=\"a\\\"b\\\\c\\\\\"");
    assert_label("two\nlines", "n=\"two\xef\xbf\xbdlines\"");
    assert_label("bad\xff", "n=\"bad\xef\xbf\xbd\"");
    assert_label("gr\xc3\xbc\xc3\x9f", "n=\"gr\xc3\xbc\xc3\x9f\"");
}
END_TEST

START_TEST(numbers_are_decimal)
{
    struct fab_text text = {0};
    page_number(&text, 0);
    fab_base_text_add(&text, " ");
    page_number(&text, UINT64_MAX);
    ck_assert_str_eq(fab_base_text_get(&text), "0 18446744073709551615");
    fab_base_text_fini(&text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("metrics");
    TCase *c = tcase_create("form");
    tcase_add_loop_test(c, the_accept_header_chooses_the_format, 0,
                        sizeof(accepts) / sizeof(*accepts));
    tcase_add_loop_test(c, the_query_chooses_names_and_families, 0,
                        sizeof(queries) / sizeof(*queries));
    tcase_add_test(c, a_long_query_is_refused);
    suite_add_tcase(s, c);
    c = tcase_create("lines");
    tcase_add_test(c, families_have_the_names_of_their_format);
    tcase_add_test(c, labels_are_safe);
    tcase_add_test(c, numbers_are_decimal);
    suite_add_tcase(s, c);
    return test_run(s);
}
