/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Variations of generated fabrics: aggregation nodes, missing links, planes, and other ports, GUIDs
 * and rates. Missing links must leave the fabric connected. Without any option, the fabric must be
 * unchanged.
 */
#include "tests/unit/routing.h"

#include <string.h>

static struct fab_fabric *dressed(const struct fab_fabric *plain,
                                  const struct fab_variation *variation)
{
    struct fab_builder *b = NULL;
    int status = fab_fabric_generate_variation(plain, variation, &b);
    ck_assert_msg(status == FAB_OK, "%s", fab_base_status_text(status));
    struct fab_fabric *f = sealed(b);
    assert_sound(f);
    return f;
}

static void assert_refused(const struct fab_fabric *plain, const struct fab_variation *variation,
                           int expected)
{
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_variation(plain, variation, &b), expected);
    ck_assert_ptr_null(b);
}

static bool in_one_piece(const struct fab_fabric *f)
{
    uint32_t dropped = 0;
    struct fab_fabric *island = NULL, *from = NULL;
    struct fab_builder *b = fab_fabric_builder_from(f);
    fab_fabric_builder_set_self(b, 0, 0);
    from = sealed(b);
    ck_assert_int_eq(fab_fabric_reachable(from, &island, &dropped), FAB_OK);
    fab_fabric_unref(island);
    fab_fabric_unref(from);
    return dropped == 0;
}

START_TEST(nothing_asked_for_changes_nothing)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct fab_fabric *plain = random_fabric(12, 5, 3, seed);
        struct fab_fabric *f = dressed(plain, &(struct fab_variation){.seed = seed});
        assert_same_fabric(plain, f);
        fab_fabric_unref(plain);
        fab_fabric_unref(f);
    }
}
END_TEST

START_TEST(each_switch_gets_an_aggregation_node)
{
    struct fab_fabric *plain = fat_tree(4, 3, 1);
    struct fab_fabric *f =
        dressed(plain, &(struct fab_variation){.aggregation = true, .radix = 40});
    struct fab_fabric *again = dressed(f, &(struct fab_variation){.aggregation = true});
    ck_assert_uint_eq(f->switch_count, plain->switch_count);
    ck_assert_uint_eq(f->node_count, plain->node_count + plain->switch_count);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        ck_assert_uint_eq(f->nodes[sw].num_ports, 41);
        const struct fab_node *n =
            &f->nodes[fab_fabric_peer_node(f, fab_fabric_port_id(f, sw, 41))];
        ck_assert(n->aggregation);
        ck_assert_uint_eq(n->info.device_id, 0xcf09);
        ck_assert_str_eq(n->desc, "Mellanox Technologies Aggregation Node");
    }
    /* a second variation must not add further aggregation nodes */
    assert_same_fabric(f, again);
    fab_fabric_unref(plain);
    fab_fabric_unref(f);
    fab_fabric_unref(again);
}
END_TEST

START_TEST(missing_cables_leave_it_in_one_piece)
{
    uint64_t seed = test_seed("missing", 900 + (uint64_t)_i);
    struct fab_fabric *plain = random_fabric(40, 6, 2, seed);
    struct fab_variation d = {.missing = 20, .missing_ppm = 250000, .seed = seed};
    uint32_t trunks = 0;
    for (uint32_t p = 0; p < plain->port_count; p++)
        trunks += fab_fabric_node_is_switch(plain, fab_fabric_port(plain, p)->node) &&
                  fab_fabric_port(plain, p)->peer != FAB_NONE &&
                  fab_fabric_node_is_switch(plain, fab_fabric_peer_node(plain, p));
    trunks /= 2;
    struct fab_fabric *f = dressed(plain, &d), *again = dressed(plain, &d);
    ck_assert_uint_eq(f->link_count, plain->link_count - 20 - (trunks + 2) / 4);
    ck_assert_uint_eq(f->node_count, plain->node_count);
    ck_assert(in_one_piece(f));
    assert_same_fabric(f, again);
    d.seed++;
    struct fab_fabric *other = dressed(plain, &d);
    struct fab_change *changes;
    size_t count;
    ck_assert_int_eq(fab_fabric_diff(f, other, &changes, &count), FAB_OK);
    ck_assert_uint_gt(count, 0);
    free(changes);
    fab_fabric_unref(plain);
    fab_fabric_unref(f);
    fab_fabric_unref(again);
    fab_fabric_unref(other);
}
END_TEST

/* The links of a spanning tree must remain, so the number of missing links has a limit. One more
 * link can be removed only if allow_partitioned is set. */
