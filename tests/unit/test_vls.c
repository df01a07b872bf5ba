/* SPDX-License-Identifier: BSD-3-Clause */
/* Service levels and virtual lanes: the number of VLs that all links have, and the VL tables that
 * the manager wants in devices. */
#include "libfabmgr/route/dependencies/virtual_layers.h"
#include "tests/unit/routing.h"

static struct fab_policy defaults(void)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    return p;
}

/* ---- VLs of the links ------------------------------------------------------------------------ */

START_TEST(the_weakest_isl_counts)
{
    struct fab_policy p = defaults();
    struct fab_fabric *f = leaf_spine(3, 2, 2);
    uint32_t port, trunk = fab_fabric_port_id(f, 1, 1);
    while (fab_fabric_peer_node(f, trunk) == FAB_NONE ||
           !fab_fabric_node_is_switch(f, fab_fabric_peer_node(f, trunk)))
        trunk++;
    ck_assert_uint_eq(fab_route_vls_available(f, &p, &port), 8);
    ck_assert_uint_ne(port, FAB_NONE);
    fab_fabric_edit_port(f, fab_fabric_port(f, trunk)->peer)->info.vl_cap = 2;
    ck_assert_uint_eq(fab_route_vls_available(f, &p, &port), 2);
    ck_assert(port == trunk || fab_fabric_port(f, port)->peer == trunk);
    ck_assert_uint_eq(fab_target_port_vls(f, &p, trunk), 2);
    /* when this link is down, no path uses it, and its two VLs do not matter */
    fab_fabric_edit_port(f, trunk)->info.phys_state = FAB_PHYS_POLLING;
    ck_assert_uint_eq(fab_route_vls_available(f, &p, &port), 8);
    p.max_op_vls = 3;
    ck_assert_uint_eq(fab_route_vls_available(f, &p, &port), 4);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(links_to_endports_do_not_count)
{
    struct fab_policy p = defaults();
    struct fab_fabric *f = leaf_spine(2, 2, 1);
    uint32_t port, end = f->nodes[f->switch_count].first_port + 1;
    fab_fabric_edit_port(f, end)->info.vl_cap = 1;
    ck_assert_uint_eq(fab_route_vls_available(f, &p, &port), 8);
    ck_assert_uint_eq(fab_target_port_vls(f, &p, end), 1);
    ck_assert_uint_eq(fab_target_port_vls(f, &p, fab_fabric_port(f, end)->peer), 1);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(without_isls_the_policy_counts)
{
    struct fab_policy p = defaults();
    struct fab_fabric *f = leaf_spine(1, 0, 2);
    uint32_t port = 0;
    ck_assert_uint_eq(fab_route_vls_available(f, &p, &port), FAB_VLS_MAX);
    ck_assert_uint_eq(port, FAB_NONE);
    ck_assert_uint_eq(fab_target_port_vls(f, &p, fab_fabric_port_id(f, 0, 0)), 1);
    fab_fabric_unref(f);
}
END_TEST

/* ---- virtual layers -------------------------------------------------------------------------- */

/* Routes all packets round a ring clockwise. The paths to any three switches form a cycle, so each
 * virtual layer can have the paths to at most two switches. */
static void check_ring(uint32_t switches, int status)
{
    struct fab_policy p = defaults();
    struct fab_fabric *f = grid((uint32_t[3]){switches, 1, 1}, true, 1);
    struct fab_target *t = routed(f, &p);
    struct fab_graph g;
    uint32_t count = 0;
    for (uint32_t sw = 0; sw < switches; sw++) {
        uint32_t clockwise = fab_fabric_port_id(f, sw, 1);
        while (fab_fabric_peer_node(f, clockwise) != (sw + 1) % switches)
            clockwise++;
        for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
            uint32_t owner = t->lids.owner[lid], node = fab_fabric_port(f, owner)->node;
            uint32_t home = node < switches ? node : fab_fabric_peer_node(f, owner);
            if (home != sw)
                fab_target_lft_row(&t->lft, sw)[lid] = fab_fabric_port(f, clockwise)->num;
        }
    }
    ck_assert_int_eq(fab_route_graph_make(f, &g), FAB_OK);
    uint64_t budget = UINT64_MAX;
    struct fab_layers_input in = {.fabric = f,
                                  .policy = &p,
                                  .graph = &g,
                                  .lids = &t->lids,
                                  .lft = &t->lft,
                                  .max = FAB_VLS_MAX,
                                  .budget = &budget};
    uint8_t *layer = calloc(t->lft.top + 1, 1), *of_switch = calloc(switches, 1);
    ck_assert_int_eq(fab_route_layers_by_lid(&in, layer, &count), status);
    ck_assert_uint_eq(count, status == FAB_OK ? (switches + 1) / 2 : 0);
    for (uint32_t lid = 1; lid <= t->lids.top && status == FAB_OK; lid++) {
        uint32_t owner = t->lids.owner[lid], node = fab_fabric_port(f, owner)->node;
        if (node >= switches)
            of_switch[layer[lid]]++;
    }
    for (uint32_t i = 0; i < switches && status == FAB_OK; i++)
        ck_assert_uint_le(of_switch[i], 2);
    free(layer);
    free(of_switch);
    fab_route_graph_fini(&g);
    fab_target_unref(t);
    fab_fabric_unref(f);
}

START_TEST(more_layers_than_vls_are_refused)
{
    check_ring(4, FAB_OK);
    check_ring(2 * FAB_VLS_MAX, FAB_OK);
    check_ring(2 * FAB_VLS_MAX + 1, FAB_E_LIMIT);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_weakest_isl_counts,
        links_to_endports_do_not_count,
        without_isls_the_policy_counts,
        more_layers_than_vls_are_refused,
    };
    Suite *suite = suite_create("vls");
    TCase *tcase = tcase_create("lanes");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
