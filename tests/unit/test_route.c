/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of routing on thousands of fabrics: trees of two to four levels with and without
 * damage, rings, grids, tori and random topologies, hosts and aggregation nodes at spines,
 * partitioned fabrics, and ports with several LIDs.
 */
#include "libfabmgr/route/updown/switch_order.h"
#include "tests/unit/fabric_sets.h"
#include "tests/unit/naive.h"

#define RANDOM_FABRICS test_rounds(1500)
#define DAMAGED_TREES test_rounds(600)

static struct fab_policy defaults(uint8_t lmc)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.lmc = lmc;
    return p;
}

/* Checks the tables of the default engine for f. Takes over f. */
static void check_fabric(struct fab_fabric *f, uint8_t lmc, const char *what, void *ctx)
{
    (void)ctx;
    struct fab_policy p = defaults(lmc);
    struct fab_target *t = routed(f, &p);
    struct fab_verdict v = proven(f, t, 255);
    assert_good(f, &v, what);
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

START_TEST(random_fabrics_are_proven)
{
    fabric_set_random(RANDOM_FABRICS, 1, check_fabric, NULL);
}
END_TEST

START_TEST(damaged_trees_are_proven)
{
    fabric_set_trees(DAMAGED_TREES, 2, check_fabric, NULL);
}
END_TEST

START_TEST(grids_and_rings_are_proven)
{
    fabric_set_grids(check_fabric, NULL);
}
END_TEST

START_TEST(families_are_proven)
{
    fabric_set_families(8, check_fabric, NULL);
}
END_TEST

START_TEST(modern_trees_are_proven)
{
    fabric_set_modern(test_rounds(200), 3, check_fabric, NULL);
}
END_TEST

/* ---- quality --------------------------------------------------------------------------------- */

/* Whichever switch is the root, paths between hosts of the tree must be as short as the links
 * permit. */
static void assert_shortest(const struct fab_fabric *f, const struct fab_target *t,
                            uint32_t longest)
{
    struct fab_verify_input in = {.fabric = f, .lids = &t->lids, .lft = &t->lft, .max_hops = 64};
    for (uint32_t src = 0; src < f->port_count; src++) {
        for (uint32_t dst = 0; dst < f->port_count; dst++) {
            struct fab_verify_trace trace;
            uint32_t a = fab_fabric_port(f, src)->node, b = fab_fabric_port(f, dst)->node;
            if (a < f->switch_count || b < f->switch_count || f->nodes[a].aggregation ||
                f->nodes[b].aggregation || t->lids.base[src] == 0 || t->lids.base[dst] == 0)
                continue;
            ck_assert_int_eq(fab_verify_trace(&in, src, t->lids.base[dst], &trace), FAB_OK);
            ck_assert_uint_le(trace.count, longest + 1);
            fab_verify_trace_fini(&trace);
        }
    }
}

START_TEST(trees_keep_shortest_paths)
{
    struct fab_policy p = defaults(0);
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("trees keep shortest ways", 4));
    struct fab_fabric *trees[] = {modern_tree(8, 4, 4, 0, 2), modern_tree(8, 4, 6, 1, 1),
                                  fat_tree(8, 3, 1), NULL};
    uint32_t longest[] = {3, 3, 5};
    for (unsigned i = 0; trees[i] != NULL; i++) {
        struct fab_fabric *f = retold(trees[i], &prng, i + 1);
        struct fab_target *t = routed(f, &p);
        assert_shortest(f, t, longest[i]);
        fab_target_unref(t);
        fab_fabric_unref(f);
        fab_fabric_unref(trees[i]);
    }
}
END_TEST

/* If some links are missing all over a tree, paths must stay as short as in the whole tree.
 * single_root.c makes this possible: it adds the affected switches one by one, and uses no levels
 * below a single root. */
START_TEST(a_damaged_tree_stays_a_tree)
{
    struct fab_policy p = defaults(0);
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("a damaged tree stays a tree", 5));
    for (unsigned i = 0; i < 20; i++) {
        struct fab_fabric *f = damaged(fat_tree(12, 3, 1), &prng, 0.03, 0);
        struct fab_target *t = routed(f, &p);
        assert_shortest(f, t, 5);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
}
END_TEST

struct balance {
    uint64_t most, least, sum, channels;
};

