/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background tasks. A worker thread computes, and the owner takes the result on the loop thread.
 *
 * The result is dropped if the task was cancelled, if its owner was freed, or if the result is out
 * of date. A running task is not interrupted, so long work must call loop_task_is_cancelled at
 * intervals.
 *
 * All functions except loop_task_is_cancelled must be called on the loop thread.
 */
#ifndef FABRICD_LOOP_TASK_H
#define FABRICD_LOOP_TASK_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_task;

struct loop_task_ops {
    /* name of the work in the statistics of the loop (loop_at); NULL: none */
    const char *name;
    /* Called on the worker thread: computes the result, and stores it in ctx. The function may
     * access only ctx and immutable values. */
    void (*work)(void *ctx, struct loop_task *t);
    /* Called on the loop thread: takes the result. Afterwards ctx belongs to the owner. */
    void (*done)(void *owner, void *ctx);
    /* Called on the loop thread instead of done(), if the result is dropped. The function frees
     * ctx. `owner` is NULL if the owner was freed. */
    void (*drop)(void *owner, void *ctx);
};

/* The tasks of one owner whose results have not arrived yet. Initialize with zeros. */
struct loop_tasks {
    struct loop_task *first;
};

enum loop_task_place {
    /* worker thread that runs long computations one after the other */
    LOOP_TASK_LONG,
    /* worker thread for computations of a few milliseconds, which must not wait until a long
     * computation ends */
    LOOP_TASK_SHORT,
    /* The task runs on the worker thread that may wait for something outside of the process. */
    LOOP_TASK_BLOCKING,
    /* background thread (base/thread.h) for long computations that no host waits for */
    LOOP_TASK_BACKGROUND,
    /* The task runs at once on the calling thread. A replay uses this, because it has no worker
     * thread. */
    LOOP_TASK_INLINE
};
struct loop_task_config {
    /* the functions of the task; valid as long as the program runs */
    const struct loop_task_ops *ops;
    struct loop_tasks *tasks; /* the list of the owner's tasks */
    void *owner, *ctx;
    enum loop_task_place place;
    /* NULL, or pointer to a counter of the owner. If the counter changes before the result arrives,
     * the result is dropped. */
    const uint64_t *generation;
};

/* Starts a task. *ret is valid until `done` or `drop` is called. With LOOP_TASK_INLINE, *ret is
 * NULL, because the task has already ended. `ret` may be NULL. Returns NOMEM if memory ran out or
 * no thread can be created; `drop` was then called. */
int loop_task_start(struct loop *l, const struct loop_task_config *config, struct loop_task **ret);
/* Cancels the task: `drop` will be called instead of `done`. `t` may be NULL. */
void loop_task_cancel(struct loop_task *t);
/* Returns true if the task was cancelled. Any thread may call this function. */
bool loop_task_is_cancelled(const struct loop_task *t);
/* Cancels all tasks in the list, and detaches them from their owner: later calls of `drop` get NULL
 * as the owner. The owner must call this function before it is freed. */
void loop_tasks_orphan(struct loop_tasks *tasks);
/* Returns true if the owner has tasks whose results have not arrived, including cancelled tasks. */
bool loop_tasks_any(const struct loop_tasks *tasks);

#endif
