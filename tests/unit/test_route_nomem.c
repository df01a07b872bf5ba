/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets each allocation of addressing, routing, the proof and plans fail once. Each call must return
 * NOMEM, leave its inputs unchanged, and leak no memory (which the sanitizers check).
 */
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/route/local_search/local_search.h"
#include "libfabmgr/route/local_search/polish.h"
#include "libfabmgr/study/quality.h"
#include "tests/unit/routing.h"

/* The linker option --wrap redirects all allocations of this program to these functions. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t count, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t count, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

/* 0: all allocations succeed; n: the n-th allocation from now on fails */
static unsigned countdown;

static bool fails(void)
{
    return countdown > 0 && --countdown == 0;
}
void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}
void *__wrap_reallocarray(void *p, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(p, count, size);
}
void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(align, size);
}

struct job {
    struct fab_fabric *f;
    const char *engine;
    struct fab_policy policy;
    /* correct tables, for the proof and for plans */
    struct fab_target *target;
    /* tables with a cycle of channel dependencies, so that the proof must search for a witness */
    struct fab_target *cyclic;
};

static int do_address(const struct job *j)
{
    struct fab_lids lids;
    struct fab_address_note *notes;
    size_t count;
    struct fab_lease lease = {.port_guid = 1, .lid = 3};
    struct fab_address_input in = {
        .fabric = j->f, .policy = &j->policy, .leases = &lease, .lease_count = 1};
    int status = fab_address_assign(&in, &lids, &notes, &count);
    if (status == FAB_OK) {
        fab_target_lids_fini(&lids);
        free(notes);
    }
    return status;
}

static int do_engine(const struct job *j)
{
    struct fab_lft lft;
    struct fab_vls vls = {0};
    struct fab_route_input in = {.fabric = j->f, .policy = &j->policy, .lids = &j->target->lids};
    int status = fab_route_engine_by_name(j->engine)->run(&in, &lft, &vls, NULL, 0);
    if (status == FAB_OK) {
        fab_target_lft_fini(&lft);
        fab_target_vls_fini(&vls);
    }
    return status;
}

static int do_ranks(const struct job *j)
{
    struct fab_ranks ranks;
    int status = fab_route_ranks_find(j->f, &j->policy, &ranks);
    if (status == FAB_OK)
        fab_route_ranks_fini(&ranks);
    return status;
}

static int do_local_search(const struct job *j)
{
    struct fab_lft lft;
    struct fab_quality_input measured = {
        .fabric = j->f, .lids = &j->target->lids, .lft = &j->target->lft};
    struct fab_local_search_input in = {
        .fabric = j->f, .policy = &j->policy, .lids = &j->target->lids, .vls = &j->target->vls};
    uint32_t *ends;
    int status = fab_study_quality_endports(&measured, &ends, &in.end_count);
    if (status != FAB_OK)
        return status;
    in.ends = ends;
    status = fab_target_lft_copy(&j->target->lft, &lft);
    if (status == FAB_OK) {
        status = fab_route_local_search(&in, &lft);
        fab_target_lft_fini(&lft);
    }
    free(ends);
    return status;
}

static int do_polish(const struct job *j)
{
    struct fab_lft lft;
    struct fab_polish *search;
    struct fab_quality_input measured = {
        .fabric = j->f, .lids = &j->target->lids, .lft = &j->target->lft};
    struct fab_local_search_input in = {
        .fabric = j->f, .policy = &j->policy, .lids = &j->target->lids, .vls = &j->target->vls};
    uint32_t *ends;
    int status = fab_study_quality_endports(&measured, &ends, &in.end_count);
    if (status != FAB_OK)
        return status;
    in.ends = ends;
    status = fab_route_polish_new(&in, &j->target->lft, &search);
    if (status == FAB_OK) {
        while (!fab_route_polish_slice(search, 1000))
            continue;
        status = fab_route_polish_take(search, &lft);
        if (status == FAB_OK)
            fab_target_lft_fini(&lft);
        fab_route_polish_free(search);
    }
    free(ends);
    return status;
}

static int verify_of(const struct job *j, const struct fab_target *t)
{
    struct fab_verdict v;
    struct fab_verify_input in = {.fabric = j->f,
                                  .lids = &t->lids,
                                  .lft = &t->lft,
                                  .vls = &t->vls,
                                  .policy = &j->policy,
                                  .max_hops = 64};
    char *text = NULL;
    int status = fab_verify(&in, &v);
    if (status != FAB_OK)
        return status;
    status = fab_verify_witness_text(j->f, &v.witness, &text);
    free(text);
    fab_verify_verdict_fini(&v);
    return status;
}

