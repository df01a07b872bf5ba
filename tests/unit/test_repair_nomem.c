/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets each allocation of a repair fail once. Each call must return NOMEM and leak no memory (which
 * the sanitizers check). */
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/repair/repair.h"
#include "tests/unit/routing.h"

#include "tests/unit/failing_alloc.h"

static struct fab_fabric *f;
static struct fab_target *t;
static struct fab_policy policy;
static uint32_t dead[2];

/* Names an ISL and a link to an endport, which fail. */
static void choose_links(void)
{
    for (uint32_t num = 1; dead[0] == 0; num++) {
        if (fab_fabric_peer_node(f, fab_fabric_port_id(f, 0, (uint8_t)num)) < f->switch_count)
            dead[0] = fab_fabric_port_id(f, 0, (uint8_t)num);
    }
    dead[1] = f->port_count - 1;
}

static void set_up(void)
{
    fab_policy_defaults(&policy);
    f = leaf_spine(4, 3, 2);
    t = routed(f, &policy);
    choose_links();
}

/* tables in which the VL depends on the pair of switches */
static void set_up_lanes(void)
{
    struct fab_dragonfly_spec spec = {.group_size = 3, .global = 1, .hosts = 2, .parallel = 1};
    struct fab_builder *b = NULL;
    char why[480] = "";
    fab_policy_defaults(&policy);
    ck_assert_int_eq(fab_fabric_generate_dragonfly(&spec, &b), FAB_OK);
    f = sealed(b);
    t = fab_target_new();
    assigned_with(f, &policy, NULL, 0, &t->lids);
    struct fab_route_input in = {.fabric = f, .policy = &policy, .lids = &t->lids};
    ck_assert_int_eq(
        fab_route_engine_by_name("dfsssp")->run(&in, &t->lft, &t->vls, why, sizeof(why)), FAB_OK);
    ck_assert_uint_gt(fab_target_vls_count(&t->vls), 1);
    choose_links();
}

static int change(struct fab_repair *r, uint32_t count)
{
    struct fab_repair_delta d = {0};
    struct fab_repair_change at;
    char why[100];
    int status = fab_repair_plan(r, &t->lft, dead, count, &d, why, sizeof(why));
    if (status == FAB_OK)
        status = fab_repair_prove(r, &t->lft, &d, &at);
    if (status == FAB_OK)
        status = fab_repair_order(r, &t->lft, &d);
    if (status == FAB_OK)
        fab_repair_commit(r, &t->lft, &d);
    fab_repair_delta_fini(&d);
    return status;
}

static int rebalance(struct fab_repair *r)
{
    struct fab_repair_delta d = {0};
    uint32_t at = 0;
    int status = fab_repair_rebalance(r, &t->lft, 1, &at, &d);
    if (status == FAB_OK)
        status = fab_repair_order(r, &t->lft, &d);
    if (status == FAB_OK)
        fab_repair_commit(r, &t->lft, &d);
    fab_repair_delta_fini(&d);
    return status;
}

/* Makes and commits repairs. If an allocation fails, the tables must be as before. */
static int all(void)
{
    struct fab_repair *r = NULL, *twin = NULL;
    struct fab_lft kept = {0};
    char why[100];
    struct fab_repair_input in = {
        .fabric = f, .policy = &policy, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls};
    int status = fab_target_lft_init(&kept, t->lft.switch_count, t->lft.top);
    if (status != FAB_OK)
        return status;
    size_t size = t->lft.stride * t->lft.switch_count;
    memcpy(kept.entries, t->lft.entries, size);
    status = fab_repair_new(&in, &r, why, sizeof(why));
    if (status == FAB_OK)
        status = change(r, 2);
    if (status == FAB_OK)
        status = rebalance(r);
    if (status == FAB_OK)
        status = fab_repair_clone(r, &twin);
    if (status == FAB_OK)
        status = change(twin, 0);
    memcpy(t->lft.entries, kept.entries, size);
    fab_repair_free(r);
    fab_repair_free(twin);
    fab_target_lft_fini(&kept);
    return status;
}

/* Computes the contingencies of all failures, and stores their plans. */
static int fill(struct fab_repair *r, struct fab_repair_contingencies *c,
                struct fab_repair_contingency_maker **ret)
{
    struct fab_repair_contingency one;
    int status = fab_repair_contingencies_init(c, r);
    if (status == FAB_OK)
        status = fab_repair_contingency_begin(r, ret);
    if (status == FAB_OK) {
        fab_repair_contingency_set_tables(*ret, &t->lft);
        while (fab_repair_contingency_prepare(*ret))
            ;
    }
    while (status == FAB_OK && (status = fab_repair_contingency_next(*ret, true, &one)) == FAB_OK)
        fab_repair_contingencies_add(c, &one);
    return status == FAB_E_NOT_FOUND ? FAB_OK : status;
}

