/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop. Only this room and rpc's TLS include <event2/...>. One thread owns the loop;
 * other threads call loop_post only.
 */
#ifndef FABRICD_LOOP_LOOP_H
#define FABRICD_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct loop;
struct loop *loop_new(void);
/* A loop in virtual time, for simulations: time stands still while anything is to be done, and then
 * jumps to the next timer; clock_now_us() gives that time to this thread until loop_free. Work runs
 * at once on this thread. Sockets and signals are not available (loop_watch_read: NULL,
 * loop_signal: UNSUPPORTED, loop_base: NULL). loop_run also returns when no timer is set. */
struct loop *loop_new_virtual(void);
void loop_free(struct loop *l);
int loop_run(struct loop *l); /* until loop_stop */
void loop_stop(struct loop *l);
struct event_base *loop_base(struct loop *l); /* for rpc's sockets */

typedef void loop_fn(void *ctx);

struct loop_timer; /* one-shot, re-armable */
struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx);
void loop_timer_set(struct loop_timer *t, uint64_t delay_us); /* replaces an earlier setting */
void loop_timer_cancel(struct loop_timer *t);
bool loop_timer_pending(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t);

struct loop_watch; /* calls fn while fd is readable */
struct loop_watch *loop_watch_read(struct loop *l, int fd, loop_fn *fn, void *ctx);
void loop_watch_free(struct loop_watch *w);

int loop_signal(struct loop *l, int signo, loop_fn *fn, void *ctx); /* until loop_free */

/* Runs fn on the loop thread soon. From any thread. NOMEM, IO. */
int loop_post(struct loop *l, loop_fn *fn, void *ctx);

/* Runs work(ctx) on a worker thread, then done(ctx) on the loop thread; task.h has more. work reads
 * and writes ctx and sealed values only. loop_free calls the done of all that is left, also of work
 * that was not begun. NOMEM (also: no thread). */
int loop_work(struct loop *l, loop_fn *work, loop_fn *done, void *ctx);
/* The same on a second thread, for work of some milliseconds, which would otherwise wait for longer
 * work. */
int loop_work_short(struct loop *l, loop_fn *work, loop_fn *done, void *ctx);

/* ---- how long iterations take: all that is done between two waits for events ---- */

#define LOOP_ITERATION_BOUNDS 11
#define LOOP_ITERATION_NAMES 64
extern const uint32_t loop_iteration_bounds_us[LOOP_ITERATION_BOUNDS]; /* rising */
struct loop_iterations { /* in processor time of the loop's thread, since loop_run */
    uint64_t count, sum_us, longest_us;
    uint64_t within[LOOP_ITERATION_BOUNDS]; /* that took at most the bound, and more than the one
                                               before */
    struct loop_held {
        const char *what;
        uint64_t times, longest_us;
    } held[LOOP_ITERATION_NAMES]; /* by what the time was taken */
    uint32_t names;
};
/* Names what is done from now on, until the next call or the end of the iteration. The string is
 * not copied. */
void loop_at(struct loop *l, const char *what);
void loop_get_iterations(const struct loop *l, struct loop_iterations *ret);

/* The threads among which work divides itself, one for each processor. For the loop thread; valid
 * until loop_free. NULL: none, as in virtual time. */
struct fab_pool;
const struct fab_pool *loop_thread_pool(struct loop *l);

#endif
