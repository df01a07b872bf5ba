/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast trees, while members join and leave and memory runs out. A join that returns NOMEM must
 * have no effect, and a leave must succeed. If a tree has lost its branches, an update builds them
 * again.
 */
#include "tests/unit/mcast_world.h"

#include "tests/unit/failing_alloc.h"

void *__wrap_reallocarray(void *old, size_t count, size_t size);

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return __wrap_realloc(old, count * size);
}

/* One of the next allocations fails, until alloc_end() is called. */
static void alloc_begin(struct world *w)
{
    alloc_calls = 0;
    alloc_fail_at = fab_base_prng_below(&w->r, 6);
}

static void alloc_end(void)
{
    alloc_fail_at = UINT64_MAX;
}

/* Lets a random endport join or leave a random group. Returns whether memory ran out. */
static bool change_without_memory(struct world *w)
{
    uint32_t end = (uint32_t)fab_base_prng_below(&w->r, w->ends);
    uint32_t group = (uint32_t)fab_base_prng_below(&w->r, GROUPS);
    uint8_t how = w->member[end][group], now = fab_base_prng_chance(&w->r, 0.8) ? 1 : 2;
    alloc_begin(w);
    int r = how != 0 ? fab_mcast_trees_leave(w->trees, mlid_of(group), guid_of(w, end), how == 1)
                     : fab_mcast_trees_join(w->trees, mlid_of(group), guid_of(w, end), now == 1);
    alloc_end();
    ck_assert(r == FAB_OK || (r == FAB_E_NOMEM && how == 0));
    if (r == FAB_OK)
        w->member[end][group] = how != 0 ? 0 : now;
    return r == FAB_E_NOMEM;
}

/* Makes random changes, and checks all trees after each of them. Returns how many failed. */
static unsigned live(struct fab_fabric *f, uint64_t seed, unsigned steps)
{
    struct world w;
    unsigned failures = 0;
    world_init(&w, f, seed);
    for (unsigned step = 0; step < steps; step++) {
        failures += change_without_memory(&w);
        if (fab_mcast_trees_are_broken(w.trees))
            ck_assert_int_eq(fab_mcast_trees_update(w.trees, w.now), FAB_OK);
        judge(&w, GROUPS);
    }
    all_leave(&w);
    assert_nothing_left(&w);
    world_fini(&w);
    return failures;
}

START_TEST(a_join_without_memory_has_no_effect)
{
    uint64_t seed = test_seed("without memory", 1);
    unsigned failures = 0;
    /* new trees need most allocations, so there are many short runs */
    for (unsigned i = 0; i < 40; i++) {
        failures += live(leaf_spine(6, 4, 4), seed + i, 60);
        failures += live(random_fabric(14, 4, 2, seed + i), seed + i, 60);
    }
    printf("# %u changes failed\n", failures);
    ck_assert_uint_gt(failures, 300);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multicast without memory");
    TCase *tcase = tcase_create("trees");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_join_without_memory_has_no_effect);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