/* Updates the maker after a commit, and checks for each plan whether it is still valid. */
static int follow(struct fab_repair *r, struct fab_repair_contingencies *c,
                  struct fab_repair_contingency_maker *m)
{
    struct fab_repair *later = NULL;
    struct fab_lft tables = {0};
    int status = fab_repair_clone(r, &later);
    fab_repair_contingencies_follow(c, r);
    if (status == FAB_OK)
        status = fab_target_lft_copy(&t->lft, &tables);
    if (status == FAB_OK)
        status = fab_repair_contingency_follow(m, later, &tables);
    else
        fab_repair_free(later);
    while (status == FAB_OK && fab_repair_contingency_prepare(m))
        ;
    for (uint32_t row; status == FAB_OK && (row = fab_repair_contingency_peek(m, 0)) != FAB_NONE;) {
        struct fab_repair_contingency one;
        const struct fab_repair_stored_plan *plan = c->row[row].plan;
        status = plan != NULL ? fab_repair_contingency_recheck(m, plan, c->row[row].commits)
                              : FAB_E_NOT_FOUND;
        if (status == FAB_E_NOMEM || status == FAB_OK)
            continue;
        status = fab_repair_contingency_next(m, true, &one);
        if (status == FAB_OK)
            fab_repair_contingencies_add(c, &one);
    }
    return status;
}

/* Commits the stored plan for the dead link dead[0], and updates the contingencies. */
static int contingencies(void)
{
    struct fab_repair *r = NULL;
    struct fab_repair_contingencies c = {0};
    struct fab_repair_contingency_maker *m = NULL;
    struct fab_repair_delta d = {0};
    struct fab_lft kept = {0};
    char why[100];
    struct fab_repair_input in = {
        .fabric = f, .policy = &policy, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls};
    int status = fab_target_lft_copy(&t->lft, &kept);
    if (status == FAB_OK)
        status = fab_repair_new(&in, &r, why, sizeof(why));
    if (status == FAB_OK)
        status = fill(r, &c, &m);
    if (status == FAB_OK)
        status = fab_repair_contingencies_find(&c, r, &t->lft, dead, 1, &d);
    if (status == FAB_OK)
        status = fab_repair_prepare_commit(&d, NULL, &t->lft);
    if (status == FAB_OK) {
        fab_repair_commit(r, &t->lft, &d);
        status = follow(r, &c, m);
    }
    fab_repair_delta_fini(&d);
    fab_repair_contingencies_fini(&c);
    fab_repair_contingency_end(m);
    fab_repair_free(r);
    if (kept.entries != NULL || kept.switch_count > 0) {
        fab_target_lft_fini(&t->lft);
        t->lft = kept;
    }
    return status;
}

/* Some allocations of the maker only save time, or serve a better order of the writes. If one of
 * these fails, the maker goes on. If it then has no contingency for a failure, the plan is not
 * found (NOT_FOUND). */
START_TEST(each_allocation_of_contingencies)
{
    unsigned spared = 0;
    uint64_t calls, n = 0;
    set_up();
    do {
        alloc_calls = 0;
        alloc_fail_at = n;
        int status = contingencies();
        calls = alloc_calls;
        alloc_fail_at = UINT64_MAX;
        ck_assert(status == FAB_OK ||
                  (n < calls && (status == FAB_E_NOMEM || status == FAB_E_NOT_FOUND)));
        spared += n < calls && status != FAB_E_NOMEM;
    } while (n++ < calls);
    printf("# %u of %u allocations are not needed\n", spared, (unsigned)calls);
    ck_assert_uint_gt(calls, 400);
    ck_assert_uint_lt(spared, 60);
    fab_target_unref(t);
    fab_policy_fini(&policy);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(each_allocation_of_a_repair)
{
    set_up();
    ck_assert_uint_gt(fail_each_allocation(all, FAB_E_NOMEM), 25);
    fab_target_unref(t);
    fab_policy_fini(&policy);
    fab_fabric_unref(f);
}
END_TEST

START_TEST(each_allocation_on_several_lanes)
{
    set_up_lanes();
    ck_assert_uint_gt(fail_each_allocation(all, FAB_E_NOMEM), 25);
    fab_target_unref(t);
    fab_policy_fini(&policy);
    fab_fabric_unref(f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("repair without memory");
    TCase *c = tcase_create("repair without memory");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, each_allocation_of_a_repair);
    tcase_add_test(c, each_allocation_on_several_lanes);
    tcase_add_test(c, each_allocation_of_contingencies);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
