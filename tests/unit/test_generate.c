/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generated fabrics: the counts and links of trees, names that sort in the order of their numbers,
 * and limits. Random fabrics must be connected, irregular, and the same for the same seed.
 */
#include "libfabmgr/fabric/generate.h"

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/fabrics.h"

#include <string.h>

static uint32_t count_reached(const struct fab_fabric *f)
{
    uint32_t *queue = calloc((size_t)f->node_count + 1, sizeof *queue), head = 0, tail = 1;
    uint64_t *seen = fab_base_bits_new(f->node_count);
    fab_base_bits_set(seen, 0);
    while (head < tail) {
        const struct fab_node *n = &f->nodes[queue[head++]];
        for (uint32_t i = 1; i <= n->num_ports; i++) {
            uint32_t peer = fab_fabric_peer_node(f, n->first_port + i);
            if (peer != FAB_NONE && fab_base_bits_add(seen, peer))
                queue[tail++] = peer;
        }
    }
    free(queue);
    free(seen);
    return tail;
}

static uint32_t count_trunks(const struct fab_fabric *f)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < f->port_count; p++)
        count += fab_fabric_port(f, p)->peer != FAB_NONE && fab_fabric_port(f, p)->peer > p &&
                 fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node) &&
                 fab_fabric_node_is_switch(f, fab_fabric_peer_node(f, p));
    return count;
}

static const char *peer_desc(const struct fab_fabric *f, uint32_t node, uint8_t port)
{
    uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, port));
    return peer == FAB_NONE ? "" : f->nodes[peer].desc;
}

/* ---- leaf and spine -------------------------------------------------------------------------- */

START_TEST(leaf_spine_is_cabled_as_it_says)
{
    struct fab_leaf_spine_spec spec = {3, 2, 4, 2, 0};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&spec, &b), FAB_OK);
    struct fab_fabric *f = sealed(b);
    assert_sound(f);
    ck_assert_uint_eq(f->switch_count, 5);
    ck_assert_uint_eq(f->node_count, 5 + 12);
    ck_assert_uint_eq(f->link_count, 12 + 3 * 2 * 2);
    ck_assert_uint_eq(count_trunks(f), 12);
    ck_assert_uint_eq(f->nodes[0].num_ports, 8);
    ck_assert_uint_eq(f->nodes[4].num_ports, 6);
    ck_assert_str_eq(f->nodes[0].desc, "leaf-001");
    ck_assert_str_eq(f->nodes[4].desc, "spine-002");
    ck_assert_str_eq(f->nodes[5].desc, "host-0001");
    ck_assert_str_eq(f->nodes[16].desc, "host-0012");
    ck_assert_str_eq(peer_desc(f, 1, 1), "host-0005");
    ck_assert_str_eq(peer_desc(f, 1, 5), "spine-001");
    ck_assert_str_eq(peer_desc(f, 1, 6), "spine-001");
    ck_assert_str_eq(peer_desc(f, 1, 7), "spine-002");
    ck_assert_str_eq(peer_desc(f, 3, 3), "leaf-002");
    fab_fabric_unref(f);
}
END_TEST

static const struct {
    struct fab_leaf_spine_spec spec;
    int status;
} leaf_spines[] = {
    {{1, 0, 1, 1, 0}, FAB_OK},
    {{1, 1, 0, 1, 0}, FAB_OK},
    {{2, 1, 253, 1, 0}, FAB_OK},
    {{2, 1, 4, 1, 36}, FAB_OK},
    {{254, 127, 127, 1, 0}, FAB_OK},
    {{0, 1, 1, 1, 0}, FAB_E_RANGE},
    {{2, 0, 1, 1, 0}, FAB_E_RANGE},
    {{2, 1, 1, 0, 0}, FAB_E_RANGE},
    {{1, 0, 0, 1, 0}, FAB_E_RANGE},
    {{2, 1, 254, 1, 0}, FAB_E_RANGE},
    {{255, 1, 1, 1, 0}, FAB_E_RANGE},
    {{128, 1, 1, 2, 0}, FAB_E_RANGE},
    {{2, 1, 4, 1, 4}, FAB_E_RANGE},
    {{2, 1, 4, 1, 255}, FAB_E_RANGE},
    {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, FAB_E_RANGE},
    {{1u << 31, 1, 1, 2, 0}, FAB_E_RANGE},
};

