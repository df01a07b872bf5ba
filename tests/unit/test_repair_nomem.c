/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets every allocation of a repair fail in turn. Each time, the result must be NOMEM, and nothing
 * may leak (which the sanitizers check). */
#include "libfabmgr/repair/repair.h"
#include "tests/unit/routing.h"

#include "tests/unit/failing_alloc.h"

static struct fab_fabric *f;
static struct fab_target *t;
static struct fab_policy policy;
static uint32_t dead[2];

static void set_up(void)
{
    fab_policy_defaults(&policy);
    f = leaf_spine(4, 3, 2);
    t = routed(f, &policy);
    for (uint32_t num = 1; dead[0] == 0; num++) {
        if (fab_fabric_peer_node(f, fab_fabric_port_id(f, 0, (uint8_t)num)) < f->switch_count)
            dead[0] = fab_fabric_port_id(f, 0, (uint8_t)num);
    }
    dead[1] = f->port_count - 1;
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

/* Whichever allocation fails, the tables stay unchanged. */
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
        status = fab_repair_clone(r, &twin);
    if (status == FAB_OK)
        status = change(twin, 0);
    memcpy(t->lft.entries, kept.entries, size);
    fab_repair_free(r);
    fab_repair_free(twin);
    fab_target_lft_fini(&kept);
    return status;
}

START_TEST(each_allocation_of_a_repair)
{
    set_up();
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
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
