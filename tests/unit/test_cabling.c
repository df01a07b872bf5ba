/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparison of fabrics with cabling plans, for fat trees, a rail fabric and the fabric of a real
 * site. The report must have each of 50 random mistakes, with the right cables and the fewest
 * moves. A fabric without mistakes has no difference. Links that are down are only reported as
 * missing.
 */
#include "libfabmgr/cabling/compare.h"
#include "tests/unit/cabling_fabrics.h"
#include "tests/unit/cabling_mistakes.h"
#include "tests/unit/fabrics.h"

#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"

#define MISTAKES 50

/* ---- fabrics --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    struct fab_fabric *(*make)(void);
} fabrics[] = {
    {"648 hosts", tree_648},
    {"3,456 hosts", tree_3456},
    {"1,280 hosts with 8 adapters", rails_1280},
    {"sat11", sat11},
};

static struct fab_cabling_plan *plan_of(const struct fab_fabric *f)
{
    struct fab_cabling_plan *p = fab_cabling_plan_new();
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(fab_cabling_plan_add_fabric(p, f, true), 0);
    return p;
}

static struct fab_cabling_check *compare(const struct fab_cabling_plan *p,
                                         const struct fab_fabric *f)
{
    struct fab_cabling_check *c = NULL;
    ck_assert_int_eq(fab_cabling_compare(p, f, &c), 0);
    return c;
}

/* ---- seeded mistakes ------------------------------------------------------------------------- */

static uint32_t port_at(const struct fab_cabling_check *c, const struct place *place)
{
    for (uint32_t i = 0; i < c->site_count; i++) {
        const struct fab_cabling_site *s = &c->sites[i];
        uint64_t guid = s->observed != FAB_NONE ? c->fabric->nodes[s->observed].guid
                                                : c->plan->nodes[s->planned].guid;
        if (guid == place->guid)
            return s->first_port + place->port;
    }
    ck_abort_msg("no node 0x%016" PRIx64, place->guid);
}

/* Returns the difference that names this cable; there must be exactly one. */
static const struct fab_cabling_difference *find(const struct fab_cabling_check *c, uint32_t a,
                                                 uint32_t b)
{
    const struct fab_cabling_difference *found = NULL;
    for (size_t i = 0; i < c->difference_count; i++) {
        const struct fab_cabling_difference *d = &c->differences[i];
        if ((d->a != a || d->b != b) && (d->a != b || d->b != a))
            continue;
        ck_assert_msg(found == NULL, "a cable has two differences");
        found = d;
    }
    ck_assert_msg(found != NULL, "no difference of %s/%u", fab_cabling_site_of(c, a)->name,
                  fab_cabling_port_number(c, a));
    return found;
}

static bool is_kind_of(enum fab_cabling_kind kind, enum mistake_kind mistake)
{
    static const uint32_t kinds[MISTAKE_KINDS] = {
        [SWAP_AT_SWITCH] = 1u << FAB_CABLING_SWAPPED | 1u << FAB_CABLING_WRONG_RAIL |
                           1u << FAB_CABLING_WRONG_PLANE,
        [SWAP_BETWEEN] = 1u << FAB_CABLING_SWAPPED | 1u << FAB_CABLING_WRONG_RAIL |
                         1u << FAB_CABLING_WRONG_PLANE,
        [RING] = 1u << FAB_CABLING_WRONG_PORT | 1u << FAB_CABLING_WRONG_HOST |
                 1u << FAB_CABLING_WRONG_RAIL | 1u << FAB_CABLING_WRONG_PLANE,
        [WRONG_PORT] = 1u << FAB_CABLING_WRONG_PORT,
        [WRONG_HOST] = 1u << FAB_CABLING_WRONG_HOST,
        [SWAP_RAILS] = 1u << FAB_CABLING_WRONG_RAIL | 1u << FAB_CABLING_SWAPPED,
        [ABSENT_CABLE] = 1u << FAB_CABLING_MISSING,
        [EXTRA_CABLE] = 1u << FAB_CABLING_EXTRA,
        [SLOW] = 1u << FAB_CABLING_WRONG_SPEED,
    };
    return (kinds[mistake] >> kind & 1) != 0;
}

