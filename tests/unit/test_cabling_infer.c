/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library infers from a fabric without a plan: levels, rails, and cables that do not fit.
 * It must report deliberate mistakes in the cabling between switches. In a regular fabric, it must
 * report nothing.
 */
#include "libfabmgr/cabling/infer.h"
#include "libfabmgr/cabling/levels.h"
#include "tests/unit/cabling_fabrics.h"
#include "tests/unit/cabling_mistakes.h"
#include "tests/unit/routing.h"

#include <string.h>

static struct fab_cabling_shape *infer(const struct fab_fabric *f)
{
    struct fab_cabling_shape *s = NULL;
    ck_assert_int_eq(fab_cabling_infer(f, &s), 0);
    return s;
}

/* ---- regular fabrics ------------------------------------------------------------------------- */

static const struct {
    const char *name;
    struct fab_fabric *(*make)(void);
    uint32_t hosts, rails, levels;
    struct fab_cabling_level level[3];
    uint32_t missing; /* number of links by which the fabric falls short of the regular structure */
} fabrics[] = {
    {"648 hosts", tree_648, 648, 0, 2, {{36, 40, 18, 0, 18, 0, 0}, {18, 40, 0, 36, 0, 0, 0}}, 0},
    {"3,456 hosts",
     tree_3456,
     3456,
     0,
     3,
     {{288, 28, 12, 0, 12, 0, 0}, {288, 28, 0, 12, 12, 0, 0}, {144, 28, 0, 24, 0, 0, 0}},
     0},
    {"1,280 hosts with 8 adapters",
     rails_1280,
     1280,
     8,
     3,
     {{320, 100, 32, 0, 32, 0, 0}, {128, 100, 0, 80, 16, 0, 0}, {64, 100, 0, 32, 0, 0, 0}},
     0},
    {"sat11",
     sat11,
     281,
     0,
     3,
     {{160, 41, 16, 0, 20, 0, 5}, {160, 41, 0, 20, 20, 0, 5}, {80, 41, 0, 40, 0, 0, 0}},
     5},
};

static void check_level(const struct fab_cabling_level *x, const struct fab_cabling_level *y)
{
    ck_assert_uint_eq(x->switches, y->switches);
    ck_assert_uint_eq(x->ports, y->ports);
    ck_assert_uint_eq(x->hosts, y->hosts);
    ck_assert_uint_eq(x->down, y->down);
    ck_assert_uint_eq(x->up, y->up);
    ck_assert_uint_eq(x->side, y->side);
    ck_assert_uint_eq(x->odd, y->odd);
}

START_TEST(shapes_are_inferred)
{
    struct fab_fabric *f = fabrics[_i].make();
    if (f == NULL)
        return;
    struct fab_cabling_shape *s = infer(f);
    ck_assert_uint_eq(s->hosts, fabrics[_i].hosts);
    ck_assert_uint_eq(s->rails, fabrics[_i].rails);
    ck_assert_uint_eq(s->level_count, fabrics[_i].levels);
    for (uint32_t i = 0; i < s->level_count; i++)
        check_level(&s->levels[i], &fabrics[_i].level[i]);
    ck_assert_uint_eq(s->links_in_pattern, s->links + fabrics[_i].missing);
    ck_assert_uint_eq(s->check->difference_count, fabrics[_i].missing);
    ck_assert_uint_eq(s->check->kinds[FAB_CABLING_MISSING], fabrics[_i].missing);
    ck_assert_uint_eq(s->adapter_count, 0);
    fab_cabling_shape_free(s);
    fab_fabric_unref(f);
}
END_TEST

