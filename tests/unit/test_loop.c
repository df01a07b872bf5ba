/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop of the daemon: timers, background work, and statistics of its iterations. */
#include "fabricd/loop/loop.h"

#include <check.h>
#include <event2/event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabricd/base/clock.h"
#include "fabricd/loop/task.h"
#include "libfabmgr/base/status.h"
#include "testing.h"

struct desk {
    struct loop *loop;
    struct loop_timer *timer;
    uint64_t busy_ns;
    const char *texts;
    /* number of calls that a test still waits for; tasks change it on the loop thread or on worker
     * threads */
    atomic_int left;
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

struct alarm {
    struct loop *loop;
    struct loop_timer *timer;
    uint64_t after_us, fired_us;
};

static void on_alarm(void *ctx)
{
    struct alarm *a = ctx;
    a->fired_us = clock_now_us();
    if (a->after_us == 1000000) /* the alarm with the longest time fires last */
        loop_stop(a->loop);
}

/* Timers must not fire too early. The length of 999,999 us is the one with the largest fraction of
 * a second. */
START_TEST(timers_are_not_early)
{
    struct alarm alarm[] = {{.after_us = 20000}, {.after_us = 999999}, {.after_us = 1000000}};
    struct loop *loop = loop_new();
    uint64_t begun = clock_now_us();
    for (int i = 0; i < 3; i++) {
        alarm[i].loop = loop;
        alarm[i].timer = loop_timer_new(loop, on_alarm, &alarm[i]);
        loop_timer_set(alarm[i].timer, alarm[i].after_us);
    }
    ck_assert_int_eq(loop_run(loop), FAB_OK);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_ge(alarm[i].fired_us + 5000, begun + alarm[i].after_us);
        loop_timer_free(alarm[i].timer);
    }
    loop_free(loop);
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

/* ---- no memory ---- */

enum { MANY_TIMERS = 500 };
static bool no_memory;

static void *grow(void *old, size_t size)
{
    return no_memory ? NULL : realloc(old, size);
}

static void count_down(void *ctx)
{
    struct desk *d = ctx;
    if (--d->left == 0)
        loop_stop(d->loop);
}

/* After the timers are made, libevent gets no memory. Even so, all of them can be set at the same
 * time. */
START_TEST(timers_need_no_memory_when_they_are_set)
{
    struct loop_timer *timer[MANY_TIMERS];
    event_set_mem_functions(malloc, grow, free);
    struct desk d = {.loop = loop_new(), .left = MANY_TIMERS};
    ck_assert_ptr_nonnull(d.loop);
    for (int i = 0; i < MANY_TIMERS; i++)
        ck_assert_ptr_nonnull(timer[i] = loop_timer_new(d.loop, count_down, &d));
    no_memory = true;
    for (int i = 0; i < MANY_TIMERS; i++)
        loop_timer_set(timer[i], 1000);
    for (int i = 0; i < MANY_TIMERS; i++)
        ck_assert_msg(loop_timer_pending(timer[i]), "timer %d", i);
    no_memory = false;
    ck_assert_int_eq(loop_run(d.loop), FAB_OK);
    ck_assert_int_eq(d.left, 0);
    for (int i = 0; i < MANY_TIMERS; i++)
        loop_timer_free(timer[i]);
    loop_free(d.loop);
}
END_TEST

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

/* The owner of work waits for the call of done(). So loop_free() must call it even if no worker has
 * begun the work. */
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

static void wait_for_go(void *ctx)
{
    struct desk *d = ctx;
    while (atomic_load(&d->left) == 0)
        usleep(1000);
}

static void short_done(void *ctx)
{
    struct desk *d = ctx;
    d->done++;
    if (d->done == 2)
        loop_stop(d->loop);
}

/* A job that waits for something outside of the process must not delay other jobs. */
START_TEST(blocking_work_delays_no_other_work)
{
    struct desk d = {.loop = loop_new()}, other = {.loop = d.loop};
    ck_assert_int_eq(loop_work_blocking(d.loop, wait_for_go, note_done, &d), FAB_OK);
    ck_assert_int_eq(loop_work(d.loop, job_work, short_done, &other), FAB_OK);
    ck_assert_int_eq(loop_work_short(d.loop, job_work, short_done, &other), FAB_OK);
    ck_assert_int_eq(loop_run(d.loop), FAB_OK);
    ck_assert_int_eq(other.done, 2);
    ck_assert_int_eq(d.done, 0);
    atomic_store(&d.left, 1);
    loop_free(d.loop);
    ck_assert_int_eq(d.done, 1);
}
END_TEST

/* ---- background tasks ------------------------------------------------------------------------ */

struct owner {
    struct loop_tasks tasks;
    struct loop_task *task;
    uint64_t generation;
    int done, dropped, dropped_without_owner;
};
struct sum { /* freed by sum_done() or sum_drop() */
    int *dropped_without_owner;
    int terms, result;
    bool cancelled;
};

static void add_up(void *ctx, struct loop_task *t)
{
    struct sum *x = ctx;
    for (int i = 1; i <= x->terms; i++)
        x->result += i;
    x->cancelled = loop_task_is_cancelled(t);
}

static void sum_done(void *owner, void *ctx)
{
    struct owner *o = owner;
    struct sum *x = ctx;
    ck_assert_int_eq(x->result, 55);
    ck_assert(!x->cancelled);
    o->done++;
    free(x);
}

static void sum_drop(void *owner, void *ctx)
{
    struct owner *o = owner;
    struct sum *x = ctx;
    if (o)
        o->dropped++;
    else
        ++*x->dropped_without_owner;
    free(x);
}

static void start_sum(struct loop *l, struct owner *o, enum loop_task_place place)
{
    static const struct loop_task_ops ops = {"adding up", add_up, sum_done, sum_drop};
    struct sum *x = calloc(1, sizeof(*x));
    *x = (struct sum){.terms = 10, .dropped_without_owner = &o->dropped_without_owner};
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &o->tasks,
                                            .owner = o,
                                            .ctx = x,
                                            .place = place,
                                            .generation = &o->generation};
    ck_assert_int_eq(loop_task_start(l, &config, &o->task), FAB_OK);
}