static bool is_of_mistake(const struct fab_cabling_check *c, const struct mistake *x, uint32_t port)
{
    for (unsigned i = 0; i < x->cables; i++)
        for (unsigned end = 0; end < 2; end++)
            if (port_at(c, &x->cable[i][end]) == port)
                return true;
    return false;
}

/* Checks the number and the kind of the moves that correct mistake x. Each move starts at a port of
 * a wrong cable. If only one cable end moves (FAB_CABLING_MOVE), its destination is the planned
 * port. In all other moves, both ports must be those of wrong cables. */
static void check_moves(const struct fab_cabling_check *c, const struct mistake *x, uint32_t group)
{
    unsigned moves = 0;
    for (size_t i = 0; i < c->moves.count; i++) {
        const struct fab_cabling_move *m = &c->moves.moves[i];
        if (m->group != group)
            continue;
        moves++;
        ck_assert_int_eq(m->step, x->step);
        ck_assert(is_of_mistake(c, x, m->a));
        if (m->step == FAB_CABLING_MOVE)
            ck_assert_uint_eq(c->planned[m->b], m->other);
        else
            ck_assert(is_of_mistake(c, x, m->b));
    }
    ck_assert_uint_eq(moves, x->moves);
}

static void check_mistake(const struct fab_cabling_check *c, const struct mistake *x)
{
    for (unsigned i = 0; i < x->cables; i++) {
        uint32_t a = port_at(c, &x->cable[i][0]), b = port_at(c, &x->cable[i][1]);
        const struct fab_cabling_difference *d = find(c, a, b);
        ck_assert_msg(is_kind_of(d->kind, x->kind), "mistake %d is named %s", (int)x->kind,
                      fab_cabling_kind_name(d->kind));
        if (x->kind != ABSENT_CABLE && x->kind != SLOW) {
            ck_assert_uint_eq(d->planned_a, c->planned[d->a]);
            ck_assert_uint_eq(d->planned_b, c->planned[d->b]);
        }
        if (i == 0 && x->moves > 0)
            check_moves(c, x, d->group);
    }
}

/* Makes mistakes of all kinds that are possible in the fabric. */
static unsigned make_mistakes(struct mistakes *m, struct mistake *list)
{
    unsigned count = 0;
    for (unsigned i = 0; count < MISTAKES && i < 4 * MISTAKES; i++)
        count += make_mistake(m, i % MISTAKE_KINDS, &list[count]);
    ck_assert_uint_eq(count, MISTAKES);
    return count;
}

static void check_all(const struct fab_cabling_check *c, const struct mistake *list, unsigned down)
{
    unsigned differences = down, moves = down;
    for (unsigned i = 0; i < MISTAKES; i++) {
        check_mistake(c, &list[i]);
        differences += list[i].cables;
        moves += list[i].moves;
    }
    ck_assert_uint_eq(c->difference_count, differences);
    ck_assert_uint_eq(c->moves.count, moves);
}

/* Gives all switches the same name. */
static void forget_names(struct mistakes *m)
{
    static const char name[] = "Quantum Mellanox Technologies";
    for (uint32_t i = 0; i < m->plain->switch_count; i++)
        ck_assert_int_eq(fab_fabric_builder_set_desc(m->b, i, name, sizeof name - 1), 0);
}

/* Returns the fabric that the manager sees. */
static struct fab_fabric *seen(struct mistakes *m)
{
    struct fab_fabric *all = NULL, *f = NULL;
    uint32_t dropped;
    ck_assert_int_eq(fab_fabric_builder_seal(m->b, &all), 0);
    ck_assert_int_eq(fab_fabric_reachable(all, &f, &dropped), 0);
    fab_fabric_unref(all);
    return f;
}

/* Puts the manager at an adapter port whose cable has no mistake. */
static void place_manager(struct mistakes *m)
{
    const struct fab_port *p = plain_port(m, choose(m, m->plain->switch_count, has_cable));
    fab_fabric_builder_set_self(m->b, p->node, p->num);
}

/* Makes mistakes in a fabric, takes some links down, and checks the report. names: true: switches
 * have names of their own; false: all switches still have the same factory name. */
