/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "nue", for any topology and any number of VLs. On thousands of fabrics, its tables
 * must pass the proof, must not depend on the order of discovery, and must have short paths. Its
 * acyclic channel dependency graph is compared with a simple search for cycles.
 */
#include "libfabmgr/route/dependencies/acyclic_cdg.h"
#include "libfabmgr/route/nue/search.h"
#include "tests/unit/fabric_sets.h"
#include "tests/unit/naive.h"

#define RANDOM_FABRICS test_rounds(1500)
#define DAMAGED_TREES test_rounds(300)
#define TURN_FABRICS 60

static struct fab_target *nue_routed(const struct fab_fabric *f, const struct fab_policy *p,
                                     char why[200])
{
    struct fab_target *t = fab_target_new();
    assigned(f, p, &t->lids);
    struct fab_route_input in = {.fabric = f, .policy = p, .lids = &t->lids};
    why[0] = '\0';
    int status = fab_route_engine_by_name("nue")->run(&in, &t->lft, &t->vls, why, 200);
    ck_assert_msg(status == FAB_OK, "status %d: %s", status, why);
    ck_assert_str_ne(why, "");
    return t;
}

static void assert_proven(const struct fab_fabric *f, const struct fab_target *t, const char *what)
{
    struct fab_verdict v;
    struct fab_verify_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .max_hops = 255, .vls = &t->vls};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    assert_good(f, &v, what);
    fab_verify_verdict_fini(&v);
}

/* Checks the tables of the engine, and takes ownership of f. vls: OperationalVLs as in PortInfo.
 * Returns the number of VLs in use. */
static uint8_t check_lanes(struct fab_fabric *f, uint8_t lmc, uint8_t vls, const char *what)
{
    struct fab_policy p;
    char why[200];
    fab_policy_defaults(&p);
    p.lmc = lmc;
    p.max_op_vls = vls;
    struct fab_target *t = nue_routed(f, &p, why);
    uint32_t weakest;
    uint8_t used = t->vls.count > 1 ? t->vls.count : 1;
    ck_assert_uint_le(used, fab_route_vls_available(f, &p, &weakest));
    assert_proven(f, t, what);
    fab_target_unref(t);
    fab_policy_fini(&p);
    fab_fabric_unref(f);
    return used;
}

/* Checks the engine twice: on one VL, and on all VLs that the links have. Takes ownership of f. */
static void check_fabric(struct fab_fabric *f, uint8_t lmc, const char *what, void *ctx)
{
    (void)ctx;
    ck_assert_uint_eq(check_lanes(fab_fabric_ref(f), lmc, 1, what), 1);
    check_lanes(f, lmc, 5, what);
}

/* Checks the engine on a random number of VLs. Takes ownership of f. */
static void check_some_lanes(struct fab_fabric *f, uint8_t lmc, const char *what, void *prng)
{
    check_lanes(f, lmc, (uint8_t)(1 + fab_base_prng_below(prng, 5)), what);
}

START_TEST(random_fabrics_are_proven)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("lanes", 9));
    fabric_set_random(RANDOM_FABRICS, 1, check_some_lanes, &prng);
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
    fabric_set_damaged_grids(3, check_fabric, NULL);
}
END_TEST

START_TEST(families_are_proven)
{
    fabric_set_families(4, check_fabric, NULL);
}
END_TEST

START_TEST(modern_trees_are_proven)
{
    fabric_set_modern(test_rounds(200), 5, check_fabric, NULL);
}
END_TEST

START_TEST(the_order_of_discovery_changes_nothing)
{
    struct fab_policy p;
    struct fab_prng prng;
    char why[200];
    fab_policy_defaults(&p);
    fab_base_prng_init(&prng, test_seed("order of discovery", 6));
    for (unsigned i = 0; i < test_rounds(150); i++) {
        struct fab_fabric *f =
            i % 3 == 0 ? fat_tree(6, 3, 1)
                       : random_fabric(2 + i % 30, 3 + i % 4, i % 4, fab_base_prng_next(&prng));
        struct fab_fabric *again = retold(f, &prng, 0);
        struct fab_target *a = nue_routed(f, &p, why), *b = nue_routed(again, &p, why);
        ck_assert_uint_eq(a->lids.top, b->lids.top);
        ck_assert_mem_eq(a->lft.entries, b->lft.entries, a->lft.switch_count * a->lft.stride);
        ck_assert_uint_eq(a->vls.count, b->vls.count);
        if (a->vls.count > 1)
            ck_assert_mem_eq(a->vls.of_pair, b->vls.of_pair,
                             (size_t)a->vls.switches * a->vls.switches);
        fab_target_unref(a);
        fab_target_unref(b);
        fab_fabric_unref(f);
        fab_fabric_unref(again);
    }
}
END_TEST

