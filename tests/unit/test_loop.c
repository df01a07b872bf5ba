/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop: its account of turns, and work beside it. */
#include "fabricd/loop/loop.h"

#include <check.h>
#include <stdatomic.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "libfabmgr/base/status.h"
#include "testing.h"

struct desk {
    struct loop *loop;
    struct loop_timer *timer;
    uint64_t busy_ns;
    const char *texts;
    atomic_int left; /* set by jobs, which run side by side */
    int done;
};

static void spin(uint64_t ns)
{
    for (uint64_t end = clock_cpu_ns() + ns; clock_cpu_ns() < end;)
        ;
}

static void on_turn(void *ctx)
{
    struct desk *d = ctx;
    loop_at(d->loop, "a little");
    loop_at(d->loop, "spinning");
    spin(d->busy_ns);
    loop_at(d->loop, "a little");
    if (--d->left > 0)
        loop_timer_set(d->timer, 100);
    else
        loop_stop(d->loop);
}

static const struct loop_held *held(const struct loop_iterations *t, const char *what)
{
    for (uint32_t i = 0; i < t->names; i++)
        if (strcmp(t->held[i].what, what) == 0)
            return &t->held[i];
    return NULL;
}

static void run(struct desk *d)
{
    d->timer = loop_timer_new(d->loop, on_turn, d);
    loop_timer_set(d->timer, 0);
    ck_assert_int_eq(loop_run(d->loop), FAB_OK);
    loop_timer_free(d->timer);
}

START_TEST(turns_are_measured_by_name)
{
    struct desk d = {.loop = loop_new(), .busy_ns = 3000000, .left = 5};
    struct loop_iterations t;
    uint64_t begun = clock_now_us(), within = 0;
    run(&d);
    uint64_t wall = clock_now_us() - begun;
    loop_get_iterations(d.loop, &t);
    for (int i = 0; i < LOOP_ITERATION_BOUNDS; i++)
        within += t.within[i];
    ck_assert_uint_ge(t.count, 5);
    ck_assert_uint_ge(t.count, within);
    ck_assert_uint_ge(t.longest_us, 3000);
    ck_assert_uint_ge(t.sum_us, 5 * 3000);
    ck_assert_uint_le(t.sum_us, wall + 1000);
    ck_assert_ptr_nonnull(held(&t, "spinning"));
    ck_assert_uint_eq(held(&t, "spinning")->times, 5);
    ck_assert_uint_ge(held(&t, "spinning")->longest_us, 3000);
    ck_assert_uint_eq(held(&t, "a little")->times, 10);
    ck_assert_uint_lt(held(&t, "a little")->longest_us, 3000);
    loop_free(d.loop);
}
END_TEST

static void many_names(void *ctx)
{
    struct desk *d = ctx;
    const char *texts = d->texts;
    for (int i = 0; i < 200; i++)
        loop_at(d->loop, texts + 4 * i);
    loop_stop(d->loop);
}

START_TEST(names_beyond_the_table_go_together)
{
    char texts[200][4];
    struct loop_iterations t;
    uint64_t times = 0;
    for (int i = 0; i < 200; i++)
        snprintf(texts[i], sizeof(texts[i]), "%03d", i);
    struct desk d = {.loop = loop_new(), .texts = texts[0]};
    d.timer = loop_timer_new(d.loop, many_names, &d);
    loop_timer_set(d.timer, 0);
    ck_assert_int_eq(loop_run(d.loop), FAB_OK);
    loop_get_iterations(d.loop, &t);
    ck_assert_uint_eq(t.names, LOOP_ITERATION_NAMES);
    ck_assert_str_eq(t.held[LOOP_ITERATION_NAMES - 1].what, "other");
    for (uint32_t i = 0; i < t.names; i++)
        times += t.held[i].times;
    ck_assert_uint_ge(times, 201);
    loop_timer_free(d.timer);
    loop_free(d.loop);
}
END_TEST

static void job_work(void *ctx)
{
    struct desk *d = ctx;
    spin(1000000);
    d->left = 7;
}

static void job_done(void *ctx)
{
    struct desk *d = ctx;
    d->done++;
    ck_assert_int_eq(d->left, 7);
    loop_stop(d->loop);
}

START_TEST(work_is_not_the_loops)
{
    struct desk d = {.loop = loop_new()};
    struct loop_iterations t;
    ck_assert_int_eq(loop_work(d.loop, job_work, job_done, &d), FAB_OK);
    ck_assert_int_eq(loop_run(d.loop), FAB_OK);
    ck_assert_int_eq(d.done, 1);
    loop_get_iterations(d.loop, &t);
    ck_assert_uint_lt(t.longest_us, 1000);
    loop_free(d.loop);
}
END_TEST

static void note_done(void *ctx)
{
    struct desk *d = ctx;
    d->done++;
}

/* Also of work that nobody began: whoever owns what it works on waits for it. */
START_TEST(what_is_done_is_told_at_the_end)
{
    struct desk d = {.loop = loop_new()};
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(loop_work(d.loop, job_work, note_done, &d), FAB_OK);
    ck_assert_int_eq(loop_work_short(d.loop, job_work, note_done, &d), FAB_OK);
    loop_free(d.loop);
    ck_assert_int_eq(d.done, 6);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("loop");
    TCase *tcase = tcase_create("loop");
    tcase_add_test(tcase, turns_are_measured_by_name);
    tcase_add_test(tcase, names_beyond_the_table_go_together);
    tcase_add_test(tcase, work_is_not_the_loops);
    tcase_add_test(tcase, what_is_done_is_told_at_the_end);
    suite_add_tcase(s, tcase);
    return s;
}

int main(void)
{
    return test_run(suite());
}