START_TEST(a_task_gives_its_result_to_its_owner)
{
    struct loop *l = loop_new_virtual();
    struct owner o = {.generation = 1};
    start_sum(l, &o, LOOP_TASK_LONG);
    start_sum(l, &o, LOOP_TASK_SHORT);
    start_sum(l, &o, LOOP_TASK_BLOCKING);
    ck_assert(loop_tasks_any(&o.tasks));
    ck_assert_int_eq(o.done, 0);
    ck_assert_int_eq(loop_run(l), FAB_OK);
    ck_assert_int_eq(o.done, 3);
    ck_assert(!loop_tasks_any(&o.tasks));
    start_sum(l, &o, LOOP_TASK_INLINE);
    ck_assert_int_eq(o.done, 4);
    ck_assert_ptr_null(o.task);
    ck_assert_int_eq(o.dropped + o.dropped_without_owner, 0);
    loop_free(l);
}
END_TEST

START_TEST(a_cancelled_task_is_dropped)
{
    struct loop *l = loop_new_virtual();
    struct owner o = {.generation = 1};
    start_sum(l, &o, LOOP_TASK_LONG);
    loop_task_cancel(o.task);
    loop_task_cancel(NULL);
    ck_assert(loop_task_is_cancelled(o.task));
    ck_assert(loop_tasks_any(&o.tasks));
    start_sum(l, &o, LOOP_TASK_LONG);
    ck_assert_int_eq(loop_run(l), FAB_OK);
    ck_assert_int_eq(o.done, 1);
    ck_assert_int_eq(o.dropped, 1);
    ck_assert(!loop_tasks_any(&o.tasks));
    loop_free(l);
}
END_TEST