/* Paths between hosts must be as short as the links permit. Aggregation nodes at spines must not
 * make them longer. */
START_TEST(trees_have_no_detours)
{
    struct fab_policy p;
    struct fab_prng prng;
    char why[200];
    fab_policy_defaults(&p);
    fab_base_prng_init(&prng, test_seed("no detours", 7));
    struct fab_fabric *trees[] = {modern_tree(8, 4, 4, 0, 2), modern_tree(8, 4, 6, 1, 1),
                                  fat_tree(8, 3, 1), NULL};
    for (unsigned i = 0; trees[i] != NULL; i++) {
        struct fab_fabric *f = retold(trees[i], &prng, i + 1);
        struct fab_target *t = nue_routed(f, &p, why);
        ck_assert_msg(strstr(why, "as short as the links allow") != NULL, "%u: %s", i, why);
        fab_target_unref(t);
        fab_fabric_unref(f);
        fab_fabric_unref(trees[i]);
    }
}
END_TEST

START_TEST(an_empty_fabric_has_empty_tables)
{
    struct fab_builder *b = fab_fabric_builder_new();
    check_fabric(sealed(b), 0, "nothing", NULL);
}
END_TEST

/* On one VL, a torus cannot have only shortest paths without a cycle of channel dependencies. Each
 * further VL permits more shortest paths. */
START_TEST(vls_shorten_paths)
{
    const uint32_t size[3] = {6, 6, 1};
    struct fab_policy p;
    char why[200];
    fab_policy_defaults(&p);
    for (uint8_t vls = 1; vls <= 4; vls++) {
        struct fab_fabric *f = grid(size, true, 1);
        p.max_op_vls = vls;
        struct fab_target *t = nue_routed(f, &p, why);
        if (vls == 1)
            ck_assert_msg(strstr(why, "one virtual lane: ") == why &&
                              strstr(why, "detours") != NULL,
                          "%s", why);
        else
            ck_assert_msg(strstr(why, " virtual lanes, as one would need detours") != NULL, "%s",
                          why);
        if (vls == 4)
            ck_assert_msg(strstr(why, "as short as the links allow") != NULL, "%s", why);
        ck_assert_uint_eq(t->vls.count > 1, vls > 1);
        assert_proven(f, t, "torus");
        fab_target_unref(t);
        fab_fabric_unref(f);
    }
}
END_TEST

/* ---- the channel dependency graph ------------------------------------------------------------ */

/* Returns whether a chain of dependencies in use leads from the arc `to` back to the arc `from`. If
 * it does, a dependency of `from` on `to` would close a cycle. */
static bool closes_circle(const struct fab_cdg *t, uint32_t from, uint32_t to)
{
    bool *seen = calloc(t->arcs + 1, sizeof(*seen));
    uint32_t *stack = calloc(t->arcs + 1, sizeof(*stack)), depth = 0;
    bool found = false;
    seen[to] = true;
    stack[depth++] = to;
    while (depth > 0 && !found) {
        uint32_t arc = stack[--depth], head = fab_route_cdg_head(t, arc);
        for (uint32_t next = t->g->nbr_at[head]; next < t->g->nbr_at[head + 1]; next++) {
            if (!fab_route_cdg_used(t, arc, next))
                continue;
            found = found || next == from;
            if (!seen[next])
                stack[depth++] = next;
            seen[next] = true;
        }
    }
    free(seen);
    free(stack);
    return found;
}

static void assert_ordered(const struct fab_cdg *t)
{
    for (uint32_t arc = 0; arc < t->arcs; arc++) {
        uint32_t head = fab_route_cdg_head(t, arc);
        ck_assert_uint_eq(t->reverse[t->reverse[arc]], arc);
        for (uint32_t next = t->g->nbr_at[head]; next < t->g->nbr_at[head + 1]; next++)
            ck_assert(!fab_route_cdg_used(t, arc, next) || t->pos[arc] < t->pos[next]);
    }
}

