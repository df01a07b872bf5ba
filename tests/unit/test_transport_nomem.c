/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaches the manager to a simulated fabric, while each allocation fails once. If attaching
 * succeeds, only the message about nodes without a path may be missing. */
#include "fabricd/loop/loop.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/base/status.h"
#include "tests/unit/fabrics.h"

#include "tests/unit/failing_alloc.h"

static struct loop *loop;
static struct fab_sim *sim;
static bool well_said = true;

static int open_and_close(void)
{
    struct transport *t = NULL;
    char why[200] = "";
    int status = transport_sim_open(loop, sim, NULL, &t, why, sizeof why);
    if (status == FAB_OK)
        transport_close(t);
    else
        well_said &= strcmp(why, "out of memory") == 0;
    return status;
}

START_TEST(each_allocation_may_fail)
{
    struct fab_fabric *f = leaf_spine(2, 2, 2);
    unsigned opened = 0, refused = 0;
    loop = loop_new();
    ck_assert_ptr_nonnull(loop);
    ck_assert_int_eq(fab_sim_new(f, 1, &sim), FAB_OK);
    bool failed = true;
    for (uint64_t n = 0; failed; n++) {
        alloc_calls = 0;
        alloc_fail_at = n;
        int status = open_and_close();
        failed = alloc_calls > n;
        alloc_fail_at = UINT64_MAX;
        ck_assert(status == FAB_OK || status == FAB_E_NOMEM);
        opened += status == FAB_OK;
        refused += status != FAB_OK;
    }
    ck_assert(well_said);
    ck_assert_uint_ge(refused, 4);
    /* attaching succeeds if one of the two allocations for this message fails, and at last, when
     * none fails */
    ck_assert_uint_eq(opened, 1 + 2);
    fab_sim_free(sim);
    loop_free(loop);
    fab_fabric_unref(f);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transports without memory");
    TCase *t = tcase_create("allocations");
    tcase_add_test(t, each_allocation_may_fail);
    suite_add_tcase(s, t);
    return test_run(s);
}
