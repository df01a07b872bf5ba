/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets each allocation in libfabmgr/fabric, policy and view fail once. Each call must then return
 * NOMEM, leave its results unchanged, and leak no memory (which the sanitizers check).
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/view/view.h"
#include "tests/unit/fabrics.h"

#include "tests/unit/failing_alloc.h"

/* Returns `status`, the status of a call. If it does not agree with whether the call gave a result,
 * returns another error in its place. Scenarios must not assert, because Check allocates memory. */
static int agree(int status, bool result)
{
    return (status == FAB_OK) == result ? status : FAB_E_INVAL;
}

/* ---- calls under test ------------------------------------------------------------------------ */

static struct fab_fabric *before; /* made while allocations still succeed */

static void make_before(void)
{
    before = random_fabric(4, 3, 3, 5);
}

static void drop_before(void)
{
    fab_fabric_unref(before);
}

static int seal_and_drop(int status, struct fab_builder *b)
{
    struct fab_fabric *f = NULL;
    status = agree(status, b != NULL);
    if (status == FAB_OK)
        status = fab_fabric_builder_seal(b, &f);
    status = agree(status, f != NULL);
    fab_fabric_unref(f);
    fab_fabric_builder_free(b);
    return status;
}

static int run_leaf_spine(void)
{
    struct fab_leaf_spine_spec spec = {3, 2, 2, 1, 0};
    struct fab_builder *b = NULL;
    int status = fab_fabric_generate_leaf_spine(&spec, &b);
    return seal_and_drop(status, b);
}

static int run_fat_tree(void)
{
    struct fab_fat_tree_spec spec = {4, 2, 1, 1};
    struct fab_builder *b = NULL;
    int status = fab_fabric_generate_fat_tree(&spec, &b);
    return seal_and_drop(status, b);
}

#define RUN(family, ...)                                                                           \
    static int run_##family(void)                                                                  \
    {                                                                                              \
        struct fab_##family##_spec spec = {__VA_ARGS__};                                           \
        struct fab_builder *b = NULL;                                                              \
        int status = fab_fabric_generate_##family(&spec, &b);                                      \
        return seal_and_drop(status, b);                                                           \
    }
RUN(rail, 3, 2, 2, 1, 1, 1, 1)
RUN(dragonfly, 3, 2, 1, 1, 1)
RUN(dragonfly_plus, 3, 1, 2, 1, 1, 1)
RUN(torus, 2, {3, 2}, 1, 1, false)
RUN(hypercube, 2, 1, 1)
RUN(hyperx, 2, {2, 2}, 1, 1)

static int run_dress(void)
{
    struct fab_variation variation = {.aggregation = true, .missing = 2, .shuffle_guids = true};
    struct fab_builder *b = NULL;
    int status = fab_fabric_generate_variation(before, &variation, &b);
    return seal_and_drop(status, b);
}

static int run_random(void)
{
    struct fab_random_spec spec = {8, 4, 2, 3};
    struct fab_builder *b = NULL;
    int status = fab_fabric_generate_random(&spec, &b);
    return seal_and_drop(status, b);
}

static int run_text(void)
{
    struct fab_text_error error;
    struct fab_builder *b = NULL;
    char *text = NULL;
    size_t len = 0;
    int status = fab_fabric_text_write(before, &text, &len);
    status = agree(status, text != NULL);
    if (status == FAB_OK)
        status = fab_fabric_text_read(text, len, &b, &error);
    free(text);
    return seal_and_drop(status, b);
}

static int run_from(void)
{
    struct fab_builder *b = fab_fabric_builder_from(before);
    return seal_and_drop(b != NULL ? FAB_OK : FAB_E_NOMEM, b);
}

static int run_clone(void)
{
    struct fab_fabric *clone = NULL;
    int status = fab_fabric_clone(before, &clone);
    fab_fabric_unref(clone);
    return agree(status, clone != NULL);
}

static int run_next(void)
{
    struct fab_fabric *next = NULL;
    int status = fab_fabric_next(before, &next), r = FAB_OK;
    for (uint32_t port = 0; status == FAB_OK && r == FAB_OK && port < next->port_count; port += 7)
        r = fab_fabric_remove_link(next, port);
    fab_fabric_unref(next);
    return status == FAB_OK ? r : status;
}

/* The manager's switch has no links. Makes the part of the fabric that the manager reaches. */
static int run_island(void)
{
    struct fab_fabric *f = NULL, *island = NULL;
    uint32_t dropped = 0;
    struct fab_builder *b = fab_fabric_builder_from(before);
    int status = b != NULL ? FAB_OK : FAB_E_NOMEM;
    for (unsigned i = 1; b != NULL && i <= before->nodes[0].num_ports; i++)
        fab_fabric_builder_unlink(b, 0, (uint8_t)i);
    if (b != NULL)
        fab_fabric_builder_set_self(b, 0, 0);
    if (status == FAB_OK)
        status = fab_fabric_builder_seal(b, &f);
    if (status == FAB_OK)
        status = fab_fabric_reachable(f, &island, &dropped);
    fab_fabric_builder_free(b);
    fab_fabric_unref(f);
    fab_fabric_unref(island);
    return agree(status, dropped > 0);
}

static int run_diff(void)
{
    struct fab_change *changes = NULL;
    size_t count = 0;
    struct fab_fabric empty = {0};
    int status = fab_fabric_diff(before, &empty, &changes, &count);
    free(changes);
    return agree(status, count > 0);
}

static int run_policy(void)
{
    struct fab_policy policy, copy;
    char why[100];
    uint64_t roots[] = {2, 1};
    fab_policy_defaults(&policy);
    policy.roots = roots;
    policy.root_count = 2;
    int status = fab_policy_validate(&policy, why, sizeof why);
    if (status == FAB_OK)
        status = fab_policy_copy(&policy, &copy);
    if (status == FAB_OK)
        fab_policy_fini(&copy);
    return status;
}

static int run_view(void)
{
    struct fab_policy policy;
    struct fab_verdict verdict = {0};
    fab_policy_defaults(&policy);
    struct fab_fabric *held = fab_fabric_ref(before);
    struct fab_view *v = fab_view_new(1, held, NULL, &policy, &verdict);
    if (v == NULL)
        fab_fabric_unref(held);
    fab_view_unref(v);
    return v != NULL ? FAB_OK : FAB_E_NOMEM;
}

static int (*const runs[])(void) = {
    run_leaf_spine, run_fat_tree, run_rail,   run_dragonfly, run_dragonfly_plus, run_torus,
    run_hypercube,  run_hyperx,   run_dress,  run_random,    run_text,           run_from,
    run_clone,      run_next,     run_island, run_diff,      run_policy,         run_view};

START_TEST(every_allocation_may_fail)
{
    ck_assert_uint_gt(fail_each_allocation(runs[_i], FAB_E_NOMEM), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fabric, policy, view: no memory");
    TCase *tcase = tcase_create("no memory");
    tcase_add_checked_fixture(tcase, make_before, drop_before);
    tcase_add_loop_test(tcase, every_allocation_may_fail, 0, (int)(sizeof runs / sizeof *runs));
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
