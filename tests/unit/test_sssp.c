/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines minhop, sssp and dfsssp on hundreds of random fabrics, trees and grids, with and
 * without damage. All endports must reach each other, and hosts by shortest paths. Tables of dfsssp
 * must be free of deadlocks. Loads must be balanced. Tables must not depend on the order of
 * discovery.
 */
#include "libfabmgr/study/quality.h"
#include "tests/unit/fabric_sets.h"
#include "tests/unit/naive.h"

#define RANDOM_FABRICS test_rounds(300)
#define DAMAGED_TREES test_rounds(120)

static const char *const names[] = {"minhop", "sssp", "dfsssp"};
enum { MINHOP, SSSP, DFSSSP, ENGINES };

static struct fab_policy defaults(uint8_t lmc)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    p.lmc = lmc;
    return p;
}

/* Returns the engine's tables. NULL: the engine refuses the fabric, with a reason. */
static struct fab_target *routed_or_refused(const char *name, const struct fab_fabric *f,
                                            const struct fab_policy *p, char why[200])
{
    struct fab_target *t = fab_target_new();
    assigned(f, p, &t->lids);
    struct fab_route_input in = {.fabric = f, .policy = p, .lids = &t->lids};
    why[0] = '\0';
    int status = fab_route_engine_by_name(name)->run(&in, &t->lft, &t->vls, why, 200);
    ck_assert_msg(status == FAB_OK || status == FAB_E_UNSUPPORTED, "%s: status %d", name, status);
    ck_assert_str_ne(why, "");
    if (status == FAB_OK)
        return t;
    ck_assert_ptr_null(t->lft.entries);
    ck_assert_ptr_null(t->vls.of_lid);
    ck_assert_ptr_null(t->vls.of_pair);
    fab_target_unref(t);
    return NULL;
}

static struct fab_verdict judged(const struct fab_fabric *f, const struct fab_target *t)
{
    struct fab_verdict v;
    struct fab_verify_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls, .max_hops = 255};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    return v;
}

static void assert_complete(const struct fab_fabric *f, const struct fab_verdict *v,
                            const char *what)
{
    char *text = NULL;
    ck_assert_int_eq(fab_verify_witness_text(f, &v->witness, &text), FAB_OK);
    ck_assert_msg(v->unreachable_pairs == 0 &&
                      (v->witness.kind == FAB_OK || v->witness.kind == FAB_E_CYCLE),
                  "%s: %s", what, text);
    free(text);
}

/* ---- reachability and deadlocks ----------------------------------------------------------------
 */

struct tally {
    uint32_t fabrics, good[ENGINES], refused, lanes;
};

static void check_engine(const struct fab_fabric *f, const struct fab_policy *p, unsigned engine,
                         struct tally *tally, const char *what)
{
    char why[200];
    struct fab_target *t = routed_or_refused(names[engine], f, p, why);
    if (t == NULL) {
        ck_assert_uint_eq(engine, DFSSSP);
        ck_assert_ptr_nonnull(strstr(why, "VLs are needed and "));
        tally->refused++;
        return;
    }
    struct fab_verdict v = judged(f, t);
    assert_complete(f, &v, what);
    if (engine == DFSSSP)
        assert_good(f, &v, what);
    else
        ck_assert(!fab_target_vls_multiple(&t->vls));
    tally->good[engine] += fab_verify_verdict_good(&v);
    tally->lanes += engine == DFSSSP && fab_target_vls_multiple(&t->vls);
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
}

/* Checks the tables of minhop, sssp and dfsssp for f. Takes over f. */
static void check_fabric(struct fab_fabric *f, uint8_t lmc, const char *what, void *ctx)
{
    struct tally *tally = ctx;
    struct fab_policy p = defaults(lmc);
    tally->fabrics++;
    for (unsigned engine = 0; engine < ENGINES; engine++)
        check_engine(f, &p, engine, tally, what);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
}

