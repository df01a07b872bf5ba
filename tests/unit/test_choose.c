/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice among the engines of a chain. The tables of the chosen engine must be at least as good
 * as those of the others, in whatever order discovery found the nodes. If the first engine reports
 * no flaw, no comparison takes place. If memory runs out, the tables of the first engine stay.
 */
#include "libfabmgr/study/choose_engine.h"

#include <math.h>

#include "libfabmgr/study/figures.h"
#include "tests/unit/routing.h"

#include "tests/unit/failing_alloc.h"

struct chosen {
    struct fab_fabric *f;
    struct fab_policy policy;
    struct fab_lids lids;
    struct fab_route_chain chain;
    struct fab_route_input in;
    bool flawed;
    uint32_t taken;
    struct fab_engine_choice choice;
};

static int computed(const struct chosen *c, struct fab_engine_choice *t)
{
    int status = t->engine->run(&c->in, &t->lft, &t->vls, t->why, sizeof(t->why));
    if (status != FAB_OK)
        return status;
    struct fab_verify_input in = {
        .fabric = c->f, .lids = &c->lids, .lft = &t->lft, .vls = &t->vls, .max_hops = 64};
    ck_assert_int_eq(fab_verify(&in, &t->verdict), FAB_OK);
    return FAB_OK;
}

static void choice_fini(struct fab_engine_choice *t)
{
    fab_target_lft_fini(&t->lft);
    fab_target_vls_fini(&t->vls);
    fab_verify_verdict_fini(&t->verdict);
}

/* Runs the engines of the chain until one of them supports f, and stores its tables. The caller
 * then calls fab_study_choose_engine(). Takes ownership of f. */
static void start(struct chosen *c, struct fab_fabric *f, const char *chain)
{
    char why[80];
    *c = (struct chosen){.f = f};
    fab_policy_defaults(&c->policy);
    assigned(f, &c->policy, &c->lids);
    ck_assert_int_eq(fab_route_chain_parse(chain, &c->chain, why, sizeof(why)), FAB_OK);
    c->in = (struct fab_route_input){
        .fabric = f, .policy = &c->policy, .lids = &c->lids, .flawed = &c->flawed};
    int status = FAB_E_UNSUPPORTED;
    for (c->taken = 0; status != FAB_OK; c->taken += status != FAB_OK) {
        ck_assert_uint_lt(c->taken, c->chain.count);
        c->choice.engine = c->chain.engine[c->taken];
        status = computed(c, &c->choice);
    }
}

static void finish(struct chosen *c)
{
    choice_fini(&c->choice);
    fab_target_lids_fini(&c->lids);
    fab_policy_fini(&c->policy);
    fab_fabric_unref(c->f);
}

static double score(const struct chosen *c, const struct fab_lft *lft)
{
    struct fab_choice_figures figures;
    struct fab_figures_input in = {c->f, &c->lids, lft};
    ck_assert_int_eq(fab_study_figures_measure(&in, &figures), FAB_OK);
    return fab_study_figures_product(&figures);
}

/* Runs the engines of the chain one by one. Of those that pass the proof on one VL, none may be
 * better than the choice by more than the tolerance of 5 %. Returns true if all others are worse
 * than the choice. */
static bool assert_best(struct chosen *c, const char *what)
{
    double mine = score(c, &c->choice.lft), least = INFINITY;
    for (uint32_t i = c->taken; i < c->chain.count; i++) {
        struct fab_engine_choice t = {.engine = c->chain.engine[i]};
        bool other = computed(c, &t) == FAB_OK && fab_verify_verdict_good(&t.verdict) &&
                     !fab_target_vls_multiple(&t.vls);
        double its = other ? score(c, &t.lft) : INFINITY;
        ck_assert_msg(mine <= its * 1.05, "%s: %s is better than %s", what, t.engine->name,
                      c->choice.engine->name);
        choice_fini(&t);
        least = its < least ? its : least;
    }
    return mine < least;
}

static void assert_same(const struct chosen *a, const struct chosen *b)
{
    const struct fab_lft *x = &a->choice.lft, *y = &b->choice.lft;
    ck_assert_str_eq(a->choice.engine->name, b->choice.engine->name);
    ck_assert_str_eq(a->choice.why, b->choice.why);
    ck_assert_uint_eq(x->stride, y->stride);
    ck_assert_mem_eq(x->entries, y->entries, (size_t)x->switch_count * x->stride);
}

