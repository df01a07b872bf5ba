/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop. One thread owns the loop; other threads may only call loop_post. Only this
 * folder, fabricd/rpc and fabricd/metrics may include headers of libevent. */
#ifndef FABRICD_LOOP_LOOP_H
#define FABRICD_LOOP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct loop;
struct loop *loop_new(void);
/*
 * Creates a loop in virtual time, for simulations. When there is no work, time jumps to the next
 * timer; otherwise it does not advance. clock_now_us() returns virtual time on this thread until
 * loop_free. Jobs of workers run on this thread, at once unless loop_delay_work delays them.
 *
 * Sockets and signals are not available: loop_watch_read and loop_base return NULL, and loop_signal
 * returns UNSUPPORTED. loop_run also returns if no timer is set.
 */
struct loop *loop_new_virtual(void);
void loop_free(struct loop *l);
/* runs the event loop until loop_stop is called; returns OK or IO */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* Fills `bytes` with random numbers from the kernel. In virtual time, fills `bytes` with zeros, so
 * that two runs with equal input are equal. Returns false if the kernel has no random numbers. */
bool loop_random(const struct loop *l, void *bytes, size_t len);
/* Returns libevent's event base, for the sockets of rpc and metrics. */
struct event_base *loop_base(struct loop *l);

typedef void loop_fn(void *ctx);

/* a timer that fires once; it can be set again */
struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx);
/* Sets the timer to fire in delay_us microseconds. This replaces an earlier setting of the
 * timer. */
void loop_timer_set(struct loop_timer *t, uint64_t delay_us);
void loop_timer_cancel(struct loop_timer *t);
bool loop_timer_pending(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t);

/* a watch calls a function whenever a file descriptor is readable */
struct loop_watch;
struct loop_watch *loop_watch_read(struct loop *l, int fd, loop_fn *fn, void *ctx);
void loop_watch_free(struct loop_watch *w);

/* From now on, fn(ctx) is called on the loop thread whenever the process gets the signal `signo`.
 * Returns OK, UNSUPPORTED, NOMEM or IO. */
int loop_signal(struct loop *l, int signo, loop_fn *fn, void *ctx);

/* Makes the loop call fn(ctx) on its thread, in one of the next iterations. If the loop ends before
 * that, fn is not called. Any thread may call loop_post. Returns OK or NOMEM. */
int loop_post(struct loop *l, loop_fn *fn, void *ctx);

/* Runs work(ctx) on the worker thread for long computations, then done(ctx) on the loop thread.
 * work() may access only ctx and immutable values. loop_free calls each done() that was not called
 * yet, even for jobs whose work() never ran. task.h has tasks that can be cancelled. Returns OK, or
 * NOMEM if memory ran out or no thread can be created. */
int loop_work(struct loop *l, loop_fn *work, loop_fn *done, void *ctx);
/* Like loop_work, but on a separate worker thread for work of a few milliseconds, which must not
 * wait for long work. */
int loop_work_short(struct loop *l, loop_fn *work, loop_fn *done, void *ctx);
/* Like loop_work, but on a separate worker thread that may block for seconds or longer. It is for
 * work that waits for something outside of the process, such as the name service. */
int loop_work_blocking(struct loop *l, loop_fn *work, loop_fn *done, void *ctx);
/* Like loop_work, but on a separate background thread (base/thread.h), for long work that no host
 * waits for. */
int loop_work_background(struct loop *l, loop_fn *work, loop_fn *done, void *ctx);
/* Returns the delay of a job that is being added, in us of virtual time. */
typedef uint64_t loop_delay_fn(void *ctx);
/* Delays jobs of workers, for tests. Call this function only for a loop in virtual time, and at
 * most once. Returns OK or NOMEM. */
int loop_delay_work(struct loop *l, loop_delay_fn *delay, void *ctx);
/* Frees an object by a call of free_fn(ctx) on the worker thread of loop_work_short. Freeing a
 * large fabric on the loop thread would delay other events by milliseconds. In virtual time, or if
 * memory has run out, the object is freed on this thread nevertheless. */
void loop_discard(struct loop *l, loop_fn *free_fn, void *ctx);

/* ---- statistics of iterations: the work between two waits for events ---- */

#define LOOP_ITERATION_BOUNDS 11
#define LOOP_ITERATION_NAMES 64
/* Iterations are counted in classes, by their duration. These are the upper bounds of the classes,
 * in us, ascending. */
extern const uint32_t loop_iteration_bounds_us[LOOP_ITERATION_BOUNDS];
/* The iterations since loop_run. Times are CPU time of the loop thread. */
struct loop_iterations {
    uint64_t count, sum_us, longest_us;
    /* name of the work that took the largest part of the longest iteration; NULL: none */
    const char *longest_what;
    /* within[i]: number of iterations whose duration was more than bound i - 1 and at most bound i
     * of loop_iteration_bounds_us; iterations longer than the last bound are in none of these
     * numbers */
    uint64_t within[LOOP_ITERATION_BOUNDS];
    /* For each name of work (see loop_at): how often this work ran, and the longest time that it
     * took. */
    struct loop_held {
        const char *what;
        uint64_t times, longest_us;
    } held[LOOP_ITERATION_NAMES];
    uint32_t names;
};
/* Names the work that begins now and lasts until the next call or the end of the iteration. The
 * string is not copied. */
void loop_at(struct loop *l, const char *what);
void loop_get_iterations(const struct loop *l, struct loop_iterations *ret);

struct fab_pool;
/* Returns the thread pool for parallel computations, with one thread per CPU, but at most 16
 * (thread_pool_size). Call this function on the loop thread. The pool is valid until loop_free.
 * NULL: there is no pool, for example in virtual time. */
const struct fab_pool *loop_thread_pool(struct loop *l);

#endif