static int do_verify(const struct job *j)
{
    return verify_of(j, j->target);
}
static int do_verify_cycle(const struct job *j)
{
    return verify_of(j, j->cyclic);
}

/* Copies what is known about tables, with SLs and VLs, into the same snapshot. */
static int move_again(const struct job *j, const struct fab_observed *from)
{
    struct fab_observed moved;
    int status = fab_plan_observed_remap(from, j->f, j->f, j->target->lids.top, &moved);
    if (status == FAB_OK)
        fab_plan_observed_fini(&moved);
    return status;
}

static int do_plan(const struct job *j)
{
    struct fab_observed observed, moved;
    struct fab_plan plan;
    int status = fab_plan_observed_init(&observed, j->f->switch_count, j->target->lids.top);
    if (status != FAB_OK)
        return status;
    status = fab_plan_observed_remap(&observed, j->f, j->f, j->target->lids.top, &moved);
    if (status == FAB_OK) {
        struct fab_plan_input in = {.fabric = j->f,
                                    .policy = &j->policy,
                                    .target = j->target,
                                    .observed = &moved,
                                    .sm_lid = 1};
        status = fab_plan_make(&in, &plan);
        if (status == FAB_OK) {
            fab_plan_vls_begin(&in, &plan, &moved);
            status = fab_plan_vls_done(&in, &moved);
            fab_plan_fini(&plan);
        }
        if (status == FAB_OK)
            status = move_again(j, &moved);
        fab_plan_observed_fini(&moved);
    }
    fab_plan_observed_fini(&observed);
    return status;
}

/* Calls work(j) until it succeeds; in the n-th call, the n-th allocation fails. More than
 * `at_least` calls must be needed. */
static void fail_each(const struct job *j, int (*work)(const struct job *), unsigned at_least)
{
    int status = FAB_E_NOMEM;
    unsigned nth = 0;
    while (status == FAB_E_NOMEM && nth < 10000) {
        countdown = ++nth;
        status = work(j);
    }
    bool all_tried = countdown > 0;
    countdown = 0;
    ck_assert_int_eq(status, FAB_OK);
    ck_assert(all_tried);
    ck_assert_uint_gt(nth, at_least);
}

static void fail_engine(struct job *j, const char *engine, unsigned at_least)
{
    j->engine = engine;
    fail_each(j, do_engine, at_least);
}

/* Changes the entries of a ring so that all packets travel clockwise. */
static void turn_clockwise(const struct fab_fabric *f, struct fab_target *t)
{
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint32_t clockwise = fab_fabric_port_id(f, sw, 1);
        while (fab_fabric_peer_node(f, clockwise) != (sw + 1) % f->switch_count)
            clockwise++;
        for (uint32_t lid = 1; lid <= t->lids.top; lid++) {
            uint32_t node = fab_fabric_port(f, t->lids.owner[lid])->node;
            uint32_t home =
                node < f->switch_count ? node : fab_fabric_peer_node(f, t->lids.owner[lid]);
            if (home != sw)
                fab_target_lft_row(&t->lft, sw)[lid] = fab_fabric_port(f, clockwise)->num;
        }
    }
}

START_TEST(every_allocation_may_fail)
{
    struct job j = {.f = grid((uint32_t[3]){7, 1, 1}, true, 2)};
    fab_policy_defaults(&j.policy);
    j.target = routed(j.f, &j.policy);
    j.cyclic = routed(j.f, &j.policy);
    turn_clockwise(j.f, j.cyclic);
    fail_each(&j, do_address, 5);
    fail_each(&j, do_ranks, 5);
    fail_engine(&j, "updn", 10);
    fail_engine(&j, "nue", 15);
    fail_engine(&j, "minhop", 12);
    fail_engine(&j, "sssp", 15);
    fail_engine(&j, "dfsssp", 20);
    fail_each(&j, do_verify, 5);
    fail_each(&j, do_verify_cycle, 5);
    fail_each(&j, do_plan, 5);
    fab_target_unref(j.target);
    fab_target_unref(j.cyclic);
    fab_fabric_unref(j.f);
}
END_TEST

/* Gives odd LIDs one VL, and even LIDs another. */
static int give_lanes(const struct fab_fabric *f, struct fab_target *t)
{
    fab_target_vls_init(&t->vls, 2);
    int status = fab_target_vls_by_lid(&t->vls, t->lids.top);
    if (status == FAB_OK)
        status = fab_target_vls_by_class(&t->vls, f->port_count);
    for (uint32_t lid = 1; lid <= t->lids.top && status == FAB_OK; lid++)
        t->vls.of_lid[lid] = lid % 2;
    return status;
}