static struct fab_fabric *tree_with_holes(uint64_t seed)
{
    static const struct {
        uint32_t radix, levels, taper;
    } trees[] = {{8, 3, 1}, {12, 2, 1}, {12, 2, 2}, {6, 3, 1}};
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    size_t i = fab_base_prng_below(&prng, sizeof(trees) / sizeof(*trees));
    return damaged(fat_tree(trees[i].radix, trees[i].levels, trees[i].taper), &prng, 0.04, 0.01);
}

START_TEST(the_best_is_taken)
{
    uint64_t seed = test_seed("trees with holes", 1);
    uint32_t better = 0;
    for (uint64_t i = 0; i < 60; i++) {
        struct fab_prng prng;
        struct chosen a, b;
        char what[40];
        snprintf(what, sizeof(what), "seed %" PRIu64, seed + i);
        fab_base_prng_init(&prng, seed + i);
        start(&a, tree_with_holes(seed + i), "auto");
        start(&b, retold(a.f, &prng, 0), "auto");
        ck_assert_int_eq(fab_study_choose_engine(&a.in, &a.chain, a.taken, &a.choice), FAB_OK);
        ck_assert_int_eq(fab_study_choose_engine(&b.in, &b.chain, b.taken, &b.choice), FAB_OK);
        if (a.flawed)
            better += assert_best(&a, what);
        assert_same(&a, &b);
        finish(&a);
        finish(&b);
    }
    printf("# better than each engine on %u of 60\n", better);
    ck_assert_uint_ge(better, 30);
}
END_TEST

/* Checks that the choice keeps the tables of the first engine. Takes over f. flawed: whether this
 * engine reports a flaw. */
static void assert_untouched(struct fab_fabric *f, const char *chain, bool flawed)
{
    struct chosen c;
    char why[300];
    start(&c, f, chain);
    ck_assert(c.flawed == flawed);
    snprintf(why, sizeof(why), "%s", c.choice.why);
    struct fab_engine_choice before = c.choice;
    ck_assert_int_eq(fab_study_choose_engine(&c.in, &c.chain, c.taken, &c.choice), FAB_OK);
    ck_assert_ptr_eq(before.lft.entries, c.choice.lft.entries);
    ck_assert_str_eq(why, c.choice.why);
    finish(&c);
}

START_TEST(no_comparison_if_whole_configured_or_large)
{
    assert_untouched(fat_tree(8, 3, 1), "auto", false);
    assert_untouched(leaf_spine(6, 3, 3), "auto", false);
    assert_untouched(tree_with_holes(1), "fattree, updn, nue", true);
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("large", 7));
    assert_untouched(damaged(fat_tree(18, 3, 1), &prng, 0.02, 0), "auto", true);
}
END_TEST

/* Each leaf has four hosts and three uplinks, so D-mod-k gives one uplink twice the load of each
 * other uplink. */
START_TEST(uneven_trees_are_improved)
{
    struct chosen c;
    start(&c, leaf_spine(6, 3, 4), "auto");
    ck_assert(c.flawed);
    double before = score(&c, &c.choice.lft);
    ck_assert_int_eq(fab_study_choose_engine(&c.in, &c.chain, c.taken, &c.choice), FAB_OK);
    ck_assert_double_lt(score(&c, &c.choice.lft), before);
    ck_assert(fab_verify_verdict_good(&c.choice.verdict));
    finish(&c);
}
END_TEST

static uint32_t count_rows(const struct fab_choice *r, const char *engine, bool searched)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->count; i++)
        count += strcmp(r->row[i].engine, engine) == 0 && r->row[i].searched == searched;
    return count;
}

START_TEST(the_record_has_the_figures)
{
    struct chosen c;
    struct fab_choice *r = fab_target_choice_new();
    char text[300];
    start(&c, tree_with_holes(1), "auto");
    c.choice.record = r;
    ck_assert_int_eq(fab_study_choose_engine(&c.in, &c.chain, c.taken, &c.choice), FAB_OK);
    const struct fab_choice_row *taken = fab_target_choice_taken(r);
    ck_assert_str_eq(taken->engine, c.choice.engine->name);
    ck_assert(taken->measured && taken->figures.imbalance >= 1);
    ck_assert(taken->figures.mean_shift <= taken->figures.worst_shift);
    ck_assert_uint_eq(count_rows(r, "fattree", false), 1);
    ck_assert_uint_eq(count_rows(r, "fattree", true), 1);
    ck_assert_uint_eq(count_rows(r, "updn", false), 1);
    ck_assert_uint_eq(count_rows(r, "nue", false), 1);
    fab_target_choice_sentence(r, text, sizeof(text));
    ck_assert_msg(strstr(text, "; the best tables of ") != NULL, "%s", text);
    fab_target_choice_unref(r);
    finish(&c);
}
END_TEST