static void print_tally(const struct tally *t)
{
    printf("# %u fabrics; good: %u by minhop, %u by sssp, %u by dfsssp (%u of these with lanes), "
           "which refused %u\n",
           t->fabrics, t->good[MINHOP], t->good[SSSP], t->good[DFSSSP], t->lanes, t->refused);
}

START_TEST(random_fabrics_are_complete)
{
    struct tally tally = {0};
    fabric_set_random(RANDOM_FABRICS, 1, check_fabric, &tally);
    print_tally(&tally);
    ck_assert_uint_gt(tally.lanes, RANDOM_FABRICS / 10);
    ck_assert_uint_lt(tally.refused, RANDOM_FABRICS / 10);
}
END_TEST

START_TEST(grids_and_rings_are_complete)
{
    static const uint32_t sizes[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {5, 1, 1}, {40, 1, 1},
                                        {2, 2, 1}, {4, 4, 1}, {5, 7, 1}, {3, 3, 3}, {2, 2, 2}};
    struct tally tally = {0};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_fabric(grid(sizes[i], true, 2), 0, "torus", &tally);
        check_fabric(grid(sizes[i], false, 1), 1, "mesh", &tally);
        check_fabric(grid(sizes[i], true, 0), 0, "torus without hosts", &tally);
    }
    print_tally(&tally);
    ck_assert_uint_gt(tally.lanes, 5);
    ck_assert_uint_lt(tally.refused, tally.fabrics / 4);
}
END_TEST

/* For complete trees, dfsssp must need only one VL, even if spines have aggregation nodes. */
START_TEST(whole_trees_need_one_vl)
{
    struct tally tally = {0};
    check_fabric(fat_tree(8, 2, 1), 0, "two levels", &tally);
    check_fabric(fat_tree(6, 3, 1), 1, "three levels", &tally);
    check_fabric(fat_tree(8, 3, 3), 0, "tapered", &tally);
    check_fabric(fat_tree(4, 4, 1), 0, "four levels", &tally);
    check_fabric(modern_tree(8, 4, 4, 0, 2), 0, "aggregation nodes", &tally);
    check_fabric(modern_tree(9, 3, 5, 0, 1), 2, "aggregation nodes", &tally);
    for (unsigned engine = 0; engine < ENGINES; engine++)
        ck_assert_uint_eq(tally.good[engine], tally.fabrics);
    ck_assert_uint_eq(tally.lanes, 0);
}
END_TEST

START_TEST(damaged_trees_are_complete_and_mostly_safe)
{
    static const struct {
        uint32_t radix, levels, taper;
    } trees[] = {{8, 2, 1}, {6, 3, 1}, {8, 3, 1}, {12, 2, 2}, {8, 3, 3}};
    struct tally tally = {0};
    struct fab_prng prng;
    char what[96];
    fab_base_prng_init(&prng, test_seed("damaged trees", 2));
    for (unsigned i = 0; i < DAMAGED_TREES; i++) {
        unsigned k = i % (sizeof(trees) / sizeof(trees[0]));
        double cables = (double)fab_base_prng_below(&prng, 10) / 100;
        struct fab_fabric *f = fat_tree(trees[k].radix, trees[k].levels, trees[k].taper);
        struct fab_fabric *other = retold(f, &prng, i / 6);
        fab_fabric_unref(f);
        snprintf(what, sizeof(what), "tree %u, round %u", k, i);
        check_fabric(damaged(other, &prng, cables, 0.02), 0, what, &tally);
    }
    print_tally(&tally);
    ck_assert_uint_eq(tally.refused, 0);
    ck_assert_uint_ge(tally.good[SSSP] * 10, tally.fabrics * 8);
    ck_assert_uint_ge(tally.good[MINHOP] * 10, tally.fabrics * 8);
}
END_TEST

/* ---- shortest paths ----------------------------------------------------------------------------
 */

