/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads files in the format of OpenSM's guid2lid. Each error must name its line. */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/policy/lid_list.h"
#include "tests/unit/testing.h"

static int read_text(const char *text, struct fab_lid_list **ret, struct fab_line_error *e)
{
    return fab_policy_lid_list_read(text, strlen(text), ret, e);
}

START_TEST(opensm_wrote_it)
{
    struct fab_lid_list *l = NULL, *other = NULL;
    struct fab_line_error e;
    ck_assert_int_eq(
        read_text("0x0002c90300000001 0x0010 0x0013\n\n0x0002c90200000010 0x0001 0x0001"
                  "\r\n# comment\n0x3 0xbfff 0xbfff",
                  &l, &e),
        FAB_OK);
    ck_assert_uint_eq(l->count, 3);
    const struct fab_listed_lid *x = fab_policy_lid_list_find(l, UINT64_C(0x0002c90300000001));
    ck_assert_uint_eq(x->lid, 0x10);
    ck_assert_uint_eq(x->lmc, 2);
    ck_assert_uint_eq(fab_policy_lid_list_find(l, 3)->lid, 0xbfff);
    ck_assert_ptr_null(fab_policy_lid_list_find(l, 4));
    ck_assert_int_eq(read_text("", &other, &e), FAB_OK);
    ck_assert(fab_policy_lid_list_same(other, NULL) && !fab_policy_lid_list_same(l, other));
    fab_policy_lid_list_unref(l);
    fab_policy_lid_list_unref(other);
}
END_TEST

START_TEST(errors_name_their_line)
{
    static const struct {
        const char *text, *message;
        unsigned line;
    } bad[] = {
        {"x 0x1 0x1\n", "expected the GUID", 1},
        {"0x0 0x1 0x1\n", "expected the GUID", 1},
        {"\n0x1 0x1\n", "expected the first and the last LID", 2},
        {"0x1 1 1\n", "expected the first and the last LID", 1},
        {"0x1 0xc000 0xc000\n", "at most 0xbfff", 1},
        {"0x1 0x1 0x1 0x1\n", "nothing after", 1},
        {"0x1 0x0 0x0\n", "1 to 128 LIDs", 1},
        {"0x1 0x2 0x1\n", "1 to 128 LIDs", 1},
        {"0x1 0x100 0x1ff\n", "1 to 128 LIDs", 1},
        {"0x1 0x1 0x2\n", "multiple of 2^LMC", 1},
        {"0x1 0x3 0x5\n", "multiple of 2^LMC", 1},
        {"0x1 0x4 0x7\n0x2 0x8 0x8\n0x3 0x6 0x6\n", "LID 0x0006 is that of line 1", 3},
        {"0x1 0x4 0x4\n0x2 0x8 0x8\n0x1 0x6 0x6\n", "the GUID is in line 1 already", 3},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fab_lid_list *l = NULL;
        struct fab_line_error e = {0};
        ck_assert_int_eq(read_text(bad[i].text, &l, &e), FAB_E_FORMAT);
        ck_assert_ptr_null(l);
        ck_assert_msg(e.line == bad[i].line && strstr(e.message, bad[i].message) != NULL,
                      "%s line %u: %s", bad[i].text, e.line, e.message);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("LID list");
    TCase *t = tcase_create("all");
    tcase_add_test(t, opensm_wrote_it);
    tcase_add_test(t, errors_name_their_line);
    suite_add_tcase(s, t);
    return test_run(s);
}