/* When the record is full, each new row replaces the last row. */
START_TEST(a_full_record)
{
    struct fab_choice *r = fab_target_choice_new();
    char text[40];
    for (unsigned i = 0; i < FAB_CHOICE_ROWS + 2; i++)
        fab_target_choice_add(r, "nue", FAB_CHOICE_REFUSED, "a reason");
    fab_target_choice_add(r, "updn", FAB_CHOICE_TAKEN, "");
    ck_assert_uint_eq(r->count, FAB_CHOICE_ROWS);
    ck_assert_str_eq(fab_target_choice_taken(r)->engine, "updn");
    fab_target_choice_rejected(r, text, sizeof(text));
    ck_assert_str_eq(text, "nue: a reason; nue: a reason; nue: a re");
    fab_target_choice_sentence(r, text, sizeof(text));
    ck_assert_str_eq(text, "");
    fab_target_choice_unref(r);
}
END_TEST

static struct fab_choice_figures figures(double load, double shift, double bandwidth)
{
    return (struct fab_choice_figures){.max_load = load,
                                       .squares = 100,
                                       .worst_shift = shift,
                                       .mean_shift = 2,
                                       .shift_bandwidth = bandwidth,
                                       .permutation_bandwidth = 0.5};
}

/* Compares pairs of tables by their quality figures: which ones are better, and whether the result
 * of local search may replace the tables. */
START_TEST(tolerances)
{
    struct fab_choice_figures x = figures(10, 4, 0.5), y;
    y = figures(10.7, 4, 0.5);
    ck_assert(fab_study_figures_better(&x, 8, &y, 1));
    ck_assert(!fab_study_figures_better(&y, 1, &x, 8));
    /* the loads differ by less than 5 %, so the tables with fewer VLs are better */
    y = figures(10.4, 4, 0.5);
    ck_assert(fab_study_figures_better(&y, 3, &x, 4));
    ck_assert(!fab_study_figures_better(&x, 4, &y, 3));
    ck_assert(!fab_study_figures_better(&x, 3, &y, 3) && !fab_study_figures_better(&y, 3, &x, 3));
    /* with equal numbers of VLs, the tables with the lower sum of squared loads are better */
    y.squares = 98;
    ck_assert(fab_study_figures_better(&y, 3, &x, 3));
    ck_assert(fab_study_figures_keep(&x, &x));
    y = figures(9, 4, 0.49);
    ck_assert(fab_study_figures_keep(&x, &y));
    y = figures(9, 4, 0.48); /* 10 % less load is not worth 4 % less bandwidth */
    ck_assert(!fab_study_figures_keep(&x, &y));
    y = figures(8, 4, 0.48); /* 20 % less load is worth 4 % less bandwidth */
    ck_assert(fab_study_figures_keep(&x, &y));
    y = figures(8, 4, 0.45);
    ck_assert(!fab_study_figures_keep(&x, &y));
    y = figures(9, 4, 0.5);
    y.mean_shift = 2.2;
    ck_assert(!fab_study_figures_keep(&x, &y));
    y = figures(10.1, 3, 0.5);
    ck_assert(!fab_study_figures_keep(&x, &y));
}
END_TEST

static struct chosen lean;

/* Runs the choice while an allocation fails. Afterwards, the tables of the first engine must be
 * unchanged. */
static int choose_lean(void)
{
    struct chosen *c = &lean;
    const uint8_t *entries = c->choice.lft.entries;
    struct fab_engine_choice copy = c->choice;
    int status = fab_study_choose_engine(&c->in, &c->chain, c->taken, &c->choice);
    if (status != FAB_OK && (entries != c->choice.lft.entries || copy.engine != c->choice.engine))
        return FAB_E_INVAL;
    return status;
}

START_TEST(on_nomem_the_choice_is_unchanged)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("holes", 3));
    start(&lean, damaged(fat_tree(4, 3, 1), &prng, 0.05, 0), "auto");
    ck_assert(lean.flawed);
    ck_assert_uint_gt(fail_each_allocation(choose_lean, FAB_E_NOMEM), 100);
    finish(&lean);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choose");
    TCase *tcase = tcase_create("choose");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, the_best_is_taken);
    tcase_add_test(tcase, no_comparison_if_whole_configured_or_large);
    tcase_add_test(tcase, uneven_trees_are_improved);
    tcase_add_test(tcase, the_record_has_the_figures);
    tcase_add_test(tcase, a_full_record);
    tcase_add_test(tcase, tolerances);
    tcase_add_test(tcase, on_nomem_the_choice_is_unchanged);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