START_TEST(missing_cables_have_an_end)
{
    struct fab_fabric *plain = leaf_spine(6, 4, 2), *f;
    struct fab_variation d = {.missing = 24 - 9, .seed = 3};
    f = dressed(plain, &d);
    ck_assert(in_one_piece(f));
    ck_assert_uint_eq(f->link_count, 12 + 9);
    fab_fabric_unref(f);
    d.missing++;
    assert_refused(plain, &d, FAB_E_LIMIT);
    d.allow_partitioned = true;
    f = dressed(plain, &d);
    ck_assert(!in_one_piece(f));
    fab_fabric_unref(f);
    d.missing = 25;
    assert_refused(plain, &d, FAB_E_LIMIT);
    d = (struct fab_variation){.missing_ppm = 1000001, .allow_partitioned = true};
    assert_refused(plain, &d, FAB_E_RANGE);
    d.missing_ppm = 1000000;
    f = dressed(plain, &d);
    ck_assert_uint_eq(f->link_count, 12);
    fab_fabric_unref(f);
    fab_fabric_unref(plain);
}
END_TEST

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The nodes exchange their GUIDs at random. Names, links and the set of all GUIDs stay the same. */
START_TEST(guids_are_shuffled)
{
    struct fab_fabric *plain = leaf_spine(10, 4, 3);
    struct fab_fabric *f =
        dressed(plain, &(struct fab_variation){.shuffle_guids = true, .seed = 5});
    uint64_t x[44], y[44];
    uint32_t moved = 0;
    ck_assert_uint_eq(f->node_count, 44);
    for (uint32_t n = 0; n < 44; n++) {
        x[n] = plain->nodes[n].guid;
        y[n] = f->nodes[n].guid;
        moved += strcmp(plain->nodes[n].desc, f->nodes[n].desc) != 0;
        ck_assert_int_eq(fab_fabric_node_is_switch(f, n), f->nodes[n].type == FAB_NODE_SWITCH);
    }
    ck_assert_uint_gt(moved, 20);
    qsort(x, 44, sizeof *x, by_value);
    qsort(y, 44, sizeof *y, by_value);
    ck_assert_mem_eq(x, y, sizeof x);
    ck_assert_uint_eq(f->link_count, plain->link_count);
    fab_fabric_unref(plain);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(planes_have_names_and_guids_of_their_own)
{
    struct fab_fabric *plain = leaf_spine(3, 2, 2);
    struct fab_variation d = {.plane = 2, .aggregation = true};
    struct fab_fabric *f = dressed(plain, &d);
    ck_assert_str_eq(f->nodes[0].desc, "p2-leaf-001");
    ck_assert_str_eq(f->nodes[5].desc, "host-0001/p2");
    ck_assert_str_eq(f->nodes[15].desc, "Mellanox Technologies Aggregation Node");
    for (uint32_t n = 0; n < f->node_count; n++)
        ck_assert_uint_eq(fab_fabric_node_by_guid(plain, f->nodes[n].guid), FAB_NONE);
    d.plane = 256;
    assert_refused(plain, &d, FAB_E_RANGE);
    fab_fabric_unref(plain);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(cables_have_the_rate_that_is_asked_for)
{
    struct fab_fabric *plain = leaf_spine(3, 2, 2);
    struct fab_port_info rate;
    ck_assert_int_eq(fab_fabric_text_parse_rate("2xNDR", 5, &rate), FAB_OK);
    struct fab_fabric *f =
        dressed(plain, &(struct fab_variation){.rate = &rate, .aggregation = true});
    for (uint32_t p = 0; p < f->port_count; p++)
        if (fab_fabric_port(f, p)->peer != FAB_NONE)
            ck_assert_uint_eq(fab_wire_link_rate(&fab_fabric_port(f, p)->info), 200000);
    fab_fabric_unref(plain);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(switches_have_limits)
{
    struct fab_fabric *plain = leaf_spine(3, 2, 2), *full = leaf_spine(1, 0, 254);
    struct fab_variation few = {.radix = 3}, many = {.radix = 255},
                         one_more = {.aggregation = true};
    assert_refused(plain, &few, FAB_E_RANGE);
    assert_refused(plain, &many, FAB_E_RANGE);
    assert_refused(full, &one_more, FAB_E_RANGE);
    fab_fabric_unref(plain);
    fab_fabric_unref(full);
}
END_TEST

/* Routes a fabric that is like a real cluster, with aggregation nodes at all switches, missing
 * links, and GUIDs in no order. */
START_TEST(what_is_dressed_is_routed)
{
    struct fab_policy policy;
    fab_policy_defaults(&policy);
    struct fab_rail_spec spec = {64, 8, 16, 4, 2, 2, 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_rail(&spec, &b), FAB_OK);
    struct fab_fabric *plain = sealed(b);
    struct fab_fabric *f = dressed(plain, &(struct fab_variation){.aggregation = true,
                                                                  .missing_ppm = 50000,
                                                                  .shuffle_guids = true,
                                                                  .radix = 64,
                                                                  .seed = 11});
    struct fab_target *t = routed(f, &policy);
    struct fab_verdict v = proven(f, t, 63);
    assert_good(f, &v, "a cluster by rails");
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    fab_policy_fini(&policy);
    fab_fabric_unref(plain);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fabric/variation");
    TCase *tc = tcase_create("variation");
    tcase_add_test(tc, nothing_asked_for_changes_nothing);
    tcase_add_test(tc, each_switch_gets_an_aggregation_node);
    tcase_add_loop_test(tc, missing_cables_leave_it_in_one_piece, 0, 5);
    tcase_add_test(tc, missing_cables_have_an_end);
    tcase_add_test(tc, guids_are_shuffled);
    tcase_add_test(tc, planes_have_names_and_guids_of_their_own);
    tcase_add_test(tc, cables_have_the_rate_that_is_asked_for);
    tcase_add_test(tc, switches_have_limits);
    tcase_add_test(tc, what_is_dressed_is_routed);
    tcase_set_timeout(tc, 30);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
