/* SPDX-License-Identifier: BSD-3-Clause */
/* Which nodes a new snapshot lacks, and for which of them neighbours prove the loss, because they
 * report their links as down (libfabmgr/discover/losses.h). */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/losses.h"
#include "libfabmgr/fabric/generate.h"
#include "tests/unit/testing.h"

/* Makes a fabric of 4 leaves with 3 hosts each, and 2 spines. The manager is at host-0001. */
static struct fab_fabric *make(void)
{
    const struct fab_leaf_spine_spec spec = {
        .leaves = 4, .spines = 2, .hosts_per_leaf = 3, .parallel = 1};
    struct fab_builder *b = NULL;
    struct fab_fabric *f;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), FAB_OK);
    fab_fabric_builder_free(b);
    return f;
}

static uint32_t named(const struct fab_fabric *f, const char *name)
{
    uint32_t node = 0;
    while (strcmp(f->nodes[node].desc, name) != 0)
        ck_assert_uint_lt(++node, f->node_count);
    return node;
}

/* Marks all links of this node as down, at the ports of its neighbours. */
static void cut(struct fab_builder *b, const struct fab_fabric *f, uint32_t node)
{
    for (uint32_t num = 1; num <= f->nodes[node].num_ports; num++) {
        uint32_t ref, peer = fab_fabric_port(f, fab_fabric_port_id(f, node, (uint8_t)num))->peer;
        if (peer == FAB_NONE)
            continue;
        const struct fab_port *p = fab_fabric_port(f, peer);
        struct fab_port_info info = p->info;
        info.phys_state = FAB_PHYS_POLLING;
        info.port_state = FAB_STATE_DOWN;
        if (fab_fabric_builder_find_node(b, f->nodes[p->node].guid, &ref) == FAB_OK)
            ck_assert_int_eq(fab_fabric_builder_set_port(b, ref, p->num, 0, &info), FAB_OK);
    }
}

/* lost: names of the nodes that the new snapshot lacks. down: names of the nodes whose neighbours
 * report the links as down. unproved: number of lost nodes whose loss nobody proves. */
static const struct {
    const char *lost, *down;
    uint32_t nodes, unproved;
    bool own_uplink;
} cases[] = {
    {"", "", 0, 0, false},
    /* a host that does not answer although its link is up, and a host whose link is down */
    {"host-0005", "", 1, 1, false},
    {"host-0005", "host-0005", 1, 0, false},
    /* a leaf that does not answer, so that its hosts cannot be reached */
    {"leaf-002 host-0004 host-0005 host-0006", "", 4, 4, false},
    {"leaf-002 host-0004 host-0005 host-0006", "leaf-002", 4, 0, false},
    /* a leaf without power, and a host at another leaf that does not answer */
    {"leaf-002 host-0004 host-0005 host-0006 host-0008", "leaf-002", 5, 1, false},
    /* the link of the manager's own port is down, so only the manager's node is left */
    {"leaf-001 leaf-002 leaf-003 leaf-004 spine-001 spine-002 host-0002 host-0003 host-0004 "
     "host-0005 host-0006 host-0007 host-0008 host-0009 host-0010 host-0011 host-0012",
     "leaf-001", 17, 0, true},
};

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += len)
        if (at[len] == ' ' || at[len] == '\0')
            return true;
    return false;
}

START_TEST(losses_are_counted)
{
    struct fab_fabric *former = make(), *now;
    struct fab_builder *b = fab_fabric_builder_from(former);
    struct fab_losses l;
    uint32_t ref;
    for (uint32_t node = 0; node < former->node_count; node++)
        if (has_word(cases[_i].down, former->nodes[node].desc))
            cut(b, former, node);
    for (uint32_t node = 0; node < former->node_count; node++)
        if (has_word(cases[_i].lost, former->nodes[node].desc)) {
            ck_assert_int_eq(fab_fabric_builder_find_node(b, former->nodes[node].guid, &ref),
                             FAB_OK);
            ck_assert_int_eq(fab_fabric_builder_remove_node(b, ref), FAB_OK);
        }
    ck_assert_int_eq(
        fab_fabric_builder_find_node(b, former->nodes[named(former, "host-0001")].guid, &ref),
        FAB_OK);
    fab_fabric_builder_set_self(b, ref, 1);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &now), FAB_OK);
    former->self_port = fab_fabric_port_id(former, named(former, "host-0001"), 1);
    ck_assert_int_eq(fab_discover_losses(former, now, &l), FAB_OK);
    ck_assert_uint_eq(l.nodes, cases[_i].nodes);
    ck_assert_uint_eq(l.unproved, cases[_i].unproved);
    ck_assert_int_eq(l.own_uplink, cases[_i].own_uplink);
    fab_fabric_builder_free(b);
    fab_fabric_unref(now);
    fab_fabric_unref(former);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("losses");
    TCase *tc = tcase_create("losses");
    tcase_add_loop_test(tc, losses_are_counted, 0, sizeof(cases) / sizeof(*cases));
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