static struct balance balance_of(const struct fab_fabric *f, const struct fab_target *t)
{
    struct fab_verify_input in = {.fabric = f, .lids = &t->lids, .lft = &t->lft, .max_hops = 64};
    uint64_t *load = calloc(f->port_count, sizeof(*load));
    struct balance b = {.least = UINT64_MAX};
    for (uint32_t src = 0; src < f->port_count; src++) {
        for (uint32_t dst = 0; dst < f->port_count; dst++) {
            struct fab_verify_trace trace;
            if (src == dst || fab_fabric_port(f, src)->node < f->switch_count ||
                fab_fabric_port(f, dst)->node < f->switch_count || t->lids.base[src] == 0 ||
                t->lids.base[dst] == 0)
                continue;
            ck_assert_int_eq(fab_verify_trace(&in, src, t->lids.base[dst], &trace), FAB_OK);
            for (uint32_t i = 0; i < trace.count; i++)
                load[trace.ports[i]]++;
            fab_verify_trace_fini(&trace);
        }
    }
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (!naive_is_channel(f, port))
            continue;
        b.channels++;
        b.sum += load[port];
        b.most = load[port] > b.most ? load[port] : b.most;
        b.least = load[port] < b.least ? load[port] : b.least;
    }
    free(load);
    return b;
}

/* D-mod-k numbers the leaves by their positions in the tree. Other GUIDs must not unbalance the
 * loads. */
START_TEST(a_tree_is_balanced)
{
    struct fab_policy p = defaults(0);
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("a tree is balanced", 6));
    for (unsigned i = 0; i < 6; i++) {
        struct fab_fabric *plain = i % 2 == 0 ? fat_tree(8, 3, 1) : fat_tree(6, 3, 2);
        struct fab_fabric *f = retold(plain, &prng, i);
        struct fab_target *t = routed(f, &p);
        struct balance b = balance_of(f, t);
        ck_assert_msg(b.most * b.channels * 100 <= b.sum * 115,
                      "round %u: max %" PRIu64 ", mean %.1f", i, b.most,
                      (double)b.sum / (double)b.channels);
        ck_assert_uint_gt(b.least, 0);
        fab_target_unref(t);
        fab_fabric_unref(f);
        fab_fabric_unref(plain);
    }
}
END_TEST

/* ---- equal tables ---------------------------------------------------------------------------- */

static void assert_same_tables(const struct fab_target *a, const struct fab_target *b)
{
    ck_assert_uint_eq(a->lids.top, b->lids.top);
    ck_assert_uint_eq(a->lft.stride, b->lft.stride);
    ck_assert_uint_eq(a->lft.switch_count, b->lft.switch_count);
    ck_assert_mem_eq(a->lids.base, b->lids.base, a->lids.port_count * sizeof(*a->lids.base));
    ck_assert_mem_eq(a->lft.entries, b->lft.entries, a->lft.switch_count * a->lft.stride);
}

START_TEST(the_order_of_discovery_changes_nothing)
{
    struct fab_policy p = defaults(0);
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("order of discovery", 7));
    for (unsigned i = 0; i < test_rounds(150); i++) {
        struct fab_fabric *f =
            i % 3 == 0 ? fat_tree(6, 3, 1)
                       : random_fabric(2 + i % 30, 3 + i % 4, i % 4, fab_base_prng_next(&prng));
        struct fab_fabric *again = retold(f, &prng, 0);
        struct fab_target *a = routed(f, &p), *b = routed(again, &p);
        assert_same_tables(a, b);
        fab_target_unref(a);
        fab_target_unref(b);
        fab_fabric_unref(f);
        fab_fabric_unref(again);
    }
}
END_TEST

START_TEST(a_restored_link_restores_the_tables)
{
    struct fab_policy p = defaults(0);
    struct fab_fabric *f = fat_tree(6, 3, 1);
    struct fab_target *before = routed(f, &p);
    struct fab_builder *b = fab_fabric_builder_from(f);
    uint32_t port = fab_fabric_port_id(f, 0, 1), ref, peer_ref;
    uint8_t peer_port;
    while (!naive_is_channel(f, port))
        port++;
    ck_assert_int_eq(
        fab_fabric_builder_find_node(b, f->nodes[fab_fabric_port(f, port)->node].guid, &ref),
        FAB_OK);
    ck_assert_int_eq(
        fab_fabric_builder_peer(b, ref, fab_fabric_port(f, port)->num, &peer_ref, &peer_port),
        FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_unlink(b, ref, fab_fabric_port(f, port)->num), FAB_OK);
    struct fab_fabric *without = NULL, *restored = NULL;
    ck_assert_int_eq(fab_fabric_builder_seal(b, &without), FAB_OK);
    ck_assert_int_eq(
        fab_fabric_builder_link(b, ref, fab_fabric_port(f, port)->num, peer_ref, peer_port),
        FAB_OK);
    ck_assert_int_eq(fab_fabric_builder_seal(b, &restored), FAB_OK);
    struct fab_target *during = routed(without, &p), *after = routed(restored, &p);
    ck_assert_int_ne(memcmp(before->lft.entries, during->lft.entries,
                            before->lft.stride * before->lft.switch_count),
                     0);
    assert_same_tables(before, after);
    fab_target_unref(before);
    fab_target_unref(during);
    fab_target_unref(after);
    fab_fabric_unref(f);
    fab_fabric_unref(without);
    fab_fabric_unref(restored);
    fab_fabric_builder_free(b);
}
END_TEST

