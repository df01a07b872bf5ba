/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares tables before and after the polish. The new tables must pass the proof, and no path may
 * have another length. The greatest load must be what the search reports, and not be higher than
 * before. The result must depend neither on the size of the slices nor on the order of discovery.
 */
#include "libfabmgr/route/local_search/polish.h"

#include "libfabmgr/study/polish_gain.h"
#include "libfabmgr/study/quality.h"
#include "tests/unit/fabric_sets.h"
#include "tests/unit/proving.h"

static void measure(const struct made *m, const struct fab_lft *lft, struct fab_quality *ret)
{
    struct fab_quality_input in = {.fabric = m->f, .lids = &m->t->lids, .lft = lft};
    ck_assert_int_eq(fab_study_quality_measure(&in, ret), FAB_OK);
}

/* Polishes the tables of *m in slices of `work`. Returns the result of fab_route_polish_new. */
static int polish(const struct made *m, uint64_t work, struct fab_lft *ret,
                  struct fab_polish_progress *ret_progress)
{
    struct fab_quality_input measured = {.fabric = m->f, .lids = &m->t->lids, .lft = &m->t->lft};
    struct fab_policy p;
    struct fab_polish *search = NULL;
    uint32_t *ends;
    fab_policy_defaults(&p);
    struct fab_local_search_input in = {
        .fabric = m->f, .policy = &p, .lids = &m->t->lids, .vls = &m->t->vls};
    ck_assert_int_eq(fab_study_quality_endports(&measured, &ends, &in.end_count), FAB_OK);
    in.ends = ends;
    int status = fab_route_polish_new(&in, &m->t->lft, &search);
    free(ends);
    if (status == FAB_OK) {
        while (!fab_route_polish_slice(search, work))
            continue;
        fab_route_polish_get(search, ret_progress);
        status = fab_route_polish_take(search, ret);
    }
    fab_route_polish_free(search);
    fab_policy_fini(&p);
    return status;
}

static void put(struct made *m, struct fab_lft *lft)
{
    fab_target_lft_fini(&m->t->lft);
    m->t->lft = *lft;
}

struct summary {
    const char *engine;
    uint32_t polished, better, at_bound;
};

static void check(struct fab_fabric *f, uint8_t lmc, const char *what, void *ctx)
{
    struct summary *c = ctx;
    struct made m = made_by(c->engine, f);
    struct fab_quality before, after;
    struct fab_lft lft;
    struct fab_polish_progress x;
    struct fab_verdict v = {0};
    (void)lmc;
    bool good = m.status == FAB_OK;
    if (good) {
        v = judged(&m);
        good = fab_verify_verdict_good(&v);
        fab_verify_verdict_fini(&v);
    }
    if (!good || polish(&m, 1000, &lft, &x) != FAB_OK) {
        made_fini(&m);
        return;
    }
    measure(&m, &m.t->lft, &before);
    put(&m, &lft);
    assert_proven(&m, what);
    measure(&m, &m.t->lft, &after);
    ck_assert_msg(x.before == before.all.max && x.load == after.all.max, "%s: reported load", what);
    ck_assert_msg(after.all.max <= before.all.max, "%s: load", what);
    ck_assert_msg(after.all.max >= x.bound, "%s: bound", what);
    ck_assert_msg(memcmp(before.hops, after.hops, sizeof(before.hops)) == 0, "%s: hops", what);
    c->polished++;
    c->better += after.all.max < before.all.max;
    c->at_bound += after.all.max <= x.bound + x.bound / 50;
    made_fini(&m);
}

static void print_summary(const struct summary *c, const char *what, uint32_t least)
{
    printf("# %s, %s: %u polished, %u better, %u within 2 %% of the bound\n", c->engine, what,
           c->polished, c->better, c->at_bound);
    ck_assert_uint_ge(c->better, least);
}

START_TEST(trees_and_families)
{
    static const char *const engines[] = {"fattree", "updn", "nue"};
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
        struct summary c = {.engine = engines[i]};
        fabric_set_trees(test_rounds(30), 1 + i, check, &c);
        fabric_set_modern(test_rounds(30), 1 + i, check, &c);
        fabric_set_families(1 + i, check, &c);
        print_summary(&c, "trees and families", test_rounds(15));
    }
}
END_TEST

/* Tables on several VLs, and tables whose channels follow no order of the switches. */
START_TEST(topologies_without_levels)
{
    static const char *const engines[] = {"dor", "dragonfly", "dfsssp", "torus"};
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
        struct summary c = {.engine = engines[i]};
        fabric_set_families(1 + i, check, &c);
        fabric_set_random(test_rounds(40), 1 + i, check, &c);
        print_summary(&c, "families and random fabrics", 0);
    }
}
END_TEST

/* Slow links count several times. */
START_TEST(slow_links)
{
    struct fab_prng prng;
    struct summary c = {.engine = "updn"};
    fab_base_prng_init(&prng, test_seed("slow links", 1));
    for (uint32_t k = 0; k < 12; k++) {
        struct fab_fabric *f = fat_tree(8, 2 + k % 2, 1);
        for (uint32_t port = 0; port < f->port_count; port++) {
            if (!is_trunk(f, port) || fab_base_prng_below(&prng, 20) != 0)
                continue;
            fab_fabric_edit_port(f, port)->info.width_active = 1;
            fab_fabric_edit_port(f, fab_fabric_port(f, port)->peer)->info.width_active = 1;
        }
        check(f, 0, "slow links", &c);
    }
    print_summary(&c, "slow links", 1);
}
END_TEST

