/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VLs of traffic classes. The VLs must pass the proof of libfabmgr/verify, and a slow check that
 * follows each packet of each class. Damaged VLs must fail the proof. Rules decide the class of a
 * path.
 */
#include "tests/unit/qos_world.h"

/* Checks that all classes choose VLs as the engine does, each within its own set of VLs. A set has
 * as many VLs as the engine uses. */
static void assert_layout(const struct world *w)
{
    const struct fab_vls *v = &w->t->vls;
    for (uint8_t level = 0; level < v->levels; level++)
        for (unsigned e = 0; e < v->sls; e++) {
            uint8_t sl = v->sl[level][e];
            ck_assert_uint_eq(sl % v->sls, e);
            ck_assert_uint_eq(v->sl[0][e], e);
            for (unsigned in = 0; in < v->classes; in++)
                for (unsigned out = 0; out < v->classes; out++) {
                    ck_assert_uint_eq(v->vl[in][out][sl] % v->lanes, v->vl[in][out][e]);
                    ck_assert_uint_eq(v->vl[in][out][sl] / v->lanes, v->lane_set[level]);
                }
        }
}

/* Makes tables and VLs for f. Both the proof and the slow check must accept them. Frees f. classes:
 * number of traffic classes without the default class. sets: number of sets of VLs that the classes
 * must use; 0: any number. */
static void prove(struct fab_fabric *f, const char *engine, unsigned classes, unsigned sets)
{
    struct world w = world_of(f, classes);
    ck_assert_int_eq(route(&w, engine), FAB_OK);
    ck_assert_uint_eq(w.t->vls.levels, classes + 1);
    if (sets > 0)
        ck_assert_uint_eq(w.report.sets, sets);
    assert_layout(&w);
    struct fab_verdict v = judged(&w, &w.t->vls);
    assert_good(w.f, &v, engine);
    struct naive_vls n = naive_vls(w.f, w.t, &w.p);
    ck_assert(!n.cyclic);
    ck_assert_uint_eq(n.beyond, 0);
    if (!fab_target_vls_keep_vl(&w.t->vls))
        ck_assert_uint_eq(n.dependencies, v.dependencies);
    naive_vls_fini(&n);
    fab_verify_verdict_fini(&v);
    world_fini(&w);
}

START_TEST(the_product_is_proven)
{
    prove(fat_tree(4, 3, 1), "fattree", 1, 2);
    prove(fat_tree(4, 3, 1), "updn", 4, 5);
    prove(grid((uint32_t[3]){4, 4, 1}, true, 2), "torus", 1, 2);
    prove(grid((uint32_t[3]){3, 3, 3}, true, 1), "torus", 1, 2);
    prove(grid((uint32_t[3]){6, 5, 1}, true, 1), "torus", 3, 4);
    prove(grid((uint32_t[3]){4, 4, 1}, true, 1), "nue", 2, 0);
    prove(grid((uint32_t[3]){4, 4, 1}, true, 1), "dfsssp", 2, 0);
}
END_TEST

static struct fab_fabric *dragonfly(void)
{
    struct fab_builder *b;
    const struct fab_dragonfly_spec o = {
        .groups = 5, .group_size = 4, .global = 1, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&o, &b), FAB_OK);
    return sealed(b);
}

START_TEST(so_on_a_dragonfly)
{
    prove(dragonfly(), "dragonfly", 1, 2);
    prove(dragonfly(), "dragonfly", 3, 0);
}
END_TEST

START_TEST(so_with_too_few_lanes_and_sls)
{
    struct world w = world_of(grid((uint32_t[3]){6, 6, 1}, true, 1), 3);
    /* With OperationalVLs 3 (4 VLs), there are two sets of two VLs, and each of the four classes
     * uses one of them. */
    w.p.max_op_vls = 3;
    ck_assert_int_eq(route(&w, "torus"), FAB_OK);
    ck_assert_uint_eq(w.report.sets, 2);
    ck_assert_uint_eq(w.report.notes, 2);
    ck_assert_int_eq(w.report.note[0].kind, FAB_QOS_SHARED_VLS);
    /* the note must name a class with which the VLs are shared, which is never the default class */
    ck_assert_uint_eq(w.report.note[0].other, 1);
    assert_layout(&w);
    struct fab_verdict v = judged(&w, &w.t->vls);
    assert_good(w.f, &v, "torus, 4 VLs");
    fab_verify_verdict_fini(&v);
    char text[400];
    fab_qos_note_text(w.p.classes, &w.report, 0, text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "subnet.max_vls"));
    world_fini(&w);
    w = world_of(grid((uint32_t[3]){5, 5, 5}, true, 1), 4); /* now each class has 8 SLs */
    ck_assert_int_eq(route(&w, "torus"), FAB_OK);
    ck_assert_uint_gt(w.report.notes, 0);
    ck_assert_int_eq(w.report.note[0].kind, FAB_QOS_SHARED_SLS);
    v = judged(&w, &w.t->vls);
    assert_good(w.f, &v, "torus in three dimensions");
    fab_verify_verdict_fini(&v);
    world_fini(&w);
}
END_TEST