/* Counts the LFT entries in which the two targets differ. */
static uint64_t difference(const struct fab_target *a, const struct fab_target *b)
{
    uint64_t count = 0;
    for (size_t i = 0; i < a->lft.stride * a->lft.switch_count; i++)
        count += a->lft.entries[i] != b->lft.entries[i];
    return count;
}

START_TEST(a_fault_in_a_tree_moves_little)
{
    struct fab_policy p = defaults(0);
    struct fab_fabric *f = fat_tree(12, 3, 1);
    struct fab_target *before = routed(f, &p);
    uint64_t entries = (uint64_t)before->lids.top * f->switch_count, most = 0;
    for (uint32_t sw = 0; sw < f->switch_count; sw += 7) {
        struct fab_builder *b = fab_fabric_builder_from(f);
        uint32_t port = fab_fabric_port_id(f, sw, f->nodes[sw].num_ports), ref;
        ck_assert(naive_is_channel(f, port));
        ck_assert_int_eq(fab_fabric_builder_find_node(b, f->nodes[sw].guid, &ref), FAB_OK);
        ck_assert_int_eq(fab_fabric_builder_unlink(b, ref, fab_fabric_port(f, port)->num), FAB_OK);
        struct fab_fabric *without = sealed(b);
        struct fab_target *t = routed(without, &p);
        uint64_t moved = difference(before, t);
        most = moved > most ? moved : most;
        fab_target_unref(t);
        fab_fabric_unref(without);
    }
    printf("# at most %" PRIu64 " of %" PRIu64 " entries\n", most, entries);
    ck_assert_uint_lt(most * 20, entries);
    fab_target_unref(before);
    fab_fabric_unref(f);
}
END_TEST

/* ---- ranks and the list of engines -------------------------------------------------------------
 */

START_TEST(aggregation_nodes_make_no_leaf)
{
    struct fab_policy p = defaults(0);
    struct fab_fabric *f = modern_tree(6, 3, 4, 1, 1);
    struct fab_ranks r;
    ck_assert_int_eq(fab_route_ranks_find(f, &p, &r), FAB_OK);
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        ck_assert_int_eq(r.leaf[sw], sw < 6); /* the generator gives the leaves the lowest ids */
        ck_assert_uint_eq(r.rank[sw], sw < 6 ? 0 : 1);
    }
    fab_route_ranks_fini(&r);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(roots_of_the_policy_are_on_top)
{
    struct fab_policy p = defaults(0);
    struct fab_fabric *f = fat_tree(4, 2, 1);
    uint64_t roots[] = {f->nodes[f->switch_count - 1].guid, 0x1234};
    struct fab_ranks r;
    p.roots = roots;
    p.root_count = 2;
    ck_assert_int_eq(fab_route_ranks_find(f, &p, &r), FAB_OK);
    for (uint32_t sw = 0; sw + 1 < f->switch_count; sw++)
        ck_assert_uint_lt(r.order[sw], r.order[f->switch_count - 1]);
    fab_route_ranks_fini(&r);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(engines_are_found_by_name)
{
    ck_assert_str_eq(fab_route_engine_by_name("updn")->name, "updn");
    ck_assert_str_eq(fab_route_engine_by_name("auto")->name, "nue");
    ck_assert_ptr_null(fab_route_engine_by_name("ftree"));
    ck_assert_ptr_nonnull(fab_route_engines()[0]);
}
END_TEST

/* Takes ownership of f. Runs the engines of the chain "auto" up to the first one that supports f.
 * This must be `engine`, and its description of the topology must contain `words`. */
static void assert_recognised(struct fab_fabric *f, const char *engine, const char *words)
{
    struct fab_route_chain chain;
    struct fab_policy p = defaults(0);
    char why[200] = "";
    int status = fab_route_chain_parse("auto", &chain, why, sizeof(why));
    uint32_t i = 0;
    for (bool taken = false; status == FAB_OK && !taken; i++) {
        struct fab_target *t = fab_target_new();
        ck_assert_uint_lt(i, chain.count);
        assigned(f, &p, &t->lids);
        struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t->lids};
        int result = chain.engine[i]->run(&in, &t->lft, &t->vls, why, sizeof(why));
        ck_assert_msg(why[0] != '\0', "%s says nothing", chain.engine[i]->name);
        taken = result == FAB_OK;
        if (!taken)
            ck_assert_int_eq(result, FAB_E_UNSUPPORTED);
        fab_target_unref(t);
    }
    ck_assert_str_eq(chain.engine[i - 1]->name, engine);
    ck_assert_msg(strstr(why, words) != NULL, "%s", why);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

START_TEST(auto_recognises_topologies)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("damage", 3));
    assert_recognised(fat_tree(8, 3, 1), "fattree", "fat tree of 3 levels");
    assert_recognised(damaged(fat_tree(8, 3, 1), &prng, 0.02, 0), "fattree", "missing");
    assert_recognised(damaged(fat_tree(12, 3, 1), &prng, 0.3, 0), "updn", "ranks");
    assert_recognised(grid((uint32_t[3]){4, 4, 1}, false, 2), "dor", "");
    assert_recognised(grid((uint32_t[3]){5, 5, 1}, true, 2), "torus", "");
    assert_recognised(random_fabric(24, 4, 3, 7), "dfsssp", "");
}
END_TEST