/* Computes the number of hops from the switch `from` to each switch; FAB_NONE: no path. */
static void measure_hops(const struct fab_fabric *f, uint32_t from, uint32_t *hops)
{
    uint32_t *queue = calloc(f->switch_count + 1, sizeof(*queue)), head = 0, tail = 0;
    memset(hops, 0xff, f->switch_count * sizeof(*hops));
    hops[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t sw = queue[head++];
        for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num),
                     peer = fab_fabric_peer_node(f, port);
            if (!naive_is_channel(f, port) || hops[peer] != FAB_NONE)
                continue;
            hops[peer] = hops[sw] + 1;
            queue[tail++] = peer;
        }
    }
    free(queue);
}

static bool is_host(const struct fab_fabric *f, const struct fab_target *t, uint32_t port)
{
    uint32_t node = fab_fabric_port(f, port)->node;
    return !fab_fabric_node_is_switch(f, node) && !f->nodes[node].aggregation &&
           t->lids.base[port] != 0 && fab_fabric_peer_node(f, port) != FAB_NONE &&
           fab_fabric_node_is_switch(f, fab_fabric_peer_node(f, port)) &&
           fab_fabric_port_is_up(f, port);
}

static void assert_shortest(const struct fab_fabric *f, const struct fab_target *t)
{
    struct fab_verify_input in = {.fabric = f, .lids = &t->lids, .lft = &t->lft, .max_hops = 255};
    uint32_t *hops = calloc(f->switch_count + 1, sizeof(*hops));
    for (uint32_t dst = 0; dst < f->port_count; dst++) {
        if (!is_host(f, t, dst))
            continue;
        measure_hops(f, fab_fabric_peer_node(f, dst), hops);
        for (uint32_t src = 0; src < f->port_count; src++) {
            struct fab_verify_trace trace;
            if (src == dst || !is_host(f, t, src) || hops[fab_fabric_peer_node(f, src)] == FAB_NONE)
                continue;
            ck_assert_int_eq(fab_verify_trace(&in, src, t->lids.base[dst], &trace), FAB_OK);
            ck_assert_uint_eq(trace.count, hops[fab_fabric_peer_node(f, src)] + 2);
            fab_verify_trace_fini(&trace);
        }
    }
    free(hops);
}

START_TEST(hosts_have_shortest_paths)
{
    struct fab_policy p = defaults(0);
    struct fab_prng prng;
    char why[200];
    fab_base_prng_init(&prng, test_seed("shortest ways", 3));
    for (unsigned i = 0; i < 40; i++) {
        struct fab_fabric *f = i % 2 == 0 ? damaged(fat_tree(6, 3, 1), &prng, 0.1, 0)
                                          : random_fabric(20, 4, 2, fab_base_prng_next(&prng));
        for (unsigned engine = 0; engine < ENGINES; engine++) {
            struct fab_target *t = routed_or_refused(names[engine], f, &p, why);
            if (t != NULL)
                assert_shortest(f, t);
            fab_target_unref(t);
        }
        fab_fabric_unref(f);
    }
}
END_TEST

/* ---- balance --------------------------------------------------------------------------------- */

static struct fab_quality quality_of(const char *engine, const struct fab_fabric *f)
{
    struct fab_policy p = defaults(0);
    struct fab_quality q;
    char why[200];
    struct fab_target *t = routed_or_refused(engine, f, &p, why);
    ck_assert_ptr_nonnull(t);
    struct fab_quality_input in = {.fabric = f, .lids = &t->lids, .lft = &t->lft};
    ck_assert_int_eq(fab_study_quality_measure(&in, &q), FAB_OK);
    fab_target_unref(t);
    return q;
}

/* In a complete tree, the tables must be nearly as good as D-mod-k: the loads are balanced, and
 * almost no shift has two flows on a link. (A few have, because the engine cannot order the spines
 * by their GUIDs.) */
