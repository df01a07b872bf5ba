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

/* Checks the layers of the pairs of switches. Both directions have the same layer, and all pairs of
 * a layer have a switch in common, through which no path of the layer leads. */
static void check_layers(const uint8_t *layer, uint32_t switches, uint32_t count)
{
    for (uint32_t l = 0; l < count; l++) {
        uint32_t common = 0, pairs = 0;
        for (uint32_t x = 0; x < switches; x++) {
            uint32_t with = 0;
            pairs = 0;
            for (uint32_t a = 0; a < switches; a++) {
                for (uint32_t b = 0; b < a; b++) {
                    ck_assert_uint_eq(layer[a * switches + b], layer[b * switches + a]);
                    pairs += layer[a * switches + b] == l;
                    with += layer[a * switches + b] == l && (a == x || b == x);
                }
            }
            common += with == pairs;
        }
        ck_assert_uint_gt(pairs, 0);
        ck_assert_uint_gt(common, 0);
    }
}

/* Routes all packets round a ring clockwise. The paths between two switches, in both directions,
 * lead once around the ring, and through all other switches. So all pairs of a virtual layer must
 * have a switch in common, and n switches need n - 1 layers. */
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
    uint8_t *layer = calloc((size_t)switches * switches, 1);
    bool one = true;
    ck_assert_int_eq(fab_route_layers_suffice(&in, &one), FAB_OK);
    ck_assert(!one);
    ck_assert_int_eq(fab_route_layers_by_pair(&in, layer, &count), status);
    ck_assert_uint_eq(count, status == FAB_OK ? switches - 1 : 0);
    check_layers(layer, switches, count);
    free(layer);
    fab_route_graph_fini(&g);
    fab_target_unref(t);
    fab_fabric_unref(f);
}

START_TEST(more_layers_than_vls_are_refused)
{
    check_ring(4, FAB_OK);
    check_ring(FAB_VLS_MAX + 1, FAB_OK);
    check_ring(FAB_VLS_MAX + 2, FAB_E_LIMIT);
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
