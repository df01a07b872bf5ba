/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets each allocation fail once: while congestion control settings, RoCE settings and the fan-in
 * of partitions are computed, while the traffic model runs, and while the daemon computes settings.
 * Each time the result must be NOMEM, and nothing may leak (which the sanitizers check).
 */
#include <string.h>

#include "fabricd/base/log.h"
#include "fabricd/cc/private.h"
#include "libfabmgr/congestion/roce.h"
#include "libfabmgr/partition/incast.h"
#include "libfabmgr/partition/partition.h"
#include "libfabmgr/traffic/traffic.h"
#include "tests/unit/routing.h"

#include "tests/unit/failing_alloc.h"

static struct fab_fabric *f;
static struct fab_policy policy; /* a policy with classes and partitions */
static struct fab_target *target;
static struct config config;
static struct loop *loop;

static int compute(struct fab_congestion *ret)
{
    struct fab_congestion_input in = {.fabric = f, .policy = &policy};
    return fab_congestion_compute(&in, ret);
}

static int settings(void)
{
    struct fab_congestion c;
    int r = compute(&c);
    if (r == FAB_OK)
        fab_congestion_fini(&c);
    return r;
}

static int ethernet(void)
{
    struct fab_congestion c;
    struct fab_congestion_roce *all = NULL;
    size_t count;
    int r = compute(&c);
    if (r != FAB_OK)
        return r;
    r = fab_congestion_roce_compute(&c, f, &policy, &all, &count);
    if (r == FAB_OK)
        free(all);
    fab_congestion_fini(&c);
    return r;
}

static int incasts(void)
{
    static uint32_t senders[4096];
    return fab_partition_incast(f, &target->pkeys, senders);
}

/* runs the traffic model with three senders and one receiver */
static int traffic(void)
{
    struct fab_traffic_flow flows[3];
    struct fab_traffic_input in = {
        .fabric = f, .lids = &target->lids, .lft = &target->lft, .vls = &target->vls};
    struct fab_congestion c = {0};
    struct fab_traffic *t;
    int r = compute(&c);
    for (uint32_t i = 0; i < 3; i++)
        flows[i] = (struct fab_traffic_flow){.from = fab_fabric_port_id(f, f->switch_count + i, 1),
                                             .to = fab_fabric_port_id(f, f->switch_count + 3, 1),
                                             .sl = FAB_TRAFFIC_PATH_SL,
                                             .end = FAB_TRAFFIC_FOREVER,
                                             .bytes = 1u << 20};
    in.congestion = &c;
    if (r == FAB_OK)
        r = fab_traffic_new(&in, flows, 3, &t);
    if (r == FAB_OK) {
        r = fab_traffic_run(t, 100 * FAB_TRAFFIC_US);
        fab_traffic_free(t);
    }
    fab_congestion_fini(&c);
    return r;
}

/* ---- functions of the daemon ----------------------------------------------------------------- */

static struct fab_view *view; /* the view of all these functions */

static void nothing(void *ctx)
{
    (void)ctx;
}

/* Computes settings as the daemon does. In virtual time, worker tasks run at once. Then devices
 * report the sizes of their tables, and a second computation uses these sizes. */
static int daemon_computes(void)
{
    const struct fab_mads_config mads = {.window_start = 1, .window_max = 1, .timeout_us = 1};
    struct cc cc = {.in = {.loop = loop, .config = &config}};
    cc.mads = fab_mads_new(&mads);
    int r = cc.mads ? cc_begin(&cc, view) : FAB_E_NOMEM;
    (void)loop_run(loop); /* runs until the loop has no work left */
    for (uint32_t i = 0; i < cc.device_count; i++)
        cc.devices[i].table_blocks = 1;
    if (r == FAB_OK && cc.generation != 0) {
        cc.generation = 0;
        r = cc_await(&cc, view, nothing, NULL);
        (void)loop_run(loop);
    }
    if (r == FAB_OK && cc.generation == 0)
        r = FAB_E_NOMEM;
    cc_devices_fini(&cc);
    fab_mads_free(cc.mads);
    return r;
}

static void read_policy(void)
{
    static const char jobs[] = "A=1: \"host-0002\"=full, \"host-0003\"=full;\n"
                               "B=2: \"host-0003\"=full, \"host-0004\"=full;\n";
    struct fab_partitions_error e;
    struct fab_classes_error ce;
    uint8_t n;
    fab_policy_defaults(&policy);
    ck_assert_int_eq(fab_policy_partitions_read(jobs, strlen(jobs), &policy.partitions, &e), 0);
    ck_assert_int_eq(fab_policy_classes_new(&policy.classes), 0);
    ck_assert_int_eq(fab_policy_classes_add(policy.classes,
                                            &(struct fab_class){.name = "b", .sl = FAB_CLASS_NO_SL},
                                            &n, &ce),
                     0);
    ck_assert_int_eq(fab_policy_classes_add_rule(policy.classes, n, "from=host-000*", &ce), 0);
}

static void set_up(void)
{
    struct fab_fabric *sealed = leaf_spine(2, 2, 3);
    struct fab_partition_report report;
    struct fab_policy copy;
    struct fab_verdict verdict = {0};
    ck_assert_int_eq(fab_fabric_clone(sealed, &f), 0);
    fab_fabric_unref(sealed);
    f->self_port = fab_fabric_port_id(f, f->switch_count, 1);
    read_policy();
    target = routed(f, &policy);
    struct fab_partition_input in = {.fabric = f, .partitions = policy.partitions};
    ck_assert_int_eq(fab_partition_tables(&in, &target->pkeys, &report), 0);
    fab_target_vls_init(&target->vls, 2);
    target->vls.levels = 2;
    target->vls.sl[1][0] = 1;
    ck_assert_int_eq(fab_policy_copy(&policy, &copy), 0);
    ck_assert_int_eq(fab_policy_copy(&policy, &config.policy), 0);
    view = fab_view_new(7, fab_fabric_ref(f), fab_target_ref(target), &copy, &verdict);
    ck_assert_ptr_nonnull(view);
    loop = loop_new_virtual();
    ck_assert_ptr_nonnull(loop);
}

static void tear_down(void)
{
    loop_free(loop);
    fab_view_unref(view);
    fab_policy_fini(&config.policy);
    fab_policy_fini(&policy);
    fab_target_unref(target);
    fab_fabric_unref(f);
}

START_TEST(each_allocation_may_fail)
{
    log_init((enum log_level)0);
    set_up();
    ck_assert_uint_gt(fail_each_allocation(settings, FAB_E_NOMEM), 6);
    ck_assert_uint_gt(fail_each_allocation(ethernet, FAB_E_NOMEM), 7);
    ck_assert_uint_gt(fail_each_allocation(incasts, FAB_E_NOMEM), 6);
    ck_assert_uint_gt(fail_each_allocation(traffic, FAB_E_NOMEM), 15);
    ck_assert_uint_gt(fail_each_allocation(daemon_computes, FAB_E_NOMEM), 40);
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("congestion without memory");
    TCase *cases = tcase_create("congestion without memory");
    tcase_add_test(cases, each_allocation_may_fail);
    suite_add_tcase(suite, cases);
    return test_run(suite);
}
