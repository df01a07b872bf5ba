/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees, while members join and leave, and links and switches fail and return. A packet
 * from each member must reach every other member exactly once, and no other port.
 */
#include "libfabmgr/mcast/distances.h"
#include "tests/unit/mcast_world.h"

static void live(struct fab_fabric *f, uint64_t seed, unsigned steps)
{
    struct world w;
    world_init(&w, f, seed);
    for (unsigned step = 0; step < steps; step++) {
        judge(&w, fab_base_prng_chance(&w.r, 0.25) ? change_fabric(&w) : change_member(&w));
    }
    all_leave(&w);
    assert_nothing_left(&w);
    world_fini(&w);
}

/* Makes about 10,000 random changes on several fabrics. */
START_TEST(every_member_is_reached_once_through_all_changes)
{
    uint64_t seed = test_seed("whoever_joins_leaves_or_fails", 1);
    for (unsigned i = 0; i < 14; i++)
        live(random_fabric(10 + i, 4, 1 + i % 3, seed + i), seed + i, 500);
    live(leaf_spine(6, 4, 4), seed, 1500);
    live(leaf_spine(4, 1, 3), seed, 500);
    /* an MFT block is for 16 ports, so these switches need three blocks for each MLID */
    live(leaf_spine(2, 1, 36), seed, 300);
    struct fab_torus_spec torus = {.dimensions = 2, .size = {4, 4}, .hosts = 1, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_torus(&torus, &b), FAB_OK);
    live(sealed(b), seed, 1000);
}
END_TEST

/* ---- single things --------------------------------------------------------------------------- */

static uint32_t differences(const struct fab_blocks *a, const struct fab_blocks *b)
{
    uint32_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        for (unsigned k = 0; k < FAB_BLOCK_ENTRIES; k++)
            if (b->block[i].entry[k] != at(a, b->block[i].id, b->block[i].number, k)) {
                count++;
                break;
            }
    return count;
}

START_TEST(a_join_moves_its_branch_only)
{
    struct world w;
    struct fab_blocks before;
    world_init(&w, leaf_spine(6, 3, 4), 1);
    /* the last members are the 24 hosts, in the order of their leaves, with four at each leaf */
    uint32_t host = w.ends - 24;
    join(&w, host, 0, 1);
    join(&w, host + 4, 0, 1);
    ck_assert_int_eq(fab_target_blocks_copy(fab_mcast_trees_tables(w.trees), &before), FAB_OK);
    join(&w, host + 8, 0, 1); /* two switches change: the leaf of this host, and the spine */
    ck_assert_uint_eq(differences(&before, fab_mcast_trees_tables(w.trees)), 2);
    /* no other switch changes, because another member is at the same leaf */
    join(&w, host + 9, 0, 1);
    ck_assert_uint_eq(differences(&before, fab_mcast_trees_tables(w.trees)), 2);
    leave(&w, host + 9, 0);
    leave(&w, host + 8, 0);
    ck_assert_uint_eq(differences(&before, fab_mcast_trees_tables(w.trees)), 0);
    /* now both members are at the same leaf, so only this leaf has entries */
    leave(&w, host + 4, 0);
    join(&w, host + 1, 0, 1);
    uint32_t used = 0;
    const struct fab_blocks *t = fab_mcast_trees_tables(w.trees);
    for (size_t i = 0; i < t->count; i++)
        used += t->block[i].entry[(mlid_of(0) - FAB_MLID_FIRST) % 32] != 0;
    ck_assert_uint_eq(used, 1);
    fab_target_blocks_fini(&before);
    world_fini(&w);
}
END_TEST

/* A spine whose MFT has few entries cannot forward high MLIDs, so trees of high MLIDs avoid it as
 * the root and on their branches. The distances around it are stored for the next call, together
 * with the root and the MLID. They must not be used for another root or MLID. */
