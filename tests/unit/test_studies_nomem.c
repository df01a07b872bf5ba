/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets each allocation of quality figures, what-if studies, the traffic model and exports fail
 * once. Each call must return NOMEM and leak no memory (which the sanitizers check).
 */
#include "libfabmgr/export/export.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/study/whatif.h"
#include "libfabmgr/traffic/traffic.h"
#include "tests/unit/routing.h"

#include "tests/unit/failing_alloc.h"

static struct fab_fabric *f;
static struct fab_target *t;
static enum fab_export_format format;

static void set_up(void)
{
    struct fab_policy p;
    fab_policy_defaults(&p);
    f = leaf_spine(3, 2, 3);
    t = routed(f, &p);
    fab_policy_fini(&p);
}

static void tear_down(void)
{
    fab_target_unref(t);
    fab_fabric_unref(f);
}

static int measure(void)
{
    struct fab_quality q;
    const struct fab_quality_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .samples = 3};
    return fab_study_quality_measure(&in, &q);
}

static int measure_job(void)
{
    struct fab_quality q;
    const uint32_t ends[] = {f->port_count - 1, f->port_count - 5};
    const struct fab_quality_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .ends = ends, .end_count = 2, .samples = 3};
    return fab_study_quality_measure(&in, &q);
}

static int imagine(void)
{
    struct fab_whatif w;
    const uint32_t port = f->nodes[0].first_port + 1;
    const struct fab_whatif_input in = {f, &t->lids, &t->lft, &port, 1};
    int rc = fab_study_whatif_make(&in, &w);
    if (rc == FAB_OK)
        fab_study_whatif_fini(&w);
    return rc;
}

static int send(void)
{
    struct fab_traffic *x = NULL;
    const uint32_t last = f->port_count - 1;
    const struct fab_traffic_input in = {.fabric = f, .lids = &t->lids, .lft = &t->lft};
    const struct fab_traffic_flow flows[] = {
        {.from = last - 2, .to = last, .end = FAB_TRAFFIC_FOREVER, .bytes = 1 << 20},
        {.from = last - 8, .to = last, .end = FAB_TRAFFIC_FOREVER, .bytes = 1 << 20}};
    int rc = fab_traffic_new(&in, flows, 2, &x);
    if (rc == FAB_OK)
        rc = fab_traffic_run(x, FAB_TRAFFIC_FOREVER);
    fab_traffic_free(x);
    return rc;
}

static int number(void)
{
    struct fab_verify_numbers numbers;
    const struct fab_verify_input in = {
        .fabric = f, .lids = &t->lids, .lft = &t->lft, .vls = &t->vls};
    int rc = fab_verify_number(&in, &numbers);
    if (rc == FAB_OK)
        fab_verify_numbers_fini(&numbers);
    return rc;
}

static int export(void)
{
    const struct fab_verify_numbers numbers = {1, (uint32_t[1000]){0}};
    const struct fab_export_input in = {
        f, &t->lids, &t->lft, "updn", 1, .vls = &t->vls, .numbers = &numbers};
    struct fab_export *e = NULL;
    struct fab_text text = {0};
    bool done = false;
    int rc = fab_export_new(&in, format, &e);
    while (rc == FAB_OK && !done)
        rc = fab_export_next(e, &text, &done);
    fab_base_text_fini(&text);
    fab_export_free(e);
    return rc;
}

START_TEST(each_allocation_of_quality)
{
    set_up();
    ck_assert_uint_gt(fail_each_allocation(measure, FAB_E_NOMEM), 9);
    ck_assert_uint_gt(fail_each_allocation(measure_job, FAB_E_NOMEM), 9);
    tear_down();
}
END_TEST

START_TEST(each_allocation_of_whatif)
{
    set_up();
    ck_assert_uint_gt(fail_each_allocation(imagine, FAB_E_NOMEM), 8);
    ck_assert_uint_gt(fail_each_allocation(send, FAB_E_NOMEM), 8);
    tear_down();
}
END_TEST

START_TEST(each_allocation_of_exports)
{
    set_up();
    ck_assert_uint_lt(f->port_count, 1000);
    for (format = 0; format < FAB_EXPORT_COUNT; format++)
        ck_assert_uint_gt(fail_each_allocation(export, FAB_E_NOMEM), 2);
    ck_assert_uint_gt(fail_each_allocation(number, FAB_E_NOMEM), 5);
    tear_down();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("studies without memory");
    TCase *c = tcase_create("studies without memory");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, each_allocation_of_quality);
    tcase_add_test(c, each_allocation_of_whatif);
    tcase_add_test(c, each_allocation_of_exports);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return test_run(suite());
}