START_TEST(a_sound_tree_is_routed_perfectly)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("a sound tree", 4));
    for (unsigned i = 0; i < 4; i++) {
        struct fab_fabric *plain = i % 2 == 0 ? fat_tree(8, 3, 1) : fat_tree(12, 2, 1);
        struct fab_fabric *f = retold(plain, &prng, i);
        for (unsigned engine = 0; engine < ENGINES; engine++) {
            struct fab_quality q = quality_of(names[engine], f);
            ck_assert_uint_le(q.all.max * 100, q.all.bound * 110);
            ck_assert_uint_le(q.shift.max, i == 0 ? 1 : 3);
        }
        fab_fabric_unref(f);
        fab_fabric_unref(plain);
    }
}
END_TEST

/* D-mod-k would put two LIDs on one link, while another link is free. The engine must use both
 * links. */
START_TEST(overloaded_links_are_relieved)
{
    struct fab_prng prng;
    double worst = 0;
    fab_base_prng_init(&prng, test_seed("crowded", 5));
    for (unsigned i = 0; i < 10; i++) {
        struct fab_fabric *f = damaged(fat_tree(16, 2, 1), &prng, 0.02, 0);
        struct fab_quality q = quality_of("sssp", f);
        worst = fab_study_quality_imbalance(&q) > worst ? fab_study_quality_imbalance(&q) : worst;
        fab_fabric_unref(f);
    }
    printf("# max/mean %.2f at worst\n", worst);
    ck_assert(worst < 1.6);
}
END_TEST

/* In a tree with a few missing links, updn keeps the paths of D-mod-k, and changes only those for
 * LIDs on overloaded links. */
START_TEST(updn_relieves_overloaded_links)
{
    struct fab_prng prng;
    double sum = 0;
    fab_base_prng_init(&prng, test_seed("few overloaded", 6));
    for (unsigned i = 0; i < 20; i++) {
        struct fab_fabric *f = damaged(fat_tree(16, 2 + i % 2, 1), &prng, 0.005, 0);
        struct fab_quality q = quality_of("updn", f);
        sum += fab_study_quality_imbalance(&q);
        fab_fabric_unref(f);
    }
    printf("# max/mean %.4f on average\n", sum / 20);
    ck_assert(sum / 20 < 1.6);
}
END_TEST

START_TEST(a_slower_link_carries_less)
{
    struct fab_fabric *f = leaf_spine(2, 4, 8);
    struct fab_policy p = defaults(0);
    char why[200];
    uint32_t slow = fab_fabric_port_id(f, 0, 1), load[256] = {0};
    while (!naive_is_channel(f, slow))
        slow++;
    struct fab_port_info *ends[] = {&fab_fabric_edit_port(f, slow)->info,
                                    &fab_fabric_edit_port(f, fab_fabric_port(f, slow)->peer)->info};
    for (unsigned i = 0; i < 2; i++)
        ends[i]->width_active = 1; /* the link of this port runs at 1x in place of 4x */
    struct fab_target *t = routed_or_refused("sssp", f, &p, why);
    for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
        uint32_t owner = t->lids.owner[lid];
        if (owner != FAB_NONE && is_host(f, t, owner) && fab_fabric_peer_node(f, owner) == 1)
            load[fab_target_lft_at(&t->lft, 0, lid)]++;
    }
    for (unsigned num = 1; num <= f->nodes[0].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, 0, (uint8_t)num);
        if (naive_is_channel(f, port) && port != slow)
            ck_assert_uint_gt(load[num], load[fab_fabric_port(f, slow)->num]);
    }
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

/* ---- equal tables ------------------------------------------------------------------------------
 */