static void try_mistakes(const struct fab_fabric *plain, const struct fab_cabling_plan *plan,
                         uint64_t seed, unsigned down, bool names)
{
    struct mistake list[MISTAKES];
    struct mistakes m;
    mistakes_init(&m, plain, seed);
    place_manager(&m);
    make_mistakes(&m, list);
    ck_assert_uint_eq(take_down(&m, down), down);
    if (!names)
        forget_names(&m);
    struct fab_fabric *f = seen(&m);
    struct fab_cabling_check *c = compare(plan, f);
    check_all(c, list, down);
    ck_assert(!fab_cabling_is_foreign(c));
    fab_cabling_check_free(c);
    fab_fabric_unref(f);
    mistakes_fini(&m);
}

/* The plan has the switches leaf-008 and leaf-009, but the fabric does not. The report has one
 * difference for each, with the number of its planned links. leaf-007 has one planned link, which
 * is missing. */
START_TEST(absent_switches_have_their_planned_links)
{
    static const char text[] = "node_a,port_a,node_b,port_b\n"
                               "leaf-007,5,spine-001,19\n"
                               "leaf-008,1,spine-001,20\nleaf-008,2,spine-001,21\n"
                               "leaf-009,1,spine-001,22\nleaf-009,2,spine-002,22\n"
                               "leaf-009,7,spine-002,23\nleaf-009,8,spine-002,24\n";
    struct fab_fabric *f = leaf_spine(2, 2, 2);
    struct fab_cabling_plan *plan = fab_cabling_plan_new();
    struct fab_text_error e;
    unsigned links[2] = {0};
    ck_assert_int_eq(fab_cabling_plan_read(plan, text, sizeof text - 1, &e), 0);
    struct fab_cabling_check *c = compare(plan, f);
    for (size_t i = 0; i < c->difference_count; i++) {
        const struct fab_cabling_difference *d = &c->differences[i];
        const char *name = fab_cabling_site_of(c, d->a)->name;
        if (d->kind != FAB_CABLING_ABSENT)
            continue;
        ck_assert(strcmp(name, "leaf-008") == 0 || strcmp(name, "leaf-009") == 0);
        ck_assert_uint_eq(d->nodes, 1);
        links[name[7] - '8'] += d->count;
    }
    ck_assert_uint_eq(links[0], 2);
    ck_assert_uint_eq(links[1], 4);
    fab_cabling_check_free(c);
    fab_cabling_plan_free(plan);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(mistakes_are_all_named)
{
    struct fab_fabric *f = fabrics[_i].make();
    if (f == NULL)
        return;
    struct fab_cabling_plan *plan = plan_of(f);
    uint64_t seed = test_seed(fabrics[_i].name, 20 + (uint64_t)_i);
    for (unsigned round = 0; round < test_rounds(8); round++) {
        try_mistakes(f, plan, seed + round, 0, true);
        try_mistakes(f, plan, seed + round, f->link_count / 100, true);
    }
    fab_cabling_plan_free(plan);
    fab_fabric_unref(f);
}
END_TEST

/* All switches have the same name, and the plan has no GUIDs. Even so, the library recognizes each
 * switch by its hosts or by its neighbours, although some cables are wrong. */
START_TEST(mistakes_are_named_without_names_of_switches)
{
    struct fab_fabric *f = fabrics[_i].make();
    struct fab_cabling_plan *plan = plan_of(f);
    uint64_t seed = test_seed(fabrics[_i].name, 40 + (uint64_t)_i);
    for (uint32_t i = 0; i < f->switch_count; i++)
        plan->nodes[i].guid = 0;
    for (unsigned round = 0; round < test_rounds(4); round++)
        try_mistakes(f, plan, seed + round, f->link_count / 100, false);
    fab_cabling_plan_free(plan);
    fab_fabric_unref(f);
}
END_TEST

/* ---- exchanged nodes ------------------------------------------------------------------------- */

/* Exchanges the names of two nodes. */
static void exchange_names(struct fab_builder *b, const struct fab_fabric *f, uint32_t x,
                           uint32_t y)
{
    const char *name[2] = {f->nodes[x].desc, f->nodes[y].desc};
    ck_assert_int_eq(fab_fabric_builder_set_desc(b, x, name[1], strlen(name[1])), 0);
    ck_assert_int_eq(fab_fabric_builder_set_desc(b, y, name[0], strlen(name[0])), 0);
}

static uint32_t node_named(const struct fab_fabric *f, const char *name)
{
    for (uint32_t i = 0; i < f->node_count; i++)
        if (strcmp(f->nodes[i].desc, name) == 0)
            return i;
    ck_abort_msg("no node %s", name);
}

START_TEST(exchanged_nodes_are_named)
{
    struct fab_fabric *plain = rails_1280(), *f = NULL;
    struct fab_cabling_plan *plan = plan_of(plain);
    struct fab_builder *b = fab_fabric_builder_from(plain);
    char x[40], y[40];
    for (unsigned i = 0; i < 8; i++) {
        snprintf(x, sizeof x, "node-0007/mlx5_%u", i);
        snprintf(y, sizeof y, "node-0912/mlx5_%u", i);
        exchange_names(b, plain, node_named(plain, x), node_named(plain, y));
    }
    exchange_names(b, plain, node_named(plain, "su05-leaf-2"), node_named(plain, "su09-leaf-2"));
    ck_assert_int_eq(fab_fabric_builder_seal(b, &f), 0);
    struct fab_cabling_check *c = compare(plan, f);
    ck_assert_uint_eq(c->exchange_count, 2);
    ck_assert_uint_eq(c->exchanges[0].cables, 64);
    ck_assert_uint_eq(c->exchanges[1].cables, 8);
    ck_assert_str_eq(c->sites[c->exchanges[0].a].name, "su09-leaf-2");
    ck_assert_str_eq(c->sites[c->exchanges[0].b].name, "su05-leaf-2");
    ck_assert_str_eq(c->sites[c->exchanges[1].a].name, "node-0912/mlx5_0");
    ck_assert_str_eq(c->sites[c->exchanges[1].b].name, "node-0007/mlx5_0");
    ck_assert_uint_eq(c->moves.count, 72);
    fab_cabling_check_free(c);
    fab_cabling_plan_free(plan);
    fab_fabric_builder_free(b);
    fab_fabric_unref(f);
    fab_fabric_unref(plain);
}
END_TEST

/* ---- any mistakes ---------------------------------------------------------------------------- */

/* A port, and the port at the other end of its cable, if it has a cable. Both are node references
 * of the builder and port numbers. */
struct end {
    uint32_t ref, peer_ref;
    uint8_t port, peer_port;
    bool linked;
};

static struct end random_end(struct mistakes *m)
{
    struct end e = {.ref = (uint32_t)fab_base_prng_below(&m->prng, m->plain->switch_count)};
    e.port = (uint8_t)(1 + fab_base_prng_below(&m->prng, m->plain->nodes[e.ref].num_ports));
    e.linked = fab_fabric_builder_peer(m->b, e.ref, e.port, &e.peer_ref, &e.peer_port) == FAB_OK;
    return e;
}

/* Exchanges the cable ends at two random ports. Does nothing if both ends belong to one cable. One
 * of the two ports may be free. */
static void exchange_ends(struct mistakes *m)
{
    struct end a = random_end(m), b = random_end(m);
    if ((a.ref == b.ref && a.port == b.port) ||
        (a.linked && a.peer_ref == b.ref && a.peer_port == b.port))
        return;
    fab_fabric_builder_unlink(m->b, a.ref, a.port);
    fab_fabric_builder_unlink(m->b, b.ref, b.port);
    if (b.linked)
        ck_assert_int_eq(fab_fabric_builder_link(m->b, a.ref, a.port, b.peer_ref, b.peer_port), 0);
    if (a.linked)
        ck_assert_int_eq(fab_fabric_builder_link(m->b, b.ref, b.port, a.peer_ref, a.peer_port), 0);
}

static void pull_some(struct mistakes *m, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct end e = random_end(m);
        fab_fabric_builder_unlink(m->b, e.ref, e.port);
    }
}

