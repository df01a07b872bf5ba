/* SPDX-License-Identifier: BSD-3-Clause */
/* Node-name-maps, read as OpenSM and infiniband-diags read them. Each error must name its line. In
 * a snapshot, a mapped name replaces the NodeDescription. Policies accept both names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/generate.h"
#include "libfabmgr/policy/node_names.h"
#include "libfabmgr/target/selector.h"
#include "tests/unit/testing.h"

static int read_text(const char *text, struct fab_node_names **ret, struct fab_node_names_error *e)
{
    return fab_policy_node_names_read(text, strlen(text), ret, e);
}

START_TEST(a_map_is_read)
{
    struct fab_node_names *n = NULL;
    struct fab_node_names_error e;
    const char *text = "# a comment\n"
                       "\n"
                       "0x0002c902400111aa\t\"spine 01, rack A\" and what follows is ignored\r\n"
                       "  0x2 leaf-01# comment\n"
                       "0002C902400111AC \"  blanks around  \"\n"
                       "0x3 last";
    ck_assert_int_eq(read_text(text, &n, &e), FAB_OK);
    ck_assert_uint_eq(fab_policy_node_names_count(n), 4);
    ck_assert_str_eq(fab_policy_node_names_find(n, UINT64_C(0x0002c902400111aa)),
                     "spine 01, rack A");
    ck_assert_str_eq(fab_policy_node_names_find(n, 2), "leaf-01");
    ck_assert_str_eq(fab_policy_node_names_find(n, UINT64_C(0x0002c902400111ac)), "blanks around");
    ck_assert_str_eq(fab_policy_node_names_find(n, 3), "last");
    ck_assert_ptr_null(fab_policy_node_names_find(n, 4));
    ck_assert_ptr_null(fab_policy_node_names_find(NULL, 3));
    fab_policy_node_names_unref(n);
}
END_TEST

/* The text need not end in a line feed or a NUL. What follows it in memory is not read. */
START_TEST(a_map_ends_at_its_length)
{
    static const char text[] = "0x1 first\n0x2 second and more\n0x3 third\n";
    struct fab_node_names *n = NULL;
    struct fab_node_names_error e;
    ck_assert_int_eq(fab_policy_node_names_read(text, strlen("0x1 first\n0x2 sec"), &n, &e),
                     FAB_OK);
    ck_assert_uint_eq(fab_policy_node_names_count(n), 2);
    ck_assert_str_eq(fab_policy_node_names_find(n, 2), "sec");
    fab_policy_node_names_unref(n);
}
END_TEST

START_TEST(large_maps_are_refused)
{
    struct fab_node_names *n = NULL;
    struct fab_node_names_error e;
    char *text = malloc(FAB_NODE_NAMES_TEXT_MAX + 1);
    memset(text, '\n', FAB_NODE_NAMES_TEXT_MAX + 1);
    ck_assert_int_eq(fab_policy_node_names_read(text, FAB_NODE_NAMES_TEXT_MAX, &n, &e), FAB_OK);
    fab_policy_node_names_unref(n);
    ck_assert_int_eq(fab_policy_node_names_read(text, FAB_NODE_NAMES_TEXT_MAX + 1, &n, &e),
                     FAB_E_LIMIT);
    free(text);
}
END_TEST

START_TEST(errors_name_their_line)
{
    static const struct {
        const char *text, *message;
        unsigned line;
    } bad[] = {
        {"0x1 \"a\"\n0x2 \"b\"\n0x3 \"a\"\n", "the name is that of GUID 0x0000000000000001", 3},
        {"0x1 \"a\"\n\n0x1 \"b\"\n", "GUID 0x0000000000000001 has a name already, in line 1", 3},
        {"leaf-01 0x1\n", "expected the GUID of a node", 1},
        {"0x0 \"a\"\n", "expected the GUID of a node", 1},
        {"0x12345678901234567 \"a\"\n", "expected the GUID of a node", 1},
        {"17 \"a\"\n", "expected the GUID of a node", 1},
        {"0x1\n", "expected a name", 1},
        {"0x1 # none\n", "expected a name", 1},
        {"0x1 \"\"\n", "expected a name", 1},
        {"0x1 \"a\n0x2 \"b\"\n", "expected a second '\"'", 1},
        {"0x1 \"a\x1b[2J\"\n", "a control character", 1},
        {"0x1 \"12345678901234567890123456789012345678901234567890123456789012345\"\n",
         "longer than 64 bytes", 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fab_node_names *n = NULL;
        struct fab_node_names_error e = {0};
        ck_assert_int_eq(read_text(bad[i].text, &n, &e), FAB_E_FORMAT);
        ck_assert_ptr_null(n);
        ck_assert_uint_eq(e.line, bad[i].line);
        ck_assert_msg(strstr(e.message, bad[i].message) != NULL, "%s", e.message);
    }
}
END_TEST

START_TEST(two_maps_are_compared)
{
    struct fab_node_names *a, *b, *c;
    struct fab_node_names_error e;
    ck_assert_int_eq(read_text("0x1 a\n0x2 b\n", &a, &e), FAB_OK);
    ck_assert_int_eq(read_text("0x2 \"b\"\n0x1 \"a\"\n", &b, &e), FAB_OK);
    ck_assert_int_eq(read_text("0x1 a\n0x2 c\n", &c, &e), FAB_OK);
    ck_assert(fab_policy_node_names_same(a, b) && fab_policy_node_names_same(NULL, NULL));
    ck_assert(!fab_policy_node_names_same(a, c) && !fab_policy_node_names_same(a, NULL));
    fab_policy_node_names_unref(a);
    fab_policy_node_names_unref(b);
    fab_policy_node_names_unref(c);
}
END_TEST

START_TEST(policies_accept_both_names)
{
    struct fab_fabric *f;
    struct fab_builder *b;
    const struct fab_leaf_spine_spec shape = {
        .leaves = 2, .spines = 1, .hosts_per_leaf = 1, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&shape, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    uint32_t host = f->switch_count;
    char shown[FAB_NODE_DESC_LEN + 1];
    memcpy(shown, f->nodes[host].desc, sizeof shown);
    ck_assert_str_eq(f->nodes[host].name, shown);
    fab_fabric_set_name(f, host, "dgx-01 mlx5_0");
    ck_assert_str_eq(f->nodes[host].name, "dgx-01 mlx5_0");
    ck_assert_str_eq(f->nodes[host].desc, shown);
    ck_assert(fab_target_node_matches(NULL, &f->nodes[host], "dgx-*"));
    ck_assert(fab_target_node_matches(NULL, &f->nodes[host], shown));
    ck_assert(!fab_target_node_matches(NULL, &f->nodes[host], "dgx-02"));
    fab_fabric_set_name(f, host, NULL);
    ck_assert_str_eq(f->nodes[host].name, shown);
    ck_assert(!fab_target_node_matches(NULL, &f->nodes[host], "dgx-*"));
    fab_fabric_unref(f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("node names");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_map_is_read);
    tcase_add_test(t, large_maps_are_refused);
    tcase_add_test(t, a_map_ends_at_its_length);
    tcase_add_test(t, errors_name_their_line);
    tcase_add_test(t, two_maps_are_compared);
    tcase_add_test(t, policies_accept_both_names);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
