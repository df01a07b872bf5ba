/* SPDX-License-Identifier: BSD-3-Clause */
/* Service levels and virtual lanes: how many VLs the links have, and which VL tables the manager
 * wants in devices. */
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
    /* now this link is down, so no path uses it, and its VLs do not count */
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

int main(void)
{
    const TTest *const tests[] = {
        the_weakest_isl_counts,
        links_to_endports_do_not_count,
        without_isls_the_policy_counts,
    };
    Suite *suite = suite_create("vls");
    TCase *tcase = tcase_create("lanes");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