static void try_turns(struct fab_cdg *t, struct fab_prng *prng, unsigned tries)
{
    for (unsigned i = 0; i < tries && t->arcs > 0; i++) {
        uint32_t from = (uint32_t)fab_base_prng_below(prng, t->arcs),
                 head = fab_route_cdg_head(t, from);
        uint32_t degree = t->g->nbr_at[head + 1] - t->g->nbr_at[head];
        uint32_t to = t->g->nbr_at[head] + (uint32_t)fab_base_prng_below(prng, degree);
        if (to == t->reverse[from])
            continue;
        bool used = fab_route_cdg_used(t, from, to), circle = closes_circle(t, from, to);
        ck_assert(!used || !circle);
        ck_assert_int_eq(fab_route_cdg_add(t, from, to), !circle);
        ck_assert_int_eq(fab_route_cdg_used(t, from, to), !circle);
    }
    assert_ordered(t);
}

START_TEST(dependencies_never_close_a_cycle)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("turns", 8));
    for (unsigned i = 0; i < TURN_FABRICS; i++) {
        struct fab_fabric *f = random_fabric(3 + i % 12, 2 + i % 5, 1, fab_base_prng_next(&prng));
        struct fab_policy p;
        struct fab_graph g;
        struct fab_order o;
        struct fab_cdg t;
        fab_policy_defaults(&p);
        ck_assert_int_eq(fab_route_graph_make(f, &g), FAB_OK);
        ck_assert_int_eq(fab_route_order_find(&g, f, &p, &o), FAB_OK);
        ck_assert_int_eq(fab_route_cdg_init(&t, &g, &o), FAB_OK);
        t.budget = UINT64_MAX;
        try_turns(&t, &prng, 60);
        size_t size = (size_t)t.arcs * t.words * sizeof(*t.used);
        uint64_t *used = malloc(size + 1), *forbidden = malloc(size + 1);
        memcpy(used, t.used, size);
        memcpy(forbidden, t.forbidden, size);
        t.logging = true;
        try_turns(&t, &prng, 100);
        fab_route_cdg_undo(&t, 0);
        t.logging = false;
        ck_assert_mem_eq(used, t.used, size);
        ck_assert_mem_eq(forbidden, t.forbidden, size);
        try_turns(&t, &prng, 200);
        free(used);
        free(forbidden);
        fab_route_cdg_fini(&t);
        fab_route_order_fini(&o);
        fab_route_graph_fini(&g);
        fab_fabric_unref(f);
    }
}
END_TEST

START_TEST(without_budget_no_search_is_made)
{
    struct fab_fabric *f = grid((uint32_t[3]){4, 4, 1}, true, 1);
    struct fab_policy p;
    struct fab_graph g;
    struct fab_order o;
    struct fab_cdg t;
    fab_policy_defaults(&p);
    ck_assert_int_eq(fab_route_graph_make(f, &g), FAB_OK);
    ck_assert_int_eq(fab_route_order_find(&g, f, &p, &o), FAB_OK);
    ck_assert_int_eq(fab_route_cdg_init(&t, &g, &o), FAB_OK);
    for (uint32_t from = 0; from < t.arcs; from++) {
        uint32_t head = fab_route_cdg_head(&t, from);
        for (uint32_t to = g.nbr_at[head]; to < g.nbr_at[head + 1]; to++) {
            bool easy = fab_route_cdg_in_order(&t, from, to);
            if (to != t.reverse[from])
                ck_assert_int_eq(fab_route_cdg_add(&t, from, to), easy);
        }
    }
    assert_ordered(&t);
    fab_route_cdg_fini(&t);
    fab_route_order_fini(&o);
    fab_route_graph_fini(&g);
    fab_fabric_unref(f);
}
END_TEST

/* ---- alternatives ---------------------------------------------------------------------------- */

static bool is_alternative(const struct fab_nue *d, uint32_t s, uint32_t arc)
{
    uint32_t slot = arc - d->g->nbr_at[s];
    return (d->alternatives[(size_t)s * d->cdg->words + slot / 64] >> slot % 64 & 1) != 0;
}

/* Returns whether the arc may be an alternative of switch s, whatever alternatives other switches
 * use. Two kinds of dependencies must be in use: from each arc by which chosen paths enter s to
 * this arc, and from this arc to each alternative of the next switch. */
static bool fits(const struct fab_nue *d, uint32_t s, uint32_t arc)
{
    uint32_t v = d->g->nbr[arc];
    for (uint32_t next = d->g->nbr_at[v]; v != d->home && next < d->g->nbr_at[v + 1]; next++) {
        if (is_alternative(d, v, next) && !fab_route_cdg_used(d->cdg, arc, next))
            return false;
    }
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
        uint32_t r = d->g->nbr[out], in = d->cdg->reverse[out];
        if (r != d->home && d->hops[r] != FAB_NUE_UNREACHED && fab_route_nue_next(d, r) == in &&
            !fab_route_cdg_used(d->cdg, in, arc))
            return false;
    }
    return true;
}