static void set_cable(uint32_t *cable, uint32_t a, uint32_t b)
{
    if (a != FAB_NONE)
        cable[a] = b;
}

/* Makes the moves that the check proposes. Afterwards all cables must be as planned. */
static void check_result(const struct fab_cabling_check *c)
{
    uint32_t *cable = malloc(c->port_count * sizeof *cable);
    memcpy(cable, c->actual, c->port_count * sizeof *cable);
    for (size_t i = 0; i < c->moves.count; i++) {
        const struct fab_cabling_move *m = &c->moves.moves[i];
        uint32_t x = cable[m->a], y = cable[m->b];
        bool connects = m->step == FAB_CABLING_CONNECT, removes = m->step == FAB_CABLING_REMOVE;
        ck_assert_int_eq(x == m->b, removes);
        cable[m->a] = removes ? FAB_NONE : connects ? m->b : y;
        cable[m->b] = removes ? FAB_NONE : connects ? m->a : x;
        if (removes || connects)
            continue;
        set_cable(cable, y, m->a);
        set_cable(cable, x, m->b);
    }
    ck_assert_mem_eq(cable, c->planned, c->port_count * sizeof *cable);
    free(cable);
}

/* Checks that each wrong cable is reported once, and that no correct cable is reported. */
static void check_names(const struct fab_cabling_check *c)
{
    unsigned wrong = 0, named = 0;
    for (uint32_t p = 0; p < c->port_count; p++)
        wrong += c->actual[p] != FAB_NONE && c->actual[p] > p && c->planned[p] != c->actual[p];
    for (size_t i = 0; i < c->difference_count; i++) {
        const struct fab_cabling_difference *d = &c->differences[i];
        if (d->kind == FAB_CABLING_MISSING)
            continue;
        ck_assert_uint_eq(c->actual[d->a], d->b);
        ck_assert_uint_ne(c->planned[d->a], d->b);
        named++;
    }
    ck_assert_uint_eq(named, wrong);
}