START_TEST(leaf_spine_has_limits)
{
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_leaf_spine(&leaf_spines[_i].spec, &b),
                     leaf_spines[_i].status);
    ck_assert_int_eq(b != NULL, leaf_spines[_i].status == FAB_OK);
    fab_fabric_builder_free(b);
}
END_TEST

/* ---- fat trees ------------------------------------------------------------------------------- */

static const struct {
    struct fab_fat_tree_spec spec;
    uint32_t hosts, switches, trunks;
} trees[] = {
    {{8, 1, 1, 1}, 8, 1, 0},
    {{4, 2, 1, 1}, 8, 6, 8},
    {{4, 3, 1, 1}, 16, 20, 32},
    {{8, 3, 1, 1}, 128, 80, 256},
    {{8, 4, 0, 1}, 512, 448, 1536},
    {{36, 2, 1, 1}, 648, 54, 648},
    {{24, 3, 1, 1}, 3456, 720, 6912},
    {{36, 3, 1, 1}, 11664, 1620, 23328},
    {{36, 2, 2, 1}, 36 * 24, 36 + 12, 36 * 12},
    {{36, 2, 3, 1}, 36 * 27, 36 + 9, 36 * 9},
    {{12, 3, 2, 1}, 6 * 12 * 8, 72 + 12 * 4 + 24, 72 * 4 + 48 * 6},
    {{36, 2, 1, 3}, 216, 12 + 6, 12 * 18},
    {{8, 3, 1, 2}, 32, 8 + 8 + 4, 8 * 4 + 8 * 4},
    {{8, 3, 1, 4}, 8, 2 + 2 + 1, 2 * 4 + 2 * 4},
    {{7, 2, 1, 3}, 6, 2 + 1, 6},
    {{254, 2, 1, 127}, 254, 2 + 1, 254},
};

START_TEST(fat_trees_have_their_counts)
{
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&trees[_i].spec, &b), FAB_OK);
    struct fab_fabric *f = sealed(b);
    ck_assert_uint_eq(f->switch_count, trees[_i].switches);
    ck_assert_uint_eq(f->node_count - f->switch_count, trees[_i].hosts);
    ck_assert_uint_eq(count_trunks(f), trees[_i].trunks);
    ck_assert_uint_eq(count_reached(f), f->node_count);
    assert_sound(f);
    fab_fabric_unref(f);
}
END_TEST

/* All leaves of a pod are connected to the same spines, by one link to each spine. */
START_TEST(fat_tree_ranks_are_what_they_seem)
{
    struct fab_fat_tree_spec spec = {4, 3, 1, 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&spec, &b), FAB_OK);
    struct fab_fabric *f = sealed(b);
    ck_assert_str_eq(f->nodes[0].desc, "leaf-001");
    ck_assert_str_eq(f->nodes[8].desc, "spine-001");
    ck_assert_str_eq(f->nodes[16].desc, "core-001");
    ck_assert_str_eq(peer_desc(f, 0, 1), "host-0001");
    ck_assert_str_eq(peer_desc(f, 0, 3), "spine-001");
    ck_assert_str_eq(peer_desc(f, 0, 4), "spine-002");
    ck_assert_str_eq(peer_desc(f, 1, 3), "spine-001");
    ck_assert_str_eq(peer_desc(f, 2, 3), "spine-003");
    ck_assert_str_eq(peer_desc(f, 8, 3), "core-001");
    ck_assert_str_eq(peer_desc(f, 8, 4), "core-003");
    ck_assert_str_eq(peer_desc(f, 9, 3), "core-002");
    /* core-001 has one link to each of the four pods */
    for (uint8_t port = 1; port <= 4; port++)
        ck_assert_uint_eq((fab_fabric_peer_node(f, fab_fabric_port_id(f, 16, port)) - 8) / 2,
                          port - 1u);
    fab_fabric_unref(f);
}
END_TEST

static const struct fab_fat_tree_spec no_trees[] = {
    {1, 2, 1, 1},  {255, 2, 1, 1},         {36, 0, 1, 1},          {36, 7, 1, 1},
    {4, 2, 4, 1},  {36, 2, UINT32_MAX, 1}, {254, 4, 1, 1},         {0, 0, 0, 1},
    {36, 2, 1, 4}, {36, 2, 1, 36},         {36, 2, 1, UINT32_MAX}, {36, 2, 8, 5},
};