/* Torus, dragonfly and random fabrics have no levels, so no cable is reported. */
START_TEST(other_fabrics_have_no_pattern)
{
    const struct fab_torus_spec torus = {
        .dimensions = 2, .size = {5, 5}, .hosts = 4, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_torus(&torus, &b), 0);
    struct fab_fabric *f[] = {sealed(b), random_fabric(30, 6, 2, 7), random_fabric(2, 1, 1, 3)};
    for (size_t i = 0; i < sizeof f / sizeof *f; i++) {
        struct fab_cabling_shape *s = infer(f[i]);
        ck_assert_uint_eq(s->check->difference_count, 0);
        ck_assert_uint_eq(s->links_in_pattern, 0);
        ck_assert(i != 0 || s->links == 50);
        fab_cabling_shape_free(s);
        fab_fabric_unref(f[i]);
    }
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

static bool isl_with_cable(const struct mistakes *m, uint32_t port)
{
    return switch_with_cable(m, port) && is_switch_port(m, plain_port(m, port)->peer);
}

/* Exchanges two cables at one switch that lead to other switches. Returns the number of wrong
 * cables; 0: the switch has fewer than two such cables. */
static unsigned swap_isls(struct mistakes *m)
{
    struct mistake x = {0};
    uint32_t port[2] = {choose(m, FAB_NONE, isl_with_cable), FAB_NONE};
    ck_assert_uint_ne(port[0], FAB_NONE);
    port[1] = choose(m, plain_port(m, port[0])->node, isl_with_cable);
    if (port[1] == FAB_NONE)
        return 0;
    rotate(m, &x, port, 2);
    return 2;
}

static void pull_isl(struct mistakes *m)
{
    uint32_t port = choose(m, FAB_NONE, isl_with_cable);
    ck_assert_uint_ne(port, FAB_NONE);
    unplug(m, port);
}

START_TEST(odd_cables_are_named)
{
    struct fab_fabric *plain = fabrics[_i].make(), *f = NULL;
    struct mistakes m;
    unsigned wrong = 0, pulled = 5;
    mistakes_init(&m, plain, test_seed(fabrics[_i].name, 30 + (uint64_t)_i));
    for (unsigned i = 0; i < 10; i++)
        wrong += swap_isls(&m);
    for (unsigned i = 0; i < pulled; i++)
        pull_isl(&m);
    ck_assert_int_eq(fab_fabric_builder_seal(m.b, &f), 0);
    struct fab_cabling_shape *s = infer(f);
    ck_assert_uint_eq(s->check->difference_count, wrong + pulled);
    ck_assert_uint_eq(s->check->kinds[FAB_CABLING_MISSING], pulled);
    ck_assert_uint_eq(s->check->moves.count, wrong / 2 + pulled);
    fab_cabling_shape_free(s);
    fab_fabric_unref(f);
    fab_fabric_unref(plain);
    mistakes_fini(&m);
}
END_TEST

START_TEST(odd_rails_are_named)
{
    struct fab_fabric *plain = rails_1280(), *f = NULL;
    struct mistakes m;
    struct mistake x = {0};
    mistakes_init(&m, plain, test_seed("rails", 3));
    ck_assert(swap_rails(&m, &x));
    /* takes one cable from a host: hosts with fewer adapters are not compared with the others */
    unplug(&m, choose(&m, FAB_NONE, leaf_with_host));
    ck_assert_int_eq(fab_fabric_builder_seal(m.b, &f), 0);
    struct fab_cabling_shape *s = infer(f);
    ck_assert_uint_eq(s->adapter_count, 2);
    ck_assert_uint_eq(s->adapter_rails[0].rail, s->adapter_rails[1].other_rail);
    ck_assert_uint_eq(s->adapter_rails[1].rail, s->adapter_rails[0].other_rail);
    fab_cabling_shape_free(s);
    fab_fabric_unref(f);
    fab_fabric_unref(plain);
    mistakes_fini(&m);
}
END_TEST

/* A leaf without hosts counts as a leaf, even if a single link connects it with its spine. */
START_TEST(an_empty_leaf_is_a_leaf)
{
    struct fab_cabling_links links[4] = {{.level = 0}};
    struct drawing *d = draw_new();
    uint32_t spine = draw_switch(d, 8), leaf[3];
    for (uint32_t i = 0; i < 3; i++) {
        leaf[i] = draw_switch(d, 8);
        draw_cable(d, leaf[i], spine);
    }
    draw_hosts(d, leaf[0], 2);
    draw_hosts(d, leaf[1], 2);
    struct fab_fabric *f = draw_done(d);
    ck_assert_int_eq(fab_cabling_find_levels(f, links), 0);
    ck_assert_uint_eq(links[spine].level, 2);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(links[leaf[i]].level, 1);
    ck_assert_uint_eq(links[spine].down, 3);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cabling/infer");
    TCase *all = tcase_create("infer");
    tcase_add_loop_test(all, shapes_are_inferred, 0, 4);
    tcase_add_test(all, other_fabrics_have_no_pattern);
    tcase_add_loop_test(all, odd_cables_are_named, 0, 3);
    tcase_add_test(all, odd_rails_are_named);
    tcase_add_test(all, an_empty_leaf_is_a_leaf);
    tcase_set_timeout(all, 120);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