START_TEST(high_mlids_go_round_small_tables)
{
    enum { U = FAB_MCAST_UNREACHED };
    struct fab_mcast_net *net = NULL;
    struct fab_mcast_distances d;
    struct fab_fabric *plain = leaf_spine(3, 2, 1), *f;
    ck_assert_int_eq(fab_fabric_clone(plain, &f), FAB_OK);
    fab_fabric_unref(plain);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        f->switches[sw].multicast_fdb_cap = sw == 3 ? 64 : sw == 0 ? 128 : 256;
    ck_assert_int_eq(fab_mcast_net_new(f, &net), FAB_OK);
    ck_assert_int_eq(fab_mcast_distances_init(&d, net), FAB_OK);
    ck_assert_uint_eq(d.least, 64);
    const struct {
        uint32_t root, slot;
        /* by switch: leaves 0 to 2, then spines 3 and 4 */
        uint16_t hops[5];
    } rows[] = {
        {1, 63, {2, 0, 2, 1, 1}},  {1, 64, {2, 0, 2, U, 1}}, {2, 64, {2, 2, 0, U, 1}},
        {2, 128, {U, 2, 0, U, 1}}, {2, 64, {2, 2, 0, U, 1}}, {1, 64, {2, 0, 2, U, 1}},
        {3, 64, {U, U, U, U, U}},  {1, 64, {2, 0, 2, U, 1}}, {3, 63, {1, 1, 1, 0, 2}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint16_t *hops = fab_mcast_distances_to(&d, rows[i].root, rows[i].slot);
        for (uint32_t sw = 0; sw < 5; sw++)
            ck_assert_msg(hops[sw] == rows[i].hops[sw], "row %zu: switch %u: %u", i, sw, hops[sw]);
        if (rows[i].slot >= d.least) {
            /* the distances are now stored for this root and this MLID */
            ck_assert_uint_eq(d.avoid_root, rows[i].root);
            ck_assert_uint_eq(d.avoid_slot, rows[i].slot);
        }
    }
    fab_mcast_distances_fini(&d);
    fab_mcast_net_free(net);
    fab_fabric_unref(f);
}
END_TEST

/* All spines of a leaf-spine fabric are core switches. If there are more than 64 spines, 64 of them
 * may be roots, spread evenly over the ids. */
START_TEST(at_most_64_switches_are_roots)
{
    static const uint32_t spines[] = {1, 63, 64, 65, 127, 128, 200};
    for (size_t i = 0; i < sizeof(spines) / sizeof(spines[0]); i++) {
        struct fab_fabric *f = leaf_spine(2, spines[i], 1);
        struct fab_mcast_net *net = NULL;
        struct fab_mcast_distances d;
        uint32_t roots = 0, gap = 0;
        ck_assert_int_eq(fab_mcast_net_new(f, &net), FAB_OK);
        ck_assert_int_eq(fab_mcast_distances_init(&d, net), FAB_OK);
        ck_assert_uint_eq(f->switch_count, 2 + spines[i]);
        for (uint32_t sw = 0; sw < f->switch_count; sw++) {
            bool root = fab_base_bits_get(d.core, sw);
            ck_assert(sw >= 2 || !root); /* the leaves have the lowest ids */
            gap = sw < 2 || root ? 0 : gap + 1;
            ck_assert_uint_lt(gap, (spines[i] + 63) / 64);
            roots += root;
        }
        ck_assert_uint_eq(roots, spines[i] < 64 ? spines[i] : 64);
        fab_mcast_distances_fini(&d);
        fab_mcast_net_free(net);
        fab_fabric_unref(f);
    }
}
END_TEST

START_TEST(what_did_not_fail_stays)
{
    struct world w;
    struct fab_blocks before;
    world_init(&w, leaf_spine(6, 3, 4), 1);
    uint32_t host = w.ends - 24;
    for (uint32_t i = 0; i < 24; i += 2)
        join(&w, host + i, i / 2 % GROUPS, 1);
    ck_assert_int_eq(fab_target_blocks_copy(fab_mcast_trees_tables(w.trees), &before), FAB_OK);
    look(&w); /* a new snapshot of an unchanged fabric */
    ck_assert_uint_eq(differences(&before, fab_mcast_trees_tables(w.trees)), 0);
    ck_assert_uint_eq(differences(fab_mcast_trees_tables(w.trees), &before), 0);
    fab_target_blocks_fini(&before);
    world_fini(&w);
}
END_TEST

START_TEST(roots_are_used_alike)
{
    struct world w;
    struct fab_blocks before = {0};
    uint32_t used[3] = {0};
    world_init(&w, leaf_spine(6, 3, 4), 1);
    uint32_t host = w.ends - 24;
    for (uint32_t mlid = 0; mlid < 30; mlid++)
        for (uint32_t i = 0; i < 24; i += 5)
            ck_assert_int_eq(fab_mcast_trees_join(w.trees, (uint16_t)(FAB_MLID_FIRST + mlid),
                                                  guid_of(&w, host + i), true),
                             FAB_OK);
    /* spines are the switches without hosts */
    for (uint32_t sw = 0, spine = 0; sw < w.now->switch_count; sw++) {
        bool leaf = false;
        for (uint32_t num = 1; num <= w.now->nodes[sw].num_ports; num++)
            leaf |= fab_fabric_peer_node(w.now, w.now->nodes[sw].first_port + num) >=
                        w.now->switch_count &&
                    fab_fabric_port(w.now, w.now->nodes[sw].first_port + num)->peer != FAB_NONE;
        for (unsigned k = 0; !leaf && k < 30; k++)
            used[spine] += at(fab_mcast_trees_tables(w.trees), sw, 0, k) != 0;
        spine += !leaf;
    }
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(used[i], 10);
    fab_target_blocks_fini(&before);
    world_fini(&w);
}
END_TEST

START_TEST(the_smallest_table_counts)
{
    struct fab_fabric *f = leaf_spine(2, 2, 2), *small;
    struct fab_mcast_trees *t;
    uint32_t sw;
    ck_assert_int_eq(fab_fabric_clone(f, &small), FAB_OK);
    small->switches[2].multicast_fdb_cap = 5;
    ck_assert_int_eq(fab_mcast_trees_new(small, &t), FAB_OK);
    ck_assert_uint_eq(fab_mcast_trees_room(t, &sw), 5);
    ck_assert_uint_eq(sw, 2);
    uint64_t guid = fab_fabric_port(small, small->nodes[4].first_port + 1)->guid;
    ck_assert_int_eq(fab_mcast_trees_join(t, FAB_MLID_FIRST + 4, guid, true), FAB_OK);
    ck_assert_int_eq(fab_mcast_trees_join(t, FAB_MLID_FIRST + 5, guid, true), FAB_E_RANGE);
    ck_assert_int_eq(fab_mcast_trees_join(t, FAB_MLID_FIRST - 1, guid, true), FAB_E_RANGE);
    ck_assert_int_eq(fab_mcast_trees_leave(t, FAB_MLID_FIRST, guid, true), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_mcast_trees_leave(t, FAB_MLID_FIRST + 4, guid, false), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_mcast_trees_join(t, FAB_MLID_FIRST + 4, 12345, true),
                     FAB_OK); /* no port has this GUID */
    ck_assert_uint_eq(fab_mcast_trees_missing(t, FAB_MLID_FIRST + 4), 1);
    fab_mcast_trees_free(t);
    fab_fabric_unref(small);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees");
    TCase *tcase = tcase_create("trees");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_member_is_reached_once_through_all_changes);
    tcase_add_test(tcase, a_join_moves_its_branch_only);
    tcase_add_test(tcase, high_mlids_go_round_small_tables);
    tcase_add_test(tcase, at_most_64_switches_are_roots);
    tcase_add_test(tcase, what_did_not_fail_stays);
    tcase_add_test(tcase, roots_are_used_alike);
    tcase_add_test(tcase, the_smallest_table_counts);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
