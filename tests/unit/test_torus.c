/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines "dor" and "torus" on whole and damaged grids: every way proven lane by lane, as short
 * as cables allow where nothing is missing, SLs that no fault changes, the same bytes whatever the
 * order of discovery, and a reason where the topology is another one.
 */
#include "tests/unit/lanes.h"

struct made {
    struct fab_fabric *f;
    struct fab_target *t;
    int status;
    char why[200];
};

/* Consumes f. */
static struct made made_by(const char *engine, struct fab_fabric *f)
{
    struct made m = {.f = f, .t = fab_target_new()};
    struct fab_policy p;
    fab_policy_defaults(&p);
    assigned(f, &p, &m.t->lids);
    struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &m.t->lids};
    m.status =
        fab_route_engine_by_name(engine)->run(&in, &m.t->lft, &m.t->vls, m.why, sizeof(m.why));
    fab_policy_fini(&p);
    return m;
}

static void made_fini(struct made *m)
{
    fab_target_unref(m->t);
    fab_fabric_unref(m->f);
}

static struct fab_verdict judged(const struct made *m)
{
    struct fab_verdict v;
    struct fab_policy p;
    fab_policy_defaults(&p);
    struct fab_verify_input in = {.fabric = m->f,
                                  .lids = &m->t->lids,
                                  .lft = &m->t->lft,
                                  .max_hops = 255,
                                  .vls = &m->t->vls,
                                  .policy = &p};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    fab_policy_fini(&p);
    return v;
}

static void assert_proven(const struct made *m, const char *what)
{
    ck_assert_msg(m->status == FAB_OK, "%s: %d %s", what, m->status, m->why);
    struct fab_verdict v = judged(m);
    assert_good(m->f, &v, what);
    fab_verdict_fini(&v);
}

static struct fab_fabric *torus(uint32_t x, uint32_t y, uint32_t z, uint32_t hosts,
                                uint32_t parallel, bool mesh)
{
    struct fab_torus_spec spec = {.dimensions = z > 0 ? 3 : 2,
                                  .size = {x, y, z},
                                  .hosts = hosts,
                                  .parallel = parallel,
                                  .mesh = mesh};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_torus(&spec, &b), FAB_OK);
    return sealed(b);
}

static void whole(const char *engine, struct fab_fabric *f, const char *expect, const char *what)
{
    struct made m = made_by(engine, f);
    assert_proven(&m, what);
    if (expect != NULL)
        ck_assert_str_eq(m.why, expect);
    made_fini(&m);
}

START_TEST(whole_tori_are_proven)
{
    static const uint32_t sizes[][3] = {{3, 3, 0}, {3, 4, 0}, {4, 4, 0}, {5, 5, 0}, {4, 6, 0},
                                        {3, 3, 3}, {4, 4, 4}, {5, 4, 3}, {5, 5, 5}, {6, 5, 2},
                                        {7, 1, 1}, {8, 8, 0}, {6, 6, 4}, {8, 8, 8}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char what[40];
        snprintf(what, sizeof(what), "torus %u %u %u", sizes[i][0], sizes[i][1], sizes[i][2]);
        whole("torus", torus(sizes[i][0], sizes[i][1], sizes[i][2], 1, 1, false), NULL, what);
        whole("torus", torus(sizes[i][0], sizes[i][1], sizes[i][2], 2, 2, true), NULL, what);
        whole("dor", torus(sizes[i][0], sizes[i][1], sizes[i][2], 2, 2, true), NULL, what);
    }
}
END_TEST

/* ---- faults ---------------------------------------------------------------------------------- */

static bool is_trunk(const struct fab_fabric *f, uint32_t port)
{
    return f->ports[port].node < f->switch_count && naive_is_channel(f, port);
}

/* Without the cable at `port`. f stays. */
static struct fab_fabric *without_cable(const struct fab_fabric *f, uint32_t port)
{
    struct fab_builder *b = fab_builder_from(f);
    uint32_t ref;
    ck_assert_int_eq(fab_builder_find(b, f->nodes[f->ports[port].node].guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_builder_unlink(b, ref, f->ports[port].num), FAB_OK);
    return sealed(b);
}

/* Without the switch and its ends. */
static struct fab_fabric *without_switch(const struct fab_fabric *f, uint32_t sw)
{
    struct fab_builder *b = fab_builder_from(f);
    uint32_t ref;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t peer = fab_peer_node(f, fab_port_id(f, sw, (uint8_t)num));
        if (peer == FAB_NONE || fab_node_is_switch(f, peer))
            continue;
        ck_assert_int_eq(fab_builder_find(b, f->nodes[peer].guid, &ref), FAB_OK);
        ck_assert_int_eq(fab_builder_remove(b, ref), FAB_OK);
    }
    ck_assert_int_eq(fab_builder_find(b, f->nodes[sw].guid, &ref), FAB_OK);
    ck_assert_int_eq(fab_builder_remove(b, ref), FAB_OK);
    return sealed(b);
}

