/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares tables before and after local search. The new tables must pass the proof. No path may be
 * longer. Neither the maximum load of all-to-all traffic nor that of the worst shift may rise. The
 * result must not depend on the order of discovery. Some fabrics must get better tables.
 */
#include "libfabmgr/route/local_search/local_search.h"

#include "libfabmgr/route/local_search/link_load.h"
#include "libfabmgr/study/quality.h"
#include "tests/unit/fabric_sets.h"
#include "tests/unit/proving.h"

struct improved {
    struct made made;
    struct fab_quality before, after;
};

static void measure(const struct made *m, struct fab_quality *ret)
{
    struct fab_quality_input in = {.fabric = m->f, .lids = &m->t->lids, .lft = &m->t->lft};
    ck_assert_int_eq(fab_study_quality_measure(&in, ret), FAB_OK);
}

static void improve(struct made *m)
{
    struct fab_quality_input measured = {.fabric = m->f, .lids = &m->t->lids, .lft = &m->t->lft};
    struct fab_policy p;
    uint32_t *ends;
    fab_policy_defaults(&p);
    struct fab_local_search_input in = {
        .fabric = m->f, .policy = &p, .lids = &m->t->lids, .vls = &m->t->vls};
    ck_assert_int_eq(fab_study_quality_endports(&measured, &ends, &in.end_count), FAB_OK);
    in.ends = ends;
    ck_assert_int_eq(fab_route_local_search(&in, &m->t->lft), FAB_OK);
    free(ends);
    fab_policy_fini(&p);
}

static uint64_t hops(const struct fab_quality *q)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < FAB_QUALITY_HOPS; i++)
        sum += q->hops[i] * i;
    return sum;
}

/* Runs the engine on f, and then local search on its tables. Takes ownership of f. Returns false if
 * the engine refuses f. */
static bool run(const char *engine, struct fab_fabric *f, const char *what, struct improved *ret)
{
    struct improved p = {.made = made_by(engine, f)};
    struct fab_verdict v = {0};
    bool good = p.made.status == FAB_OK;
    if (good) {
        v = judged(&p.made);
        good = fab_verify_verdict_good(&v);
        fab_verify_verdict_fini(&v);
    }
    if (!good) {
        made_fini(&p.made);
        return false;
    }
    measure(&p.made, &p.before);
    improve(&p.made);
    assert_proven(&p.made, what);
    measure(&p.made, &p.after);
    ck_assert_msg(p.after.all.max <= p.before.all.max, "%s: load", what);
    ck_assert_msg(p.after.shift.max <= p.before.shift.max, "%s: shift", what);
    ck_assert_msg(hops(&p.after) <= hops(&p.before), "%s: hops", what);
    ck_assert_uint_eq(p.after.lost, p.before.lost);
    *ret = p;
    return true;
}

struct summary {
    const char *engine;
    uint32_t improved, better, lanes;
};

static void check(struct fab_fabric *f, uint8_t lmc, const char *what, void *ctx)
{
    struct summary *c = ctx;
    struct improved p;
    (void)lmc;
    if (!run(c->engine, f, what, &p))
        return;
    c->improved++;
    c->lanes += fab_target_vls_multiple(&p.made.t->vls);
    c->better += p.after.all.max < p.before.all.max || p.after.shift.max < p.before.shift.max;
    made_fini(&p.made);
}

static void print_summary(const struct summary *c, const char *what, uint32_t least)
{
    printf("# %s, %s: %u improved, %u of them on many lanes, %u better\n", c->engine, what,
           c->improved, c->lanes, c->better);
    ck_assert_uint_ge(c->better, least);
}

START_TEST(random_fabrics)
{
    static const char *const engines[] = {"updn", "nue", "dfsssp"};
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
        struct summary c = {.engine = engines[i]};
        fabric_set_random(test_rounds(100), 1 + i, check, &c);
        print_summary(&c, "random fabrics", test_rounds(20));
    }
}
END_TEST

START_TEST(trees_and_families)
{
    static const char *const engines[] = {"fattree", "updn", "nue"};
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
        struct summary c = {.engine = engines[i]};
        fabric_set_trees(test_rounds(30), 1 + i, check, &c);
        fabric_set_modern(test_rounds(30), 1 + i, check, &c);
        fabric_set_families(1 + i, check, &c);
        print_summary(&c, "trees and families", test_rounds(20));
    }
}
END_TEST

/* Local search on the tables of engines that do not order the switches by levels. */
START_TEST(topologies_without_levels)
{
    static const char *const engines[] = {"dor", "dragonfly", "dragonfly+", "dfsssp"};
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
        struct summary c = {.engine = engines[i]};
        fabric_set_families(1 + i, check, &c);
        print_summary(&c, "families", 0);
    }
    struct summary c = {.engine = "torus"};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("tori", 1));
    for (uint32_t i = 0; i < 10; i++) {
        struct fab_fabric *f = grid((const uint32_t[3]){5 + i % 2, 5, 1}, true, 2);
        check(with_faults(f, &prng, 1 + i % 3, 0), 0, "torus", &c);
        fab_fabric_unref(f);
    }
    print_summary(&c, "tori", 1);
}
END_TEST