START_TEST(an_empty_fabric_has_empty_tables)
{
    struct fab_builder *b = fab_fabric_builder_new();
    struct fab_fabric *f = sealed(b);
    check_fabric(f, 0, "nothing", NULL);
}
END_TEST

START_TEST(chains_are_tried_in_their_order)
{
    struct fab_route_chain chain;
    char why[80] = "";
    ck_assert_int_eq(fab_route_chain_parse("auto", &chain, why, sizeof(why)), FAB_OK);
    ck_assert_uint_ge(chain.count, 2);
    ck_assert_str_eq(chain.engine[0]->name, "fattree");
    ck_assert_str_eq(chain.engine[chain.count - 1]->name, "nue");
    ck_assert_int_eq(fab_route_chain_parse("updn ,fattree", &chain, why, sizeof(why)), FAB_OK);
    ck_assert_uint_eq(chain.count, 2);
    ck_assert_str_eq(chain.engine[0]->name, "updn");
    ck_assert_str_eq(chain.engine[1]->name, "fattree");
    ck_assert_int_eq(fab_route_chain_parse("updn, ftree", &chain, why, sizeof(why)),
                     FAB_E_NOT_FOUND);
    ck_assert_str_eq(why, "ftree");
    ck_assert_int_eq(fab_route_chain_parse("fattree updn ", &chain, why, sizeof(why)),
                     FAB_E_NOT_FOUND);
    ck_assert_str_eq(why, "fattree updn");
    ck_assert_int_eq(fab_route_chain_parse("", &chain, why, sizeof(why)), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_route_chain_parse("updn,", &chain, why, sizeof(why)), FAB_E_NOT_FOUND);
    ck_assert_int_eq(fab_route_chain_parse("updn,updn,updn,updn,updn,updn,updn,updn,updn,updn,updn,"
                                           "updn,updn,updn,updn,updn,updn",
                                           &chain, why, sizeof(why)),
                     FAB_E_LIMIT);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        random_fabrics_are_proven,
        damaged_trees_are_proven,
        grids_and_rings_are_proven,
        families_are_proven,
        modern_trees_are_proven,
        trees_keep_shortest_paths,
        a_damaged_tree_stays_a_tree,
        a_tree_is_balanced,
        the_order_of_discovery_changes_nothing,
        a_restored_link_restores_the_tables,
        a_fault_in_a_tree_moves_little,
        aggregation_nodes_make_no_leaf,
        roots_of_the_policy_are_on_top,
        engines_are_found_by_name,
        chains_are_tried_in_their_order,
        auto_recognises_topologies,
        an_empty_fabric_has_empty_tables,
    };
    Suite *suite = suite_create("route");
    TCase *tcase = tcase_create("updn");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