START_TEST(a_result_of_another_generation_is_dropped)
{
    struct loop *l = loop_new_virtual();
    struct owner o = {.generation = 1};
    start_sum(l, &o, LOOP_TASK_LONG);
    o.generation++;
    start_sum(l, &o, LOOP_TASK_LONG);
    ck_assert_int_eq(loop_run(l), FAB_OK);
    ck_assert_int_eq(o.done, 1);
    ck_assert_int_eq(o.dropped, 1);
    loop_free(l);
}
END_TEST

START_TEST(an_owner_may_go_before_its_tasks)
{
    struct loop *l = loop_new_virtual();
    struct owner o = {.generation = 1};
    for (int i = 0; i < 3; i++)
        start_sum(l, &o, i == 0 ? LOOP_TASK_SHORT : LOOP_TASK_LONG);
    loop_tasks_orphan(&o.tasks);
    ck_assert(!loop_tasks_any(&o.tasks));
    loop_free(l); /* loop_free ends the remaining tasks */
    ck_assert_int_eq(o.done + o.dropped, 0);
    ck_assert_int_eq(o.dropped_without_owner, 3);
}
END_TEST

/* The loop is freed while worker threads execute all tasks but one, which has not begun. */
START_TEST(every_task_ends_with_the_loop)
{
    struct loop *l = loop_new();
    struct owner o = {.generation = 1};
    for (int i = 0; i < 5; i++)
        start_sum(l, &o, LOOP_TASK_LONG);
    loop_tasks_orphan(&o.tasks);
    loop_free(l);
    ck_assert_int_eq(o.dropped_without_owner, 5);
}
END_TEST

/* ---- without memory ---- */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static _Thread_local bool without_memory;

void *__wrap_malloc(size_t size)
{
    return without_memory ? NULL : __real_malloc(size);
}

static void use_up_memory(void *ctx)
{
    (void)ctx;
    without_memory = true;
}

static void result_came(void *ctx)
{
    struct desk *d = ctx;
    d->done++;
    loop_stop(d->loop);
}

static void give_up(void *ctx)
{
    loop_stop(((struct desk *)ctx)->loop);
}

/* The worker thread has no memory when its job ends. The loop gets the result all the same. */
START_TEST(a_result_needs_no_memory)
{
    struct desk d = {.loop = loop_new()};
    d.timer = loop_timer_new(d.loop, give_up, &d);
    loop_timer_set(d.timer, 10000000);
    ck_assert_int_eq(loop_work(d.loop, use_up_memory, result_came, &d), FAB_OK);
    ck_assert_int_eq(loop_run(d.loop), FAB_OK);
    ck_assert_int_eq(d.done, 1);
    loop_timer_free(d.timer);
    loop_free(d.loop);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("loop");
    TCase *tcase = tcase_create("loop");
    tcase_add_test(tcase, turns_are_measured_by_name);
    tcase_add_test(tcase, names_beyond_the_table_go_together);
    tcase_add_test(tcase, timers_are_not_early);
    tcase_add_test(tcase, a_result_needs_no_memory);
    tcase_add_test(tcase, timers_need_no_memory_when_they_are_set);
    tcase_add_test(tcase, work_is_not_the_loops);
    tcase_add_test(tcase, what_is_done_is_told_at_the_end);
    tcase_add_test(tcase, blocking_work_delays_no_other_work);
    tcase_add_test(tcase, a_task_gives_its_result_to_its_owner);
    tcase_add_test(tcase, a_cancelled_task_is_dropped);
    tcase_add_test(tcase, a_result_of_another_generation_is_dropped);
    tcase_add_test(tcase, an_owner_may_go_before_its_tasks);
    tcase_add_test(tcase, every_task_ends_with_the_loop);
    suite_add_tcase(s, tcase);
    return s;
}

int main(void)
{
    return test_run(suite());
}