/* An alternative of a switch is an arc that its packets may use, whatever alternatives other
 * switches use. Checks that the alternatives are exactly the arcs on shortest paths for which
 * fits() is true, and that the chosen arc is one of them. Returns the number of all other arcs on
 * shortest paths. */
static unsigned check_alternatives(const struct fab_nue *d)
{
    unsigned unfit = 0;
    for (uint32_t i = 1; i < d->count; i++) {
        uint32_t s = d->by_distance[i];
        ck_assert(is_alternative(d, s, fab_route_nue_next(d, s)));
        for (uint32_t arc = d->g->nbr_at[s]; arc < d->g->nbr_at[s + 1]; arc++) {
            uint32_t v = d->g->nbr[arc];
            bool nearer = d->hops[v] != FAB_NUE_UNREACHED && d->hops[v] + 1 == d->hops[s];
            ck_assert_msg(is_alternative(d, s, arc) == (nearer && fits(d, s, arc)),
                          "to switch %u: arc %u of switch %u", d->home, arc - d->g->nbr_at[s], s);
            unfit += nearer && !fits(d, s, arc);
        }
    }
    return unfit;
}

/* Takes ownership of f. Finds the paths to all switches with hosts, and then searches twice for
 * their alternatives: first with the right to add channel dependencies, then without. Returns how
 * many arcs on shortest paths are no alternatives. */
static unsigned find_all_alternatives(struct fab_fabric *f)
{
    struct fab_policy p;
    struct fab_graph g;
    struct fab_order o;
    struct fab_cdg t;
    struct fab_nue d;
    unsigned unfit = 0;
    fab_policy_defaults(&p);
    ck_assert_int_eq(fab_route_graph_make(f, &g), FAB_OK);
    ck_assert_int_eq(fab_route_order_find(&g, f, &p, &o), FAB_OK);
    ck_assert_int_eq(fab_route_cdg_init(&t, &g, &o), FAB_OK);
    ck_assert_int_eq(fab_route_nue_init(&d, &g, &o, &t), FAB_OK);
    t.budget = UINT64_MAX;
    fab_route_nue_add_escape_tree(&d);
    for (uint32_t home = 0; home < g.n; home++) {
        if (g.hosts[home] == 0)
            continue;
        ck_assert(fab_route_nue_find(&d, home, false));
        fab_route_nue_keep(&d);
    }
    for (uint32_t k = 0; k < 2 * g.n; k++) {
        if (g.hosts[k % g.n] == 0)
            continue;
        fab_route_nue_restore(&d, k % g.n);
        fab_route_nue_find_alternatives(&d, k < g.n);
        ck_assert(!t.logging);
        unfit += check_alternatives(&d);
    }
    assert_ordered(&t);
    fab_route_nue_fini(&d);
    fab_route_cdg_fini(&t);
    fab_route_order_fini(&o);
    fab_route_graph_fini(&g);
    fab_fabric_unref(f);
    return unfit;
}

START_TEST(alternatives_fit_in_any_combination)
{
    const uint32_t torus[3] = {5, 5, 1};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("alternatives", 11));
    unsigned unfit = find_all_alternatives(grid(torus, true, 1));
    for (unsigned i = 0; i < 40; i++)
        unfit += find_all_alternatives(
            random_fabric(4 + i % 14, 3 + i % 4, 1, fab_base_prng_next(&prng)));
    ck_assert_uint_gt(unfit, 0);
    /* In these two trees, each arc on a shortest path is an alternative. 70 arcs of a spine need
     * more than one word of a bitset. */
    ck_assert_uint_eq(find_all_alternatives(leaf_spine(70, 3, 1)), 0);
    ck_assert_uint_eq(find_all_alternatives(fat_tree(4, 3, 1)), 0);
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
        the_order_of_discovery_changes_nothing,
        trees_have_no_detours,
        vls_shorten_paths,
        an_empty_fabric_has_empty_tables,
        dependencies_never_close_a_cycle,
        without_budget_no_search_is_made,
        alternatives_fit_in_any_combination,
    };
    Suite *suite = suite_create("nue");
    TCase *tcase = tcase_create("nue");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
