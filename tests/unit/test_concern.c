/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a message in the journal is about a given node or port (libfabmgr/view/concern.h). */
#include "libfabmgr/view/concern.h"

#include <string.h>

#include "libfabmgr/base/status.h"
#include "tests/unit/testing.h"

static const struct {
    const char *node;
    int port;
    const char *text;
    bool concerned;
} cases[] = {
    /* the question is about a node: the text must name the node or one of its ports */
    {"leaf-1", -1, "leaf-1", true},
    {"leaf-1", -1, "leaf-1/12", true},
    {"leaf-1", -1, "leaf-12", false},
    {"leaf-1", -1, "leaf-12/1", false},
    {"leaf-1", -1, "leaf", false},
    {"leaf-1", -1, "", false},
    {"", -1, "leaf-1", false},
    {"leaf-1", -1, "leaf-1/x", false},
    {"leaf-1", -1, "leaf-1/2/3", false},
    {"leaf-1/2", -1, "leaf-1/2/3", true},
    /* the question is about a port: the text must name exactly this port */
    {"leaf-1", 12, "leaf-1/12", true},
    {"leaf-1", 12, "leaf-1/1", false},
    {"leaf-1", 12, "leaf-1/123", false},
    {"leaf-1", 12, "leaf-1/1234567890123456789012", false},
    {"leaf-1", 12, "leaf-1", false},
    {"leaf-1", 0, "leaf-1/0", true},
    /* the question has only the first word of the NodeDescription that the text has */
    {"host-1", -1, "host-1 mlx5_0", true},
    {"host-1", -1, "host-1 mlx5_0/1", true},
    {"host-1", 1, "host-1 mlx5_0/1", true},
    {"host-1", 1, "host-1 mlx5_0/2", false},
    {"host-1 mlx5_0", 1, "host-1 mlx5_0/1", true},
    {"host-1 mlx5_0", -1, "host-1 mlx5_1", false},
    /* the text names several nodes or ports */
    {"leaf-1", -1, "spine-1/3 - leaf-1/2", true},
    {"leaf-1", 2, "leaf-3/2 - leaf-1/2, leaf-1/3 - leaf-1/4", true},
    {"leaf-1", 4, "leaf-3/2 - leaf-1/2, leaf-1/3 - leaf-1/4", true},
    {"leaf-1", 5, "leaf-3/2 - leaf-1/2, leaf-1/3 - leaf-1/4", false},
    {"leaf-4", -1, "leaf-1, leaf-2, leaf-4, ...", true},
    {"leaf-9", -1, "leaf-1, leaf-2, leaf-4, ...", false},
    {"b", -1, "a, ", false},
    {"b", -1, ", , b", true},
    /* the NodeDescription itself contains the " - " that separates items in texts */
    {"SwitchX -  Mellanox", -1, "SwitchX -  Mellanox/3", true},
    {"SwitchX -  Mellanox", 3, "SwitchX -  Mellanox/3", true},
};

START_TEST(texts_are_compared)
{
    const struct fab_concern c = {cases[_i].node, strlen(cases[_i].node), cases[_i].port};
    ck_assert_msg(fab_view_concerns(&c, cases[_i].text) == cases[_i].concerned, "%s/%d in \"%s\"",
                  cases[_i].node, cases[_i].port, cases[_i].text);
}
END_TEST

/* A host with two adapters, one port of a switch, and a node whose name has separators. */
static struct fab_concern_set some_places(void)
{
    struct fab_concern_set p = {0};
    ck_assert_int_eq(fab_view_concern_set_add(&p, 0x20, FAB_ALL_PORTS, "node-2 mlx5_1"), FAB_OK);
    ck_assert_int_eq(fab_view_concern_set_add(&p, 0x10, FAB_ALL_PORTS, "node-2 mlx5_0"), FAB_OK);
    ck_assert_int_eq(fab_view_concern_set_add(&p, 0x30, 7, "leaf-1"), FAB_OK);
    ck_assert_int_eq(fab_view_concern_set_add(&p, 0x30, 12, "leaf-1"), FAB_OK);
    ck_assert_int_eq(fab_view_concern_set_add(&p, 0x40, FAB_ALL_PORTS, "SwitchX -  Mellanox"),
                     FAB_OK);
    ck_assert_int_eq(fab_view_concern_set_sort(&p), FAB_OK);
    return p;
}

static const struct {
    const char *text;
    bool named;
} named[] = {
    {"node-2 mlx5_0", true},
    {"node-2 mlx5_1/1", true},
    {"node-2 mlx5_2", false},
    {"node-2", false}, /* a set has whole names */
    {"leaf-1/7", true},
    {"leaf-1/12", true},
    {"leaf-1/1", false},
    {"leaf-1", false}, /* only two ports of the switch are in the set */
    {"leaf-11/7", false},
    {"spine-1/3 - leaf-1/7", true},
    {"spine-1/3 - leaf-1/8", false},
    {"leaf-4, node-2 mlx5_0, ...", true},
    {"SwitchX -  Mellanox/3", true},
    {"", false},
    {"/7", false},
};

START_TEST(a_set_of_places_finds_names)
{
    struct fab_concern_set p = some_places(), empty = {0};
    ck_assert_msg(fab_view_concern_set_named(&p, named[_i].text) == named[_i].named, "\"%s\"",
                  named[_i].text);
    ck_assert(!fab_view_concern_set_named(&empty, named[_i].text));
    fab_view_concern_set_fini(&p);
}
END_TEST

START_TEST(a_set_of_places_finds_guids)
{
    struct fab_concern_set p = some_places(), empty = {0};
    ck_assert(fab_view_concern_set_have(&p, 0x10, 0) && fab_view_concern_set_have(&p, 0x20, 2));
    ck_assert(fab_view_concern_set_have(&p, 0x30, 7) && fab_view_concern_set_have(&p, 0x30, 12));
    ck_assert(!fab_view_concern_set_have(&p, 0x30, 0) && !fab_view_concern_set_have(&p, 0x30, 8));
    ck_assert(!fab_view_concern_set_have(&p, 0x50, 0) &&
              !fab_view_concern_set_have(&empty, 0x10, 0));
    ck_assert(!fab_view_concern_set_have(&p, 0x30, UINT64_MAX)); /* not FAB_ALL_PORTS */
    fab_view_concern_set_fini(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("concern");
    TCase *tc = tcase_create("concern");
    tcase_add_loop_test(tc, texts_are_compared, 0, sizeof cases / sizeof cases[0]);
    tcase_add_loop_test(tc, a_set_of_places_finds_names, 0, sizeof named / sizeof named[0]);
    tcase_add_test(tc, a_set_of_places_finds_guids);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