START_TEST(fat_trees_have_limits)
{
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_fat_tree(&no_trees[_i], &b), FAB_E_RANGE);
    ck_assert_ptr_null(b);
}
END_TEST

/* ---- random fabrics -------------------------------------------------------------------------- */

START_TEST(random_fabrics_are_connected_and_repeatable)
{
    uint64_t seed = test_seed("random", 500 + (uint64_t)_i);
    uint32_t switches = 1 + (uint32_t)_i;
    struct fab_fabric *f = random_fabric(switches, 4, 3, seed),
                      *g = random_fabric(switches, 4, 3, seed);
    ck_assert_uint_eq(f->switch_count, switches);
    ck_assert_uint_eq(count_reached(f), f->node_count);
    assert_sound(f);
    assert_same_fabric(f, g);
    fab_fabric_unref(f);
    fab_fabric_unref(g);
}
END_TEST

struct features {
    bool parallel, two_ports, bare_port, aggregation, router, ordinary;
};

static void note_parallel(const struct fab_fabric *f, uint32_t n, struct features *seen)
{
    for (uint32_t i = 1; i <= f->nodes[n].num_ports; i++)
        for (uint32_t j = 1; j < i; j++) {
            uint32_t x = fab_fabric_peer_node(f, f->nodes[n].first_port + i);
            uint32_t y = fab_fabric_peer_node(f, f->nodes[n].first_port + j);
            seen->parallel |= x == y && x != FAB_NONE && fab_fabric_node_is_switch(f, x);
        }
}

static void note_features(const struct fab_fabric *f, struct features *seen)
{
    uint32_t aggregation = 0;
    for (uint32_t n = 0; n < f->switch_count; n++)
        note_parallel(f, n, seen);
    for (uint32_t n = f->switch_count; n < f->node_count; n++) {
        const struct fab_node *node = &f->nodes[n];
        aggregation += node->aggregation;
        seen->router |= node->type == FAB_NODE_ROUTER;
        seen->two_ports |= node->num_ports == 2;
        seen->bare_port |=
            node->num_ports == 2 && fab_fabric_port(f, node->first_port + 2)->peer == FAB_NONE;
    }
    ck_assert(aggregation == 0 || aggregation == f->switch_count);
    seen->aggregation |= aggregation > 0;
    seen->ordinary |= aggregation == 0;
}

START_TEST(random_fabrics_are_awkward)
{
    struct features seen = {0};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct fab_fabric *f = random_fabric(10, 5, 3, seed);
        note_features(f, &seen);
        fab_fabric_unref(f);
    }
    ck_assert(seen.parallel && seen.two_ports && seen.bare_port);
    ck_assert(seen.aggregation && seen.router && seen.ordinary);
}
END_TEST

START_TEST(random_fabrics_have_limits)
{
    struct fab_random_spec bad[] = {
        {0, 4, 4, 1}, {4, 255, 4, 1}, {4, 4, 255, 1}, {4, 4, 254, 1}, {UINT32_MAX, 254, 254, 1}};
    struct fab_builder *b = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(fab_fabric_generate_random(&bad[i], &b), FAB_E_RANGE);
    ck_assert_ptr_null(b);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

int main(void)
{
    Suite *suite = suite_create("fabric/generate");
    TCase *tree = tcase_create("trees"), *random = tcase_create("random");
    tcase_add_test(tree, leaf_spine_is_cabled_as_it_says);
    tcase_add_loop_test(tree, leaf_spine_has_limits, 0, COUNT(leaf_spines));
    tcase_add_loop_test(tree, fat_trees_have_their_counts, 0, COUNT(trees));
    tcase_add_test(tree, fat_tree_ranks_are_what_they_seem);
    tcase_add_loop_test(tree, fat_trees_have_limits, 0, COUNT(no_trees));
    tcase_add_loop_test(random, random_fabrics_are_connected_and_repeatable, 0, 20);
    tcase_add_test(random, random_fabrics_are_awkward);
    tcase_add_test(random, random_fabrics_have_limits);
    tcase_set_timeout(tree, 60);
    suite_add_tcase(suite, tree);
    suite_add_tcase(suite, random);
    return test_run(suite);
}