/* Pairs of switches of `now` whose SL is not that of `before`. */
static uint64_t changed_sls(const struct made *before, const struct made *now)
{
    uint64_t changed = 0;
    for (uint32_t to = 0; to < now->f->switch_count; to++) {
        uint32_t old_to = fab_fabric_node_by_guid(before->f, now->f->nodes[to].guid);
        for (uint32_t from = 0; from < now->f->switch_count; from++) {
            uint32_t old_from = fab_fabric_node_by_guid(before->f, now->f->nodes[from].guid);
            changed += fab_vls_sl(&now->t->vls, from, to, 0) !=
                       fab_vls_sl(&before->t->vls, old_from, old_to, 0);
        }
    }
    return changed;
}

/* What became of many faults. */
struct tally {
    unsigned tried, refused, unproven, changed;
};

static void try_one(struct tally *tally, const char *engine, const struct made *before,
                    struct fab_fabric *f)
{
    struct made m = made_by(engine, f);
    tally->tried++;
    if (m.status == FAB_OK) {
        struct fab_verdict v = judged(&m);
        tally->unproven += !fab_verdict_good(&v);
        tally->changed += changed_sls(before, &m) != 0;
        fab_verdict_fini(&v);
    } else {
        ck_assert_int_eq(m.status, FAB_E_UNSUPPORTED);
        ck_assert_str_ne(m.why, "");
        tally->refused++;
    }
    made_fini(&m);
}

static void say(const struct tally *t, const char *what, const char *faults)
{
    printf("# %s, %u %s: %u refused, %u not proven, SLs changed by %u\n", what, t->tried, faults,
           t->refused, t->unproven, t->changed);
    fflush(stdout);
}

static struct tally cable_faults(const char *engine, const struct made *before, const char *what)
{
    struct tally t = {0};
    for (uint32_t port = 0; port < before->f->port_count; port++) {
        if (is_trunk(before->f, port) && before->f->ports[port].peer > port)
            try_one(&t, engine, before, without_cable(before->f, port));
    }
    say(&t, what, "cables");
    return t;
}

static struct tally switch_faults(const char *engine, const struct made *before, const char *what)
{
    struct tally t = {0};
    for (uint32_t sw = 0; sw < before->f->switch_count; sw++)
        try_one(&t, engine, before, without_switch(before->f, sw));
    say(&t, what, "switches");
    return t;
}

/* Consumes f. Every fault of one cable or one switch is routed and proven, and changes no SL. */
static void survives(const char *engine, struct fab_fabric *f, const char *what)
{
    struct made before = made_by(engine, f);
    assert_proven(&before, what);
    struct tally cables = cable_faults(engine, &before, what);
    struct tally switches = switch_faults(engine, &before, what);
    ck_assert_uint_eq(cables.refused + cables.unproven + cables.changed, 0);
    ck_assert_uint_eq(switches.refused + switches.unproven, 0);
    ck_assert_uint_le(switches.changed, 1); /* the anchor */
    made_fini(&before);
}

START_TEST(single_faults_of_tori)
{
    static const uint32_t sizes[][3] = {{3, 3, 0}, {3, 4, 0}, {4, 4, 0}, {5, 5, 0},
                                        {4, 6, 0}, {8, 8, 0}, {5, 6, 0}, {3, 3, 3},
                                        {4, 4, 4}, {5, 4, 3}, {5, 5, 5}, {6, 5, 2}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char what[40];
        snprintf(what, sizeof(what), "torus %u %u %u", sizes[i][0], sizes[i][1], sizes[i][2]);
        survives("torus", torus(sizes[i][0], sizes[i][1], sizes[i][2], 1, 1, false), what);
    }
}
END_TEST

static struct fab_fabric *hyperx(uint32_t x, uint32_t y, uint32_t z, uint32_t hosts,
                                 uint32_t parallel)
{
    struct fab_hyperx_spec spec = {.dimensions = z > 0   ? 3
                                                 : y > 0 ? 2
                                                         : 1,
                                   .size = {x, y, z},
                                   .hosts = hosts,
                                   .parallel = parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_hyperx(&spec, &b), FAB_OK);
    return sealed(b);
}

static struct fab_fabric *hypercube(uint32_t dimensions, uint32_t hosts, uint32_t parallel)
{
    struct fab_hypercube_spec spec = {dimensions, hosts, parallel};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_generate_hypercube(&spec, &b), FAB_OK);
    return sealed(b);
}

START_TEST(single_faults_of_others)
{
    for (uint32_t d = 2; d <= 6; d++) {
        char what[40];
        snprintf(what, sizeof(what), "hypercube %u", d);
        survives("dor", hypercube(d, 1, 1), what);
    }
    static const uint32_t sizes[][3] = {{4, 0, 0}, {8, 0, 0}, {3, 5, 0}, {4, 4, 0},
                                        {4, 6, 0}, {6, 8, 0}, {3, 3, 4}, {4, 5, 3}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char what[40];
        snprintf(what, sizeof(what), "HyperX %u %u %u", sizes[i][0], sizes[i][1], sizes[i][2]);
        survives("dor", hyperx(sizes[i][0], sizes[i][1], sizes[i][2], 1, 1), what);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("torus");
    TCase *c = tcase_create("torus");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, whole_tori_are_proven);
    tcase_add_test(c, single_faults_of_tori);
    tcase_add_test(c, single_faults_of_others);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