START_TEST(slices_and_discovery_change_nothing)
{
    struct fab_prng prng;
    struct fab_polish_progress x, y;
    fab_base_prng_init(&prng, test_seed("told in any order", 1));
    for (unsigned i = 0; i < 20; i++) {
        struct fab_fabric *f = damaged(fat_tree(8, 3, 1 + i % 3), &prng, 0.05, 0.01);
        struct made a = made_by("fattree", f), b = made_by("fattree", retold(f, &prng, 0));
        struct fab_lft p, q;
        if (a.status == FAB_OK) {
            ck_assert_int_eq(polish(&a, 1, &p, &x), FAB_OK);
            ck_assert_int_eq(polish(&b, UINT64_MAX / 2, &q, &y), FAB_OK);
            ck_assert(fab_target_lft_same(&p, &q));
            ck_assert_uint_eq(x.work, y.work);
            fab_target_lft_fini(&p);
            fab_target_lft_fini(&q);
        }
        made_fini(&a);
        made_fini(&b);
    }
}
END_TEST

/* Returns the number of a port that leads from switch `from` to switch `to`; 0: there is none. */
static uint8_t port_to(const struct fab_fabric *f, uint32_t from, uint32_t to)
{
    for (unsigned num = 1; num <= f->nodes[from].num_ports; num++) {
        if (fab_fabric_peer_node(f, fab_fabric_port_id(f, from, (uint8_t)num)) == to)
            return (uint8_t)num;
    }
    return 0;
}

/* Makes every leaf send all packets for other leaves to `spine`. */
static void use_one_spine(const struct made *m, uint32_t spine)
{
    for (uint32_t lid = 1; lid <= m->t->lids.top; lid++) {
        uint32_t port = m->t->lids.owner[lid], home = fab_fabric_peer_node(m->f, port);
        if (fab_fabric_node_is_switch(m->f, fab_fabric_port(m->f, port)->node))
            continue;
        for (uint32_t sw = 0; sw < m->f->switch_count; sw++) {
            if (sw != home && port_to(m->f, sw, spine) != 0)
                fab_target_lft_row(&m->t->lft, sw)[lid] = port_to(m->f, sw, spine);
        }
    }
}

/* Every leaf sends all packets to the same spine. The polish must spread them over all spines. */
START_TEST(one_spine)
{
    struct made m = made_by("updn", leaf_spine(6, 3, 6));
    struct fab_lft lft;
    struct fab_polish_progress x;
    struct fab_polish_gain g;
    uint32_t spine = 0;
    while (m.f->nodes[spine].num_ports != 6) /* a leaf has 9 ports */
        spine++;
    assert_proven(&m, "leaf-spine");
    use_one_spine(&m, spine);
    ck_assert_int_eq(polish(&m, 1000, &lft, &x), FAB_OK);
    ck_assert_uint_ge(x.before, 2 * x.bound);
    ck_assert_uint_le(x.load, x.bound + x.bound / 10);
    const struct fab_polish_gain_input in = {
        .fabric = m.f, .lids = &m.t->lids, .before = &m.t->lft, .after = &lft};
    ck_assert_int_eq(fab_study_polish_gain(&in, &g), FAB_OK);
    ck_assert_msg(g.objection == NULL, "%s", g.objection);
    ck_assert_uint_eq(g.load_before, x.before);
    ck_assert_uint_eq(g.load_after, x.load);
    ck_assert_uint_gt(g.entries, 0);
    ck_assert_uint_le(g.blocks, g.all_blocks);
    put(&m, &lft);
    assert_proven(&m, "polished");
    made_fini(&m);
}
END_TEST

/* No load can be lower in these tables, so the polish must not change them. */
START_TEST(perfect_tables_stay)
{
    struct made m = made_by("fattree", leaf_spine(6, 3, 3));
    struct fab_lft lft;
    struct fab_polish_progress x;
    struct fab_polish_gain g;
    ck_assert_int_eq(polish(&m, 1000, &lft, &x), FAB_OK);
    ck_assert(fab_target_lft_same(&lft, &m.t->lft));
    ck_assert_uint_eq(x.load, x.bound);
    const struct fab_polish_gain_input in = {
        .fabric = m.f, .lids = &m.t->lids, .before = &m.t->lft, .after = &lft};
    ck_assert_int_eq(fab_study_polish_gain(&in, &g), FAB_OK);
    ck_assert_ptr_nonnull(g.objection);
    fab_target_lft_fini(&lft);
    made_fini(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("polish");
    TCase *tcase = tcase_create("polish");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, trees_and_families);
    tcase_add_test(tcase, topologies_without_levels);
    tcase_add_test(tcase, slow_links);
    tcase_add_test(tcase, slices_and_discovery_change_nothing);
    tcase_add_test(tcase, one_spine);
    tcase_add_test(tcase, perfect_tables_stay);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