/* A ring. If the VLs of one class, whichever it is, permit a cycle of channel dependencies, the
 * proof must fail. */
START_TEST(spoiled_classes_are_refused)
{
    for (uint8_t level = 0; level < 3; level++) {
        struct world w = world_of(grid((uint32_t[3]){6, 1, 1}, true, 1), 2);
        ck_assert_int_eq(route(&w, "torus"), FAB_OK);
        struct fab_vls bad;
        ck_assert_int_eq(fab_target_vls_copy(&w.t->vls, &bad), FAB_OK);
        for (unsigned e = 0; e < bad.sls; e++)
            for (unsigned in = 0; in < bad.classes; in++)
                for (unsigned out = 0; out < bad.classes; out++)
                    bad.vl[in][out][bad.sl[level][e]] = (uint8_t)(bad.lane_set[level] * bad.lanes);
        struct fab_verdict v = judged(&w, &bad);
        ck_assert(!v.deadlock_free);
        ck_assert_int_eq(v.witness.kind, FAB_E_CYCLE);
        ck_assert_uint_eq(v.witness.vls[0], bad.lane_set[level] * bad.lanes);
        fab_verify_verdict_fini(&v);
        fab_target_vls_fini(&bad);
        world_fini(&w);
    }
}
END_TEST

/* Each of two classes alone has no cycle. Together they have one, because they use the same VLs in
 * the opposite order. The proof must find this cycle. */
START_TEST(parts_do_not_prove_the_whole)
{
    struct world w = world_of(grid((uint32_t[3]){6, 1, 1}, true, 1), 1);
    ck_assert_int_eq(route(&w, "torus"), FAB_OK);
    struct fab_vls bad;
    ck_assert_int_eq(fab_target_vls_copy(&w.t->vls, &bad), FAB_OK);
    /* class 1 uses the VLs of the engine in the opposite order */
    for (unsigned e = 0; e < bad.sls; e++)
        for (unsigned in = 0; in < bad.classes; in++)
            for (unsigned out = 0; out < bad.classes; out++)
                bad.vl[in][out][bad.sl[1][e]] = 1 - bad.vl[in][out][e];
    struct fab_verdict v = judged(&w, &bad);
    ck_assert(!v.deadlock_free);
    fab_verify_verdict_fini(&v);
    /* leaves only the SLs of class 1, which alone pass the proof */
    memcpy(bad.sl[0], bad.sl[1], sizeof(bad.sl[0]));
    v = judged(&w, &bad);
    ck_assert(v.deadlock_free);
    fab_verify_verdict_fini(&v);
    fab_target_vls_fini(&bad);
    world_fini(&w);
}
END_TEST

START_TEST(vls_out_of_range_are_refused)
{
    struct world w = world_of(leaf_spine(3, 2, 2), 2);
    ck_assert_int_eq(route(&w, "updn"), FAB_OK);
    struct fab_verdict v;
    struct fab_verify_input in = {.fabric = w.f,
                                  .lids = &w.t->lids,
                                  .lft = &w.t->lft,
                                  .vls = &w.t->vls,
                                  .policy = &w.p,
                                  .max_hops = 64};
    /* three classes need three VLs, but OperationalVLs 2 permits only VLs 0 and 1 */
    w.p.max_op_vls = 2;
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    ck_assert_uint_gt(v.beyond, 0);
    ck_assert(!fab_verify_verdict_good(&v));
    fab_verify_verdict_fini(&v);
    w.t->vls.vl[0][0][w.t->vls.sl[1][0]] = w.t->vls.count;
    ck_assert_int_eq(fab_verify(&in, &v), FAB_E_INVAL);
    world_fini(&w);
}
END_TEST

/* ---- random ---------------------------------------------------------------------------------- */

static void random_classes(struct fab_classes *c, struct fab_prng *r)
{
    unsigned count = 1 + (unsigned)fab_base_prng_below(r, 15);
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%u", i);
        uint8_t sl = fab_base_prng_chance(r, 0.3) ? (uint8_t)(1 + fab_base_prng_below(r, 15))
                                                  : FAB_CLASS_NO_SL;
        add_class(c, name, (uint8_t)fab_base_prng_below(r, 6), fab_base_prng_chance(r, 0.2), sl);
    }
}

