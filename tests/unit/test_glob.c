/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns for names, and GUIDs and ports in the spellings that other tools print.
 */
#include "libfabmgr/base/glob.h"

#include <string.h>

#include "cli/ctl/spelling.h"
#include "tests/unit/testing.h"

static const struct {
    const char *glob, *text;
    bool matches;
} cases[] = {
    {"", "", true},
    {"", "a", false},
    {"leaf-1", "leaf-1", true},
    {"LEAF-1", "leaf-1", true},
    {"leaf-1", "leaf-10", false},
    {"*", "", true},
    {"**a**", "xay", true},
    {"leaf-*", "leaf-", true},
    {"*-1", "leaf-1-1", true},
    {"l?af*", "leaf-1", true},
    {"?", "", false},
    {"leaf-0[1-8]", "leaf-01", true},
    {"leaf-0[1-8]", "leaf-08", true},
    {"leaf-0[1-8]", "leaf-09", false},
    {"leaf-0[1-8]", "leaf-010", false},
    {"n[01-16]", "n01", true},
    {"n[01-16]", "n1", false},
    {"n[1-16]", "n01", false},
    {"n[1-16]", "n16", true},
    {"n[1-16]", "n17", false},
    {"n[08-12,20]", "n20", true},
    {"n[08-12,20]", "n21", false},
    {"n[0-200]", "n000", false},
    {"n[098-100]", "n100", true},
    {"n[98-1000]", "n1000", true},
    {"n[1-2]*", "n12", true},
    {"n*[3,5]", "n12345", true},
    {"n[1-99]9", "n199", true},
    {"[1-3][4-6]", "15", true},
    {"[1-3][4-6]", "51", false},
    {"n[0-999999999]", "n999999999", true},
    {"n[0-999999999]", "n1999999999", false},
    {"host-1/mlx5_0", "host-1 mlx5_0", true},
    {"host-1 mlx5_0", "host-1/mlx5_0", false},
    /* brackets that contain no range of numbers are ordinary characters */
    {"a[b]*", "a[b]c", true},
    {"a[b]", "ab", false},
    {"a[3-1]", "a[3-1]", true},
    {"a[1-", "a[1-", true},
};

START_TEST(patterns_match)
{
    const char *g = cases[_i].glob, *t = cases[_i].text;
    bool matches = fab_base_glob_matches(g, strlen(g), t, strlen(t));
    ck_assert_msg(matches == cases[_i].matches, "\"%s\" and \"%s\": %d", g, t, matches);
}
END_TEST

START_TEST(only_a_part_of_the_pattern_is_compared)
{
    ck_assert(fab_base_glob_matches("leaf/*", 4, "leaf", 4));
    ck_assert(fab_base_glob_matches("n[1-2]", 2, "n[", 2));
    ck_assert(!fab_base_glob_matches("n*", 1, "nn", 2));
}
END_TEST

START_TEST(patterns_are_told_from_names)
{
    static const char *const globs[] = {"*", "a?", "n[1]", "n[1-2]x", "[[1]"},
                             *const names[] = {"", "leaf-1", "a[b]", "a[1", "a[2-1]", "[[[["};
    for (size_t i = 0; i < sizeof globs / sizeof globs[0]; i++)
        ck_assert_msg(fab_base_is_glob(globs[i]), "%s", globs[i]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_msg(!fab_base_is_glob(names[i]), "%s", names[i]);
}
END_TEST

/* A pattern with many * must not take exponential time, and a very long text must not overflow a
 * buffer. */
START_TEST(hostile_patterns_end)
{
    char glob[600], text[FAB_GLOB_TEXT_MAX + 2];
    for (size_t i = 0; i < sizeof glob; i++)
        glob[i] = i % 2 == 0 ? '*' : 'a';
    memset(text, 'a', sizeof text);
    ck_assert(!fab_base_glob_matches("*a*a*a*a*a*a*a*a*a*a*a*b", 24, text, FAB_GLOB_TEXT_MAX));
    ck_assert(fab_base_glob_matches(glob, sizeof glob, text, FAB_GLOB_TEXT_MAX));
    ck_assert(!fab_base_glob_matches("*", 1, text, FAB_GLOB_TEXT_MAX + 1));
    memset(text, '1', sizeof text);
    ck_assert(!fab_base_glob_matches("[1-99][1-99][1-99][1-99]x", 25, text, FAB_GLOB_TEXT_MAX));
}
END_TEST

static const char *const spellings[][2] = {
    {"0002c90300a1b2c3_7", "0002c90300a1b2c3/7"},
    {"S-0002c90300a1b2c3[36]", "S-0002c90300a1b2c3/36"},
    {"\"H-0002c90300a1b2c3\"[1]", "H-0002c90300a1b2c3/1"},
    {"\"H-0002c90300a1b2c3\"", "H-0002c90300a1b2c3"},
    {"0002c90300a1b2c3", "0002c90300a1b2c3"},
    {"0002c90300a1b2c3_", "0002c90300a1b2c3_"},
    {"0002c90300a1b2c3_x", "0002c90300a1b2c3_x"},
    {"0002c90300a1b2c3_1234", "0002c90300a1b2c3_1234"},
    {"S-0002c90300a1b2c3[1", "S-0002c90300a1b2c3[1"},
    {"S-0002c90300a1b2c3[1-4]", "S-0002c90300a1b2c3[1-4]"},
    {"\"H-0002c90300a1b2c3", "\"H-0002c90300a1b2c3"},
    {"mlx5_0", "mlx5_0"},
    {"leaf-1[2]", "leaf-1[2]"},
    {"\"", "\""},
    {"", ""},
};

START_TEST(spellings_of_other_tools_are_changed)
{
    char text[64];
    strcpy(text, spellings[_i][0]);
    respell(text);
    ck_assert_str_eq(text, spellings[_i][1]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("glob");
    TCase *t = tcase_create("glob");
    tcase_add_loop_test(t, patterns_match, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(t, only_a_part_of_the_pattern_is_compared);
    tcase_add_test(t, patterns_are_told_from_names);
    tcase_add_test(t, hostile_patterns_end);
    tcase_add_loop_test(t, spellings_of_other_tools_are_changed, 0,
                        sizeof spellings / sizeof spellings[0]);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