START_TEST(independent_of_discovery)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("told in any order", 1));
    for (unsigned i = 0; i < 20; i++) {
        struct fab_fabric *f = damaged(fat_tree(8, 3, 1 + i % 3), &prng, 0.05, 0.01);
        struct made a = made_by("updn", f), b = made_by("updn", retold(f, &prng, 0));
        improve(&a);
        improve(&b);
        ck_assert_mem_eq(a.t->lft.entries, b.t->lft.entries,
                         a.t->lft.switch_count * a.t->lft.stride);
        made_fini(&a);
        made_fini(&b);
    }
}
END_TEST

/* Some links run at a quarter of the rate, so each path over such a link counts as a load of four.
 * Local search must not raise the maximum loads. */
START_TEST(slow_links)
{
    static const char *const engines[] = {"updn", "nue", "sssp"};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("slow links", 1));
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
        struct summary c = {.engine = engines[i]};
        for (uint32_t k = 0; k < 12; k++) {
            struct fab_fabric *f = k % 2 == 0 ? fat_tree(8, 2 + k / 2 % 2, 1)
                                              : random_fabric(12, 4, 3, fab_base_prng_next(&prng));
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
}
END_TEST

/* No load and no shift can be lower in these tables, so local search must not change them. */
START_TEST(perfect_tables_stay)
{
    struct improved p;
    struct fab_fabric *f = leaf_spine(6, 3, 3);
    ck_assert(run("fattree", f, "whole", &p));
    struct made again = made_by("fattree", fab_fabric_ref(f));
    ck_assert_mem_eq(again.t->lft.entries, p.made.t->lft.entries,
                     again.t->lft.switch_count * again.t->lft.stride);
    made_fini(&again);
    made_fini(&p.made);
}
END_TEST

/* Four leaves with four hosts each, four spines, and one missing link. The four hosts of one leaf
 * send to 12 LIDs over only three uplinks. So some uplink carries 12 / 3 LIDs * 4 hosts = 16 paths
 * or more. */
START_TEST(one_link_less)
{
    struct improved p;
    struct fab_fabric *whole = leaf_spine(4, 4, 4), *f = whole;
    for (uint32_t port = 0; f == whole; port++) {
        if (is_trunk(whole, port))
            f = without_cable(whole, port);
    }
    fab_fabric_unref(whole);
    ck_assert(run("updn", f, "one cable less", &p));
    ck_assert_uint_eq(p.after.all.max, 16); /* the lower bound: 16 paths over an uplink */
    ck_assert_uint_eq(p.after.shift.max, 2);
    made_fini(&p.made);
}
END_TEST

/* Makes a fabric of switches in a line, each with one host. */
static struct fab_fabric *line(uint32_t switches)
{
    struct fab_torus_spec spec = {
        .dimensions = 1, .size = {switches}, .hosts = 1, .parallel = 1, .mesh = true};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_torus(&spec, &b), FAB_OK);
    return sealed(b);
}

/* The loads are computed for paths of up to 64 hops, the longest path in a line of 65 switches. For
 * longer lines, the computation is refused. */
START_TEST(paths_of_64_hops_are_counted)
{
    for (uint32_t switches = 64; switches <= 67; switches++) {
        struct made m = made_by("updn", line(switches));
        struct fab_graph g = {0};
        struct fab_link_load loads;
        struct fab_quality_input measured = {.fabric = m.f, .lids = &m.t->lids, .lft = &m.t->lft};
        struct fab_local_search_input in = {.fabric = m.f, .lids = &m.t->lids};
        uint32_t *ends, *by_port = calloc(m.f->port_count, sizeof *by_port);
        ck_assert_int_eq(m.status, FAB_OK);
        ck_assert_int_eq(fab_study_quality_endports(&measured, &ends, &in.end_count), FAB_OK);
        ck_assert_int_eq(fab_route_graph_make(m.f, &g), FAB_OK);
        for (uint32_t port = 0; port < m.f->port_count; port++)
            by_port[port] = FAB_NONE;
        for (uint32_t sw = 0; sw < g.n; sw++)
            for (uint32_t c = g.port_at[sw]; c < g.port_at[sw + 1]; c++)
                by_port[fab_fabric_port_id(m.f, sw, g.port_num[c])] = c;
        in.ends = ends;
        int status = fab_route_link_load_init(&loads, &g, by_port, &in, &m.t->lft);
        ck_assert_int_eq(status, switches <= 65 ? FAB_OK : FAB_E_LIMIT);
        if (status == FAB_OK) {
            /* the link in the middle carries the most paths */
            uint32_t half = switches / 2;
            ck_assert_uint_eq(fab_route_link_load_max(&loads), half * (switches - half));
            fab_route_link_load_fini(&loads);
        }
        fab_route_graph_fini(&g);
        free(by_port);
        free(ends);
        made_fini(&m);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("local search");
    TCase *tcase = tcase_create("local search");
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, random_fabrics);
    tcase_add_test(tcase, trees_and_families);
    tcase_add_test(tcase, topologies_without_levels);
    tcase_add_test(tcase, independent_of_discovery);
    tcase_add_test(tcase, slow_links);
    tcase_add_test(tcase, perfect_tables_stay);
    tcase_add_test(tcase, one_link_less);
    tcase_add_test(tcase, paths_of_64_hops_are_counted);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