START_TEST(random_classes_on_random_fabrics)
{
    static const char *const engines[] = {"updn", "nue", "dfsssp", "sssp", "torus"};
    uint64_t seed = test_seed("qos", 20261120);
    struct fab_prng r;
    fab_base_prng_init(&r, seed);
    unsigned proven = 0, lanes = 0;
    for (unsigned i = 0; i < test_rounds(80); i++) {
        struct fab_fabric *f =
            fab_base_prng_chance(&r, 0.3)
                ? grid((uint32_t[3]){2 + (uint32_t)fab_base_prng_below(&r, 4),
                                     2 + (uint32_t)fab_base_prng_below(&r, 4), 1},
                       true, 1)
                : random_fabric(2 + (uint32_t)fab_base_prng_below(&r, 14),
                                2 + (uint32_t)fab_base_prng_below(&r, 4),
                                1 + (uint32_t)fab_base_prng_below(&r, 20), fab_base_prng_next(&r));
        struct world w = world_of(f, 0);
        random_classes(w.p.classes, &r);
        w.p.max_op_vls = (uint8_t)(1 + fab_base_prng_below(&r, 5));
        if (route(&w, engines[fab_base_prng_below(&r, 5)]) == FAB_OK) {
            struct fab_verdict v = judged(&w, &w.t->vls);
            struct naive_vls n = naive_vls(w.f, w.t, &w.p);
            ck_assert_msg(v.deadlock_free == !n.cyclic, "round %u", i);
            ck_assert_msg((v.beyond == 0) == (n.beyond == 0), "round %u", i);
            assert_layout(&w);
            if (v.deadlock_free)
                ck_assert_msg(v.beyond == 0, "round %u", i);
            proven += v.deadlock_free;
            lanes += w.t->vls.lanes > 1;
            naive_vls_fini(&n);
            fab_verify_verdict_fini(&v);
        }
        world_fini(&w);
    }
    printf("# %u proven, %u with lanes of the engine\n", proven, lanes);
    ck_assert_uint_gt(proven, 10);
    ck_assert_uint_gt(lanes, 0);
}
END_TEST

/* ---- the class of a path --------------------------------------------------------------------- */

static int class_of(const struct fab_qos_matcher *m, uint32_t src, uint32_t dst, uint16_t pkey,
                    int service, int qos_class)
{
    return fab_qos_match(m, &(struct fab_qos_path){.src = src,
                                                   .dst = dst,
                                                   .pkey = pkey,
                                                   .has_service = service >= 0,
                                                   .service = (uint64_t)service,
                                                   .has_class = qos_class >= 0,
                                                   .qos_class = (uint16_t)qos_class});
}

START_TEST(rules_choose_the_class)
{
    struct world w = world_of(leaf_spine(2, 2, 2), 4);
    struct fab_classes_error e;
    struct fab_qos_matcher m;
    uint32_t a = w.f->nodes[w.f->switch_count].first_port + 1;
    uint32_t b = w.f->nodes[w.f->switch_count + 1].first_port + 1;
    char rule[80];
    snprintf(rule, sizeof(rule), "from=0x%016" PRIx64 " qos_class=5",
             fab_fabric_port(w.f, a)->guid);
    ck_assert_int_eq(fab_policy_classes_add_rule(w.p.classes, 1, rule, &e), FAB_OK);
    ck_assert_int_eq(fab_policy_classes_add_rule(w.p.classes, 2, "service=0x100-0x1ff", &e),
                     FAB_OK);
    ck_assert_int_eq(fab_policy_classes_add_rule(w.p.classes, 3, "pkey=0x12", &e), FAB_OK);
    snprintf(rule, sizeof(rule), "to=\"%s\"", w.f->nodes[fab_fabric_port(w.f, b)->node].desc);
    ck_assert_int_eq(fab_policy_classes_add_rule(w.p.classes, 4, rule, &e), FAB_OK);
    ck_assert_int_eq(fab_qos_matcher_init(&m, w.f, &w.p, &w.t->pkeys), FAB_OK);
    ck_assert_int_eq(class_of(&m, a, b, 0xffff, -1, 5), 1);
    ck_assert_int_eq(class_of(&m, b, a, 0xffff, -1, 5), -1);
    ck_assert_int_eq(class_of(&m, b, a, 0xffff, 0x100, -1), 2);
    ck_assert_int_eq(class_of(&m, b, a, 0xffff, 0x200, -1), -1);
    ck_assert_int_eq(class_of(&m, b, a, 0x8012, -1, -1), 3);
    ck_assert_int_eq(class_of(&m, b, a, 0x0012, -1, -1), 3);
    ck_assert_int_eq(class_of(&m, a, b, 0xffff, -1, -1), 4);
    fab_qos_matcher_fini(&m);
    world_fini(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("qos");
    TCase *tcase = tcase_create("qos");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_product_is_proven);
    tcase_add_test(tcase, so_on_a_dragonfly);
    tcase_add_test(tcase, so_with_too_few_lanes_and_sls);
    tcase_add_test(tcase, spoiled_classes_are_refused);
    tcase_add_test(tcase, parts_do_not_prove_the_whole);
    tcase_add_test(tcase, vls_out_of_range_are_refused);
    tcase_add_test(tcase, random_classes_on_random_fabrics);
    tcase_add_test(tcase, rules_choose_the_class);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