static void assert_same(const struct fab_target *a, const struct fab_target *b)
{
    ck_assert_mem_eq(a->lids.base, b->lids.base, a->lids.port_count * sizeof(*a->lids.base));
    ck_assert_mem_eq(a->lft.entries, b->lft.entries, a->lft.switch_count * a->lft.stride);
    ck_assert_uint_eq(a->vls.count, b->vls.count);
    ck_assert_int_eq(a->vls.of_pair != NULL, b->vls.of_pair != NULL);
    if (a->vls.of_pair != NULL)
        ck_assert_mem_eq(a->vls.of_pair, b->vls.of_pair, (size_t)a->vls.switches * a->vls.switches);
}

START_TEST(the_order_of_discovery_changes_nothing)
{
    struct fab_policy p = defaults(0);
    struct fab_prng prng;
    char why[200], again_why[200];
    fab_base_prng_init(&prng, test_seed("order of discovery", 7));
    for (unsigned i = 0; i < 60; i++) {
        struct fab_fabric *f =
            i % 3 == 0 ? damaged(fat_tree(6, 3, 1), &prng, 0.05, 0)
                       : random_fabric(2 + i % 30, 3 + i % 4, i % 4, fab_base_prng_next(&prng));
        struct fab_fabric *again = retold(f, &prng, 0);
        for (unsigned engine = 0; engine < ENGINES; engine++) {
            struct fab_target *a = routed_or_refused(names[engine], f, &p, why);
            struct fab_target *b = routed_or_refused(names[engine], again, &p, again_why);
            ck_assert_str_eq(why, again_why);
            ck_assert_int_eq(a == NULL, b == NULL);
            if (a != NULL)
                assert_same(a, b);
            fab_target_unref(a);
            fab_target_unref(b);
        }
        fab_fabric_unref(f);
        fab_fabric_unref(again);
    }
}
END_TEST

/* ---- virtual lanes -----------------------------------------------------------------------------
 */

