/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread pool. Each task is executed exactly once. Tables, VLs and verdicts must not depend on
 * the number of threads.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "fabricd/loop/thread_pool.h"
#include "tests/unit/routing.h"

#define PIECES 400

/* ---- the pool -------------------------------------------------------------------------------- */

struct work {
    atomic_uint done[PIECES];
    atomic_uint at_work[16];
};

static void piece(void *arg, uint32_t i, uint32_t worker)
{
    struct work *w = arg;
    ck_assert_uint_eq(atomic_fetch_add(&w->at_work[worker], 1), 0);
    atomic_fetch_add(&w->done[i], 1);
    atomic_fetch_sub(&w->at_work[worker], 1);
}

static void assert_once(const struct fab_pool *pool, uint32_t count)
{
    struct work *w = calloc(1, sizeof(*w));
    fab_base_pool_run(pool, count, piece, w);
    for (uint32_t i = 0; i < PIECES; i++)
        ck_assert_uint_eq(atomic_load(&w->done[i]), i < count);
    free(w);
}

START_TEST(each_piece_is_done_once)
{
    for (uint32_t workers = 1; workers <= 5; workers++) {
        struct pool *c = thread_pool_new(workers);
        ck_assert_uint_eq(fab_base_pool_workers(thread_pool_lend(c)), workers);
        for (uint32_t round = 0; round < 100; round++)
            assert_once(thread_pool_lend(c), round % 7);
        assert_once(thread_pool_lend(c), PIECES);
        thread_pool_free(c);
    }
    assert_once(NULL, PIECES);
    thread_pool_free(NULL);
    ck_assert_ptr_null(thread_pool_lend(NULL));
    ck_assert_uint_ge(thread_pool_size(), 1);
}
END_TEST

static void *use(void *pool)
{
    for (uint32_t round = 0; round < 200; round++)
        assert_once(pool, round % 50);
    return NULL;
}

START_TEST(two_may_want_it_at_once)
{
    struct pool *c = thread_pool_new(3);
    pthread_t other;
    ck_assert_int_eq(pthread_create(&other, NULL, use, (void *)(uintptr_t)thread_pool_lend(c)), 0);
    use((void *)(uintptr_t)thread_pool_lend(c));
    pthread_join(other, NULL);
    thread_pool_free(c);
}
END_TEST

/* ---- tables and verdicts --------------------------------------------------------------------- */

static int route(const struct fab_route_engine *e, const struct fab_fabric *f,
                 const struct fab_policy *p, const struct fab_pool *pool, struct fab_target *t)
{
    char why[200] = "";
    struct fab_route_input in = {.fabric = f, .policy = p, .lids = &t->lids, .pool = pool};
    assigned(f, p, &t->lids);
    return e->run(&in, &t->lft, &t->vls, why, sizeof(why));
}

static struct fab_verdict prove(const struct fab_fabric *f, const struct fab_policy *p,
                                const struct fab_pool *pool, const struct fab_target *t)
{
    struct fab_verdict v;
    struct fab_verify_input in = {.fabric = f,
                                  .lids = &t->lids,
                                  .lft = &t->lft,
                                  .vls = &t->vls,
                                  .policy = p,
                                  .max_hops = p->max_hops,
                                  .pool = pool};
    ck_assert_int_eq(fab_verify(&in, &v), FAB_OK);
    return v;
}

static void assert_same_verdict(const struct fab_fabric *f, struct fab_verdict *a,
                                struct fab_verdict *b)
{
    char *text_a = NULL, *text_b = NULL;
    ck_assert_int_eq(fab_verify_witness_text(f, &a->witness, &text_a), FAB_OK);
    ck_assert_int_eq(fab_verify_witness_text(f, &b->witness, &text_b), FAB_OK);
    ck_assert_str_eq(text_a, text_b);
    ck_assert_int_eq(a->deadlock_free, b->deadlock_free);
    ck_assert_uint_eq(a->pairs, b->pairs);
    ck_assert_uint_eq(a->unreachable_pairs, b->unreachable_pairs);
    ck_assert_uint_eq(a->longest_path, b->longest_path);
    ck_assert_uint_eq(a->dependencies, b->dependencies);
    free(text_a);
    free(text_b);
    fab_verify_verdict_fini(a);
    fab_verify_verdict_fini(b);
}

/* Changes some entries at random, so that the proof fails. */
static void spoil(struct fab_target *t, struct fab_prng *prng)
{
    for (unsigned i = 0; i < 3; i++) {
        uint32_t sw = (uint32_t)fab_base_prng_below(prng, t->lft.switch_count);
        fab_target_lft_row(&t->lft, sw)[fab_base_prng_below(prng, t->lft.top + 1)] =
            (uint8_t)fab_base_prng_below(prng, 8);
    }
}

/* Computes with one thread and with the pool, and checks that the results are the same. */
static void assert_same(const struct fab_route_engine *e, const struct fab_fabric *f,
                        const struct fab_pool *pool, struct fab_prng *prng)
{
    struct fab_policy p;
    struct fab_target *alone = fab_target_new(), *together = fab_target_new();
    struct fab_verdict a, b;
    fab_policy_defaults(&p);
    int status = route(e, f, &p, NULL, alone);
    ck_assert_int_eq(route(e, f, &p, pool, together), status);
    if (status == FAB_OK) {
        ck_assert_mem_eq(alone->lft.entries, together->lft.entries,
                         alone->lft.stride * alone->lft.switch_count);
        for (unsigned spoiled = 0; spoiled < 2; spoiled++) {
            a = prove(f, &p, NULL, alone);
            b = prove(f, &p, pool, alone);
            assert_same_verdict(f, &a, &b);
            spoil(alone, prng);
        }
    }
    fab_target_unref(alone);
    fab_target_unref(together);
    fab_policy_fini(&p);
}

static void assert_all_same(struct fab_fabric *f, const struct fab_pool *pool,
                            struct fab_prng *prng)
{
    for (const struct fab_route_engine *const *e = fab_route_engines(); *e != NULL; e++)
        assert_same(*e, f, pool, prng);
    fab_fabric_unref(f);
}

START_TEST(hands_change_nothing)
{
    struct fab_prng prng;
    struct pool *c = thread_pool_new(3);
    fab_base_prng_init(&prng, test_seed("workers", 5));
    for (unsigned i = 0; i < 6; i++) {
        double lost = i % 3 * 0.02;
        assert_all_same(damaged(fat_tree(12, 3, 1), &prng, lost, 0), thread_pool_lend(c), &prng);
        assert_all_same(damaged(modern_tree(10, 4, 6, 1, 2), &prng, lost, 0), thread_pool_lend(c),
                        &prng);
        assert_all_same(damaged(random_fabric(60, 5, 6, i + 1), &prng, lost, lost),
                        thread_pool_lend(c), &prng);
        assert_all_same(grid((uint32_t[3]){5, 4, 3}, true, 4), thread_pool_lend(c), &prng);
    }
    thread_pool_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tc = tcase_create("pool");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, each_piece_is_done_once);
    tcase_add_test(tc, two_may_want_it_at_once);
    tcase_add_test(tc, hands_change_nothing);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