START_TEST(so_with_lanes)
{
    struct job j = {.f = grid((uint32_t[3]){7, 1, 1}, true, 2)};
    fab_policy_defaults(&j.policy);
    j.target = routed(j.f, &j.policy);
    j.cyclic = routed(j.f, &j.policy);
    turn_clockwise(j.f, j.cyclic);
    ck_assert_int_eq(give_lanes(j.f, j.target), FAB_OK);
    ck_assert_int_eq(give_lanes(j.f, j.cyclic), FAB_OK);
    fail_each(&j, do_verify, 6);
    fail_each(&j, do_verify_cycle, 6);
    fail_each(&j, do_plan, 6);
    /* links have only one VL now, so the tables need too many VLs, and the witness is a port */
    j.policy.max_op_vls = 1;
    fail_each(&j, do_verify, 6);
    fab_target_unref(j.target);
    fab_target_unref(j.cyclic);
    fab_fabric_unref(j.f);
}
END_TEST

/* If dfsssp chose the paths first, it would need more than two VLs here. So it chooses paths and
 * VLs together. */
START_TEST(so_with_few_lanes)
{
    struct job j = {.f = random_fabric(24, 5, 2, 2)};
    struct fab_vls vls = {0};
    struct fab_lft lft;
    char why[200];
    fab_policy_defaults(&j.policy);
    j.policy.max_op_vls = 2;
    j.target = routed(j.f, &j.policy);
    struct fab_route_input in = {.fabric = j.f, .policy = &j.policy, .lids = &j.target->lids};
    ck_assert_int_eq(fab_route_engine_by_name("dfsssp")->run(&in, &lft, &vls, why, sizeof(why)),
                     FAB_OK);
    ck_assert_msg(vls.of_pair != NULL, "%s", why);
    fab_target_lft_fini(&lft);
    fab_target_vls_fini(&vls);
    fail_engine(&j, "dfsssp", 25);
    fail_each(&j, do_local_search, 15);
    fail_each(&j, do_polish, 15);
    fab_target_unref(j.target);
    fab_fabric_unref(j.f);
}
END_TEST

START_TEST(so_in_a_tree)
{
    struct job j = {.f = fat_tree(4, 3, 1)};
    fab_policy_defaults(&j.policy);
    j.target = routed(j.f, &j.policy);
    fail_engine(&j, "fattree", 15);
    fail_each(&j, do_verify, 5);
    fab_target_unref(j.target);
    fab_fabric_unref(j.f);
}
END_TEST

/* Routes the fabric of the builder b, which this function takes over, with this engine. Each
 * allocation fails once. */
static void fail_on(struct fab_builder *b, const char *engine)
{
    struct job j = {.f = sealed(b)};
    fab_policy_defaults(&j.policy);
    j.target = routed(j.f, &j.policy);
    fail_engine(&j, engine, 8);
    fab_target_unref(j.target);
    fab_fabric_unref(j.f);
}

START_TEST(so_in_lattices_and_dragonflies)
{
    struct fab_builder *b = NULL;
    struct fab_torus_spec torus = {.dimensions = 2, .size = {5, 3}, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_torus(&torus, &b), FAB_OK);
    fail_on(b, "torus");
    struct fab_hyperx_spec hyperx = {.dimensions = 2, .size = {4, 3}, .hosts = 1, .parallel = 1};
    ck_assert_int_eq(fab_fabric_generate_hyperx(&hyperx, &b), FAB_OK);
    fail_on(b, "dor");
    struct fab_dragonfly_spec dragonfly = {5, 4, 1, 1, 1};
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&dragonfly, &b), FAB_OK);
    fail_on(b, "dragonfly");
    struct fab_dragonfly_plus_spec plus = {3, 2, 2, 2, 1, 1};
    ck_assert_int_eq(fab_fabric_generate_dragonfly_plus(&plus, &b), FAB_OK);
    fail_on(b, "dragonfly+");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("route nomem");
    TCase *tcase = tcase_create("engines");
    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, every_allocation_may_fail);
    tcase_add_test(tcase, so_with_few_lanes);
    tcase_add_test(tcase, so_in_a_tree);
    tcase_add_test(tcase, so_with_lanes);
    tcase_add_test(tcase, so_in_lattices_and_dragonflies);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
