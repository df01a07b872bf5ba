/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets each allocation of the containers and of the MAD session fail once. Also checks that the
 * session allocates nothing while requests come at a steady rate.
 */
#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/text.h"
#include "libfabmgr/mads/mads.h"
#include "tests/unit/testing.h"

#include "tests/unit/failing_alloc.h"

static int fill_a_map(void)
{
    struct fab_map m = {0};
    int status = FAB_OK;
    uint64_t key = 0;
    uint32_t value;
    while (status == FAB_OK && key < 1000) {
        status = fab_base_map_put(&m, key, (uint32_t)key);
        key += status == FAB_OK;
    }
    /* after the failure, the keys from before it are still in the map */
    for (uint64_t i = 0; i < 1000; i++)
        if (fab_base_map_get(&m, i, &value) != (i < key))
            status = FAB_E_NOT_FOUND;
    fab_base_map_fini(&m);
    return status;
}

static int write_a_text(void)
{
    struct fab_text t = {0};
    char *s = NULL;
    for (int i = 0; i < 200; i++)
        fab_base_text_addf(&t, "%100d", i);
    int status = fab_base_text_take(&t, &s, NULL);
    free(s);
    return status;
}

static int fill_an_arena(void)
{
    struct fab_arena a = {0};
    int status = FAB_OK;
    for (size_t i = 0; i < 100 && status == FAB_OK; i++)
        status = fab_base_arena_alloc(&a, i, 100) != NULL ? FAB_OK : FAB_E_NOMEM;
    fab_base_arena_fini(&a);
    return status;
}

static int open_a_session(void)
{
    static const struct fab_path path = {.hops = 0};
    struct fab_mads_config config = {.window_start = 100, .window_max = 100, .timeout_us = 1};
    struct fab_mads_request req = {.mgmt_class = FAB_CLASS_SMP_DIRECTED, .path = &path};
    struct fab_mads *m = fab_mads_new(&config);
    int status = m != NULL ? FAB_OK : FAB_E_NOMEM;
    for (int i = 0; i < 2000 && status == FAB_OK; i++)
        status = fab_mads_submit(m, &req);
    fab_mads_free(m);
    return status;
}

START_TEST(every_allocation_may_fail)
{
    ck_assert_uint_gt(fail_each_allocation(fill_a_map, FAB_E_NOMEM), 3);
    ck_assert_uint_gt(fail_each_allocation(write_a_text, FAB_E_NOMEM), 3);
    ck_assert_uint_gt(fail_each_allocation(fill_an_arena, FAB_E_NOMEM), 3);
    ck_assert_uint_gt(fail_each_allocation(open_a_session, FAB_E_NOMEM), 10);
}
END_TEST

static bool endless(void *ctx, struct fab_mads_request *ret)
{
    static const struct fab_path path = {.hops = 1, .port = {0, 1}};
    (void)ctx;
    ret->mgmt_class = FAB_CLASS_SMP_DIRECTED;
    ret->method = FAB_METHOD_GET;
    ret->path = &path;
    return true;
}

/* Sends a hundred windows of requests. Most are answered, and some are lost. */
static void run_windows(struct fab_mads *m, uint64_t *now)
{
    static uint8_t wire[64][FAB_MAD_SIZE];
    struct fab_mad_addr to;
    for (int round = 0; round < 100; round++) {
        uint32_t n = 0;
        while (fab_mads_output(m, *now, wire[n], &to))
            n++;
        for (uint32_t i = 0; i < n; i++) {
            if (i % 10 != 3)
                fab_wire_smp_answer(wire[i], 0, NULL, wire[i]);
            fab_mads_input(m, *now, FAB_LID_PERMISSIVE, wire[i], FAB_MAD_SIZE, i % 10 == 3);
        }
        fab_mads_expire(m, ++*now);
    }
}

START_TEST(a_running_session_allocates_nothing)
{
    struct fab_mads_config config = {
        .window_start = 64, .window_max = 64, .timeout_us = 1000, .retries = 3};
    struct fab_mads *m = fab_mads_new(&config);
    struct fab_mads_stats stats;
    uint64_t now = 0;
    fab_mads_source(m, endless, NULL);
    run_windows(m, &now);
    alloc_calls = 0;
    run_windows(m, &now);
    ck_assert_uint_eq(alloc_calls, 0);
    fab_mads_stats(m, &stats);
    ck_assert_uint_gt(stats.answered, 300);
    ck_assert_uint_gt(stats.retried, 30);
    fab_mads_free(m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("no memory");
    TCase *tcase = tcase_create("no memory");
    tcase_add_test(tcase, every_allocation_may_fail);
    tcase_add_test(tcase, a_running_session_allocates_nothing);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
