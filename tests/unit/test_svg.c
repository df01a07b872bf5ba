/* SPDX-License-Identifier: BSD-3-Clause */
/* The axes of charts. Ticks are at round values and reach over all values of the chart. Labels show
 * the exact values of the ticks. */
#include "libfabmgr/svg/axis.h"

#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/svg/chart.h"
#include "tests/unit/testing.h"

static void assert_label(const struct fab_svg_axis *a, double value, const char *wanted)
{
    char text[FAB_SVG_LABEL];
    fab_svg_label(a, value, text);
    ck_assert_str_eq(text, wanted);
}

START_TEST(axes_have_round_ticks)
{
    struct fab_svg_axis a = fab_svg_axis(11.2e9, 4, false, true);
    ck_assert_str_eq(a.prefix, "G");
    assert_label(&a, a.step, "5");
    assert_label(&a, a.top, "15");
    a = fab_svg_axis(0.9, 4, false, false);
    assert_label(&a, a.step, "0.25");
    a = fab_svg_axis(3, 5, true, true);
    assert_label(&a, a.step, "1");
    assert_label(&a, a.top, "3");
    a = fab_svg_axis(0, 4, true, true);
    ck_assert_double_eq(a.top, 1);
    a = fab_svg_axis(FAB_SVG_MISSING, 4, false, false);
    ck_assert_double_eq(a.top, 1);
}
END_TEST

/* For any values, an axis must have only a few ticks, the last tick must be at the greatest value
 * or above it, and no two ticks may have the same label. */
START_TEST(axes_reach_over_all_values)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("axes", 1));
    for (int i = 0; i < 20000; i++) {
        double most = (double)fab_base_prng_below(&prng, 1000000) / 999.0;
        for (uint64_t k = fab_base_prng_below(&prng, 16); k > 0; k--)
            most = i % 2 ? most * 10 : most / 2;
        bool whole = i % 3 == 0;
        unsigned ticks = 2 + (unsigned)fab_base_prng_below(&prng, 9);
        struct fab_svg_axis a = fab_svg_axis(most, ticks, whole, i % 5 == 0);
        ck_assert_msg(a.top >= most * (1 - 1e-6), "%g: the axis ends at %g", most, a.top);
        ck_assert_msg(a.top <= a.step * (ticks + 1.001), "%g: step %g to %g", most, a.step, a.top);
        char first[FAB_SVG_LABEL], second[FAB_SVG_LABEL];
        fab_svg_label(&a, a.step, first);
        fab_svg_label(&a, 2 * a.step, second);
        ck_assert_str_ne(first, second);
        ck_assert_str_ne(first, "0");
    }
}
END_TEST

static void assert_number(double value, const char *wanted)
{
    char text[FAB_SVG_LABEL];
    fab_svg_number(value, text);
    ck_assert_str_eq(text, wanted);
}

START_TEST(numbers)
{
    assert_number(0, "0");
    assert_number(7, "7");
    assert_number(1.234, "1.23");
    assert_number(999, "999");
    assert_number(12345, "12.3 k");
    assert_number(999600, "1.00 M");
    assert_number(4e10, "40.0 G");
}
END_TEST

static void assert_time(int64_t from, int64_t to, int64_t at, const char *wanted)
{
    char text[FAB_SVG_LABEL];
    struct fab_svg_times t = fab_svg_times(from, to, 10);
    fab_svg_time_label(&t, at, text);
    ck_assert_str_eq(text, wanted);
}

#define NOV_20_2026 INT64_C(1795132800)

START_TEST(times_have_round_ticks)
{
    int64_t day = NOV_20_2026;
    char text[FAB_SVG_LABEL];
    struct fab_svg_times t = fab_svg_times(day + 60, day + 3660, 10);
    ck_assert_int_eq(t.step, 600);
    ck_assert_int_eq(t.first, day + 600);
    assert_time(day, day + 3600, day + 600, "00:10");
    assert_time(day, day + 3600, day, "Nov 20");
    assert_time(day, day + 60, day + 30, "00:00:30");
    assert_time(day, day + 30 * 86400, day + 43200, "Nov 20");
    fab_svg_date(day + 3723, text);
    ck_assert_str_eq(text, "2026-11-20 01:02");
    fab_svg_date(INT64_C(951782400), text); /* 29 February 2000 */
    ck_assert_str_eq(text, "2000-02-29 00:00");
    fab_svg_date(-5, text);
    ck_assert_str_eq(text, "1970-01-01 00:00");
    t = fab_svg_times(7, 7, 10);
    ck_assert_int_gt(t.to, t.from);
    t = fab_svg_times(0, INT64_C(253402300799), 10); /* the last second of the year 9999 */
    ck_assert_int_le((t.to - t.from) / t.step, 10);
}
END_TEST

/* A name from a device may contain any bytes. It must not end its SVG element. */
START_TEST(names_cannot_end_their_element)
{
    struct fab_text t = {0};
    const struct fab_svg_bar bar = {.label = "<b>&\"\xff\x01", .value = {FAB_SVG_MISSING}};
    const struct fab_svg_bar_panel panel = {.title = "</text>",
                                            .unit = {"%", false, false},
                                            .series_count = 1,
                                            .bars = &bar,
                                            .count = 1};
    const struct fab_svg_bars bars = {
        .title = "]]>", .subtitle = "&amp;", .panels = &panel, .panel_count = 1};
    ck_assert_int_eq(fab_svg_write_bars(&bars, &t), FAB_OK);
    ck_assert_ptr_nonnull(strstr(t.s, "&lt;b&gt;&amp;\"\xef\xbf\xbd\xef\xbf\xbd</text>"));
    ck_assert_ptr_nonnull(strstr(t.s, ">&lt;/text&gt;"));
    ck_assert_ptr_nonnull(strstr(t.s, "&amp;amp;"));
    ck_assert_ptr_null(strstr(t.s, "]]>"));
    fab_base_text_fini(&t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("svg");
    TCase *c = tcase_create("svg");
    tcase_add_test(c, axes_have_round_ticks);
    tcase_add_test(c, axes_reach_over_all_values);
    tcase_add_test(c, numbers);
    tcase_add_test(c, times_have_round_ticks);
    tcase_add_test(c, names_cannot_end_their_element);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
