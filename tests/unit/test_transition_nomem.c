/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets each allocation of fab_transition_make fail once. The transition needs rounds and draining,
 * with several VLs. */
#include "tests/unit/testing.h"

#include "libfabmgr/transition/transition.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/routing.h"

struct tables {
    struct fab_lids lids;
    struct fab_lft lft;
    struct fab_vls vls;
};

static struct tables make_tables(const struct fab_fabric *f, const char *engine, uint32_t root)
{
    struct tables t = {0};
    struct fab_policy p;
    char why[200] = "";
    uint64_t guid = f->nodes[root].guid;
    fab_policy_defaults(&p);
    p.roots = &guid;
    p.root_count = 1;
    assigned(f, &p, &t.lids);
    struct fab_route_input in = {.fabric = f, .policy = &p, .lids = &t.lids};
    ck_assert_int_eq(fab_route_engine_by_name(engine)->run(&in, &t.lft, &t.vls, why, sizeof(why)),
                     FAB_OK);
    p.roots = NULL;
    p.root_count = 0;
    fab_policy_fini(&p);
    return t;
}

static void tables_fini(struct tables *t)
{
    fab_target_lids_fini(&t->lids);
    fab_target_lft_fini(&t->lft);
    fab_target_vls_fini(&t->vls);
}

static struct fab_transition_input input;

static int scenario(void)
{
    struct fab_transition t;
    int status = fab_transition_make(&input, &t);
    if (status == FAB_OK)
        fab_transition_fini(&t);
    return status;
}

static void check(struct fab_fabric *f, const char *from, const char *to)
{
    struct tables was = make_tables(f, from, 0), is = make_tables(f, to, f->switch_count - 1);
    input = (struct fab_transition_input){.fabric = f,
                                          .lids = &is.lids,
                                          .old_lft = &was.lft,
                                          .new_lft = &is.lft,
                                          .old_vls = &was.vls,
                                          .new_vls = &is.vls};
    ck_assert_uint_gt(fail_each_allocation(scenario, FAB_E_NOMEM), 10);
    tables_fini(&was);
    tables_fini(&is);
    fab_fabric_unref(f);
}

static struct fab_fabric *torus(void)
{
    struct fab_torus_spec spec = {.dimensions = 2, .size = {4, 3}, .hosts = 1, .parallel = 1};
    struct fab_builder *b = NULL;
    ck_assert_int_eq(fab_fabric_generate_torus(&spec, &b), FAB_OK);
    return sealed(b);
}

START_TEST(every_allocation)
{
    check(torus(), "updn", "updn");
    check(torus(), "updn", "nue");
    check(random_fabric(8, 3, 1, 7), "updn", "updn");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transitions without memory");
    TCase *tcase = tcase_create("allocations");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_allocation);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