START_TEST(any_mistakes_are_mended)
{
    struct fab_fabric *plain = tree_648(), *f = NULL;
    struct fab_cabling_plan *plan = plan_of(plain);
    uint64_t seed = test_seed("any mistakes", 60);
    for (unsigned round = 0; round < test_rounds(40); round++) {
        struct mistakes m;
        mistakes_init(&m, plain, seed + round);
        for (unsigned i = 0; i < 10 * round; i++)
            exchange_ends(&m);
        pull_some(&m, 5 * round);
        ck_assert_int_eq(fab_fabric_builder_seal(m.b, &f), 0);
        struct fab_cabling_check *c = compare(plan, f);
        check_result(c);
        check_names(c);
        fab_cabling_check_free(c);
        fab_fabric_unref(f);
        mistakes_fini(&m);
    }
    fab_cabling_plan_free(plan);
    fab_fabric_unref(plain);
}
END_TEST

START_TEST(a_faithful_fabric_has_no_difference)
{
    struct fab_fabric *f = fabrics[_i].make();
    if (f == NULL)
        return;
    struct fab_cabling_plan *plan = plan_of(f);
    struct fab_cabling_check *c = compare(plan, f);
    ck_assert_uint_eq(c->difference_count, 0);
    ck_assert_uint_eq(c->moves.count, 0);
    ck_assert_uint_eq(c->correct, f->link_count);
    ck_assert_uint_eq(c->matched[FAB_CABLING_UNMATCHED], 0);
    fab_cabling_check_free(c);
    fab_cabling_plan_free(plan);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cabling");
    TCase *mistakes = tcase_create("mistakes");
    tcase_add_test(mistakes, absent_switches_have_their_planned_links);
    tcase_add_loop_test(mistakes, mistakes_are_all_named, 0, 4);
    tcase_add_loop_test(mistakes, mistakes_are_named_without_names_of_switches, 0, 3);
    tcase_add_test(mistakes, exchanged_nodes_are_named);
    tcase_add_test(mistakes, any_mistakes_are_mended);
    tcase_add_loop_test(mistakes, a_faithful_fabric_has_no_difference, 0, 4);
    tcase_set_timeout(mistakes, 120);
    suite_add_tcase(suite, mistakes);
    return test_run(suite);
}
