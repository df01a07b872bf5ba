/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a message in the journal is about a given node or port (libfabmgr/view/concern.h). */
#include "libfabmgr/view/concern.h"

#include <string.h>

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

int main(void)
{
    Suite *suite = suite_create("concern");
    TCase *tc = tcase_create("concern");
    tcase_add_loop_test(tc, texts_are_compared, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