START_TEST(a_ring_needs_vls)
{
    struct fab_policy p = defaults(0);
    struct fab_fabric *f = grid((uint32_t[3]){6, 1, 1}, true, 2);
    char why[200];
    struct fab_target *t = routed_or_refused("sssp", f, &p, why);
    struct fab_verdict v = judged(f, t);
    ck_assert_int_eq(v.witness.kind, FAB_E_CYCLE);
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    t = routed_or_refused("dfsssp", f, &p, why);
    ck_assert_ptr_nonnull(t);
    ck_assert_ptr_nonnull(t->vls.of_pair);
    ck_assert_uint_ge(t->vls.count, 2);
    v = judged(f, t);
    assert_good(f, &v, "ring");
    fab_verify_verdict_fini(&v);
    /* one VL for all pairs, so that the proof must find a cycle */
    memset(t->vls.of_pair, 0, (size_t)t->vls.switches * t->vls.switches);
    v = judged(f, t);
    ck_assert_int_eq(v.witness.kind, FAB_E_CYCLE);
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(too_few_vls_are_reported)
{
    struct fab_policy p = defaults(0);
    struct fab_fabric *f = grid((uint32_t[3]){6, 1, 1}, true, 2);
    char why[200], port[100];
    uint32_t weak = fab_fabric_port_id(f, 3, 1);
    while (!naive_is_channel(f, weak))
        weak++;
    fab_fabric_edit_port(f, weak)->info.vl_cap = 1;
    ck_assert_ptr_null(routed_or_refused("dfsssp", f, &p, why));
    ck_assert_ptr_nonnull(strstr(why, "VLs are needed and "));
    uint32_t peer = fab_fabric_port(f, weak)->peer, named = peer < weak ? peer : weak;
    snprintf(port, sizeof(port), "%s port %u has 1", f->nodes[fab_fabric_port(f, named)->node].desc,
             fab_fabric_port(f, named)->num);
    ck_assert_msg(strstr(why, port) != NULL, "%s: not '%s'", why, port);
    fab_fabric_unref(f);
}
END_TEST

/* In irregular fabrics of up to some hundred switches, dfsssp chooses paths and layers together.
 * Few layers then suffice. */
START_TEST(few_layers_suffice)
{
    struct fab_policy p = defaults(0);
    struct fab_prng prng;
    unsigned several = 0, refused = 0;
    fab_base_prng_init(&prng, test_seed("few lanes", 9));
    for (unsigned i = 0; i < 30; i++) {
        struct fab_fabric *f = random_fabric(24, 5, 2, fab_base_prng_next(&prng));
        char why[200];
        p.max_op_vls = (uint8_t)(2 + i % 3); /* OperationalVLs 2, 3 and 4 mean 2, 4 and 8 VLs */
        struct fab_target *t = routed_or_refused("dfsssp", f, &p, why);
        if (t == NULL) {
            refused++;
        } else {
            struct fab_verdict v = judged(f, t);
            assert_good(f, &v, "few lanes");
            ck_assert_uint_le(fab_target_vls_count(&t->vls), 4);
            several += fab_target_vls_multiple(&t->vls);
            fab_verify_verdict_fini(&v);
            fab_target_unref(t);
        }
        fab_fabric_unref(f);
    }
    printf("# %u on several lanes, %u refused\n", several, refused);
    ck_assert_uint_ge(several, 20);
    ck_assert_uint_le(refused, 10);
}
END_TEST

/* In larger irregular fabrics, dfsssp chooses the paths first. */
START_TEST(large_fabrics_get_layers)
{
    struct fab_policy p = defaults(0);
    char why[200];
    struct fab_fabric *f = random_fabric(120, 9, 15, test_seed("large", 9));
    struct fab_target *t = routed_or_refused("dfsssp", f, &p, why);
    ck_assert_msg(t != NULL, "%s", why);
    struct fab_verdict v = judged(f, t);
    assert_good(f, &v, "large");
    ck_assert_ptr_nonnull(t->vls.of_pair);
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

/* If dfsssp chose the paths first, it would need more layers here. */
START_TEST(paths_and_layers_together_save_lanes)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("together", 11));
    for (unsigned i = 0; i < 4; i++) {
        struct fab_policy p = defaults(0);
        struct fab_fabric *f = random_fabric(48, 5, 4, fab_base_prng_next(&prng));
        char why[200];
        struct fab_target *t = routed_or_refused("dfsssp", f, &p, why);
        ck_assert_msg(t != NULL, "%s", why);
        struct fab_verdict v = judged(f, t);
        assert_good(f, &v, "together");
        ck_assert_uint_le(fab_target_vls_count(&t->vls), 5);
        fab_verify_verdict_fini(&v);
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
}
END_TEST

/* If dfsssp chose the paths first, this mesh would need eight VLs. */
START_TEST(a_mesh_needs_two_lanes)
{
    struct fab_policy p = defaults(0);
    struct fab_fabric *f = grid((uint32_t[3]){4, 4, 3}, false, 2);
    char why[200];
    struct fab_target *t = routed_or_refused("dfsssp", f, &p, why);
    ck_assert_msg(t != NULL, "%s", why);
    struct fab_verdict v = judged(f, t);
    assert_good(f, &v, "mesh");
    ck_assert_uint_eq(t->vls.count, 2);
    fab_verify_verdict_fini(&v);
    fab_target_unref(t);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        random_fabrics_are_complete,
        grids_and_rings_are_complete,
        whole_trees_need_one_vl,
        damaged_trees_are_complete_and_mostly_safe,
        hosts_have_shortest_paths,
        a_sound_tree_is_routed_perfectly,
        overloaded_links_are_relieved,
        updn_relieves_overloaded_links,
        a_slower_link_carries_less,
        the_order_of_discovery_changes_nothing,
        a_ring_needs_vls,
        too_few_vls_are_reported,
        few_layers_suffice,
        large_fabrics_get_layers,
        paths_and_layers_together_save_lanes,
        a_mesh_needs_two_lanes,
    };
    Suite *suite = suite_create("sssp");
    TCase *tcase = tcase_create("engines");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
