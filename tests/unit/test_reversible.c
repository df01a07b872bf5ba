/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths are reversible: both directions of a pair have the same SL, whatever engine made the
 * tables. Subnet administration answers requests for reversible paths for all pairs. */
#include "tests/unit/route_families.h"
#include "tests/unit/sa_place.h"
#include "tests/unit/testing.h"

struct counts {
    unsigned tables, several, asked;
};

static void assert_symmetric(const struct fab_fabric *f, const struct fab_target *t,
                             const char *engine, const char *name)
{
    const struct fab_vls *v = &t->vls;
    for (uint32_t lid = 1; lid <= t->lids.top && fab_target_vls_multiple(v); lid++) {
        uint32_t to = t->lids.owner[lid];
        for (uint32_t back = 1; back < lid && to != FAB_NONE; back++) {
            uint32_t from = t->lids.owner[back];
            if (from == FAB_NONE)
                continue;
            uint8_t sl = fab_target_sl(f, &t->lids, v, from, lid),
                    sl_back = fab_target_sl(f, &t->lids, v, to, back);
            ck_assert_msg(sl == sl_back, "%s, %s: LIDs %u and %u: SL %u, back SL %u", name, engine,
                          back, lid, sl, sl_back);
        }
    }
}

/* Requests a path as rdma_cm does, for each pair of endports that are connected. */
static void assert_answered(struct place *x, const char *engine, const char *name)
{
    struct fab_wire_path_record r, q = {.reversible = 1, .paths = 1};
    for (uint32_t i = 0; i < x->sa->endport_count; i++) {
        for (uint32_t k = 0; k < x->sa->endport_count; k++) {
            q.slid = (uint16_t)lid(x, x->sa->endports[i]);
            q.dlid = (uint16_t)lid(x, x->sa->endports[k]);
            want(x, &fab_wire_path_record, &q, NAMES("SLID", "DLID"));
            uint32_t connected = table(x, &r, sizeof(r), 1);
            want(x, &fab_wire_path_record, &q, NAMES("SLID", "DLID", "Reversible", "NumbPath"));
            ck_assert_msg(
                table(x, &r, sizeof(r), 1) == connected && (connected == 0 || r.reversible),
                "%s, %s: no reversible path from LID %u to LID %u", name, engine, q.slid, q.dlid);
        }
    }
}

/* Routes the fabric by all engines. Tables that do not pass the proof are not published, so they
 * need not be reversible. */
static void check(const struct fab_fabric *f, const char *name, struct counts *c)
{
    for (size_t i = 0; fab_route_engines()[i] != NULL; i++) {
        const char *engine = fab_route_engines()[i]->name;
        struct made m = made_by(engine, fab_fabric_ref(f));
        struct fab_verdict v = {0};
        if (m.status == FAB_OK)
            v = judged(&m);
        if (m.status == FAB_OK && fab_verify_verdict_good(&v)) {
            bool several = fab_target_vls_multiple(&m.t->vls);
            c->tables++;
            c->several += several;
            assert_symmetric(f, m.t, engine, name);
            if (several && c->several % 4 == 0) {
                struct place x = place_of(fab_fabric_ref(f), engine, 0, true);
                assert_answered(&x, engine, name);
                c->asked++;
                leave(&x);
            }
        }
        fab_verify_verdict_fini(&v);
        made_fini(&m);
    }
}

START_TEST(families_are_reversible)
{
    struct counts c = {0};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("families", 1));
    for (unsigned i = 0; i < test_rounds(120); i++) {
        const struct family *family = &families[i % FAMILIES];
        struct fab_fabric *whole = family->draw(&prng), *f = damaged_copy(whole, &prng);
        check(whole, family->name, &c);
        check(f, family->name, &c);
        fab_fabric_unref(whole);
        fab_fabric_unref(f);
    }
    printf("# %u tables, %u on several VLs, SA was asked for %u\n", c.tables, c.several, c.asked);
    ck_assert_uint_gt(c.asked * 6, test_rounds(120));
}
END_TEST

START_TEST(random_fabrics_are_reversible)
{
    struct counts c = {0};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("random fabrics", 2));
    for (unsigned i = 0; i < test_rounds(40); i++) {
        struct fab_fabric *f = random_fabric(2 + (uint32_t)fab_base_prng_below(&prng, 30),
                                             3 + i % 4, i % 3, fab_base_prng_next(&prng));
        check(f, "random fabric", &c);
        fab_fabric_unref(f);
    }
    printf("# %u tables, %u on several VLs, SA was asked for %u\n", c.tables, c.several, c.asked);
    ck_assert_uint_gt(c.asked * 8, test_rounds(40));
}
END_TEST

/* On rings of even size, both directions to the opposite switch are equally long. */
START_TEST(tori_are_reversible)
{
    static const uint32_t sizes[][3] = {{6, 1, 1}, {8, 6, 1}, {5, 6, 1}, {6, 4, 2}, {8, 3, 1}};
    struct counts c = {0};
    struct fab_prng prng;
    fab_base_prng_init(&prng, test_seed("tori", 3));
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct fab_fabric *whole = grid(sizes[i], true, 1);
        check(whole, "torus", &c);
        for (unsigned k = 0; k < test_rounds(2); k++) {
            struct fab_fabric *f = damaged_copy(whole, &prng);
            check(f, "damaged torus", &c);
            fab_fabric_unref(f);
        }
        fab_fabric_unref(whole);
    }
    ck_assert_uint_gt(c.asked, 5);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        families_are_reversible,
        random_fabrics_are_reversible,
        tori_are_reversible,
    };
    Suite *suite = suite_create("reversible");
    TCase *tcase = tcase_create("reversible");
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
