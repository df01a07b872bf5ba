/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background tasks: a worker thread computes, and the owner takes the result on the loop thread.
 *
 * If a task was cancelled, its owner was freed, or its result is out of date when it arrives, the
 * result is dropped. A running task is not interrupted; long work should call
 * loop_task_is_cancelled at intervals.
 *
 * All functions are for the loop thread, except loop_task_is_cancelled.
 */
#ifndef FABRICD_LOOP_TASK_H
#define FABRICD_LOOP_TASK_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_task;

struct loop_task_ops {
    const char *name; /* for the statistics of the loop (loop_at), or NULL */
    /* Runs on the worker. It may access only ctx and immutable values. */
    void (*work)(void *ctx, struct loop_task *t);
    /* Called on the loop thread with the result. ctx now belongs to the owner. */
    void (*done)(void *owner, void *ctx);
    /* Called on the loop thread instead of done() to free ctx. owner is NULL if it was freed. */
    void (*drop)(void *owner, void *ctx);
};

/* The tasks of one owner whose results have not arrived yet. All zeros: there are none. */
struct loop_tasks {
    struct loop_task *first;
};

enum loop_task_place {
    LOOP_TASK_LONG,  /* the worker for long computations, one after the other */
    LOOP_TASK_SHORT, /* the worker for short computations (a few ms) that a round waits for */
    LOOP_TASK_INLINE /* at once on this thread, as a replay has no worker */
};
struct loop_task_config {
    const struct loop_task_ops *ops; /* lives as long as the program */
    struct loop_tasks *tasks;        /* the owner's list */
    void *owner, *ctx;
    enum loop_task_place place;
    /* A counter of the owner, or NULL. If it changes before the result arrives, the result is
     * dropped. */
    const uint64_t *generation;
};

/* Starts a task. *ret is valid until `done` or `drop` is called; it is NULL for LOOP_TASK_INLINE.
 * ret may be NULL. NOMEM (also if no thread can be created): drop() was called. */
int loop_task_start(struct loop *l, const struct loop_task_config *config, struct loop_task **ret);
/* Cancels the task: `drop` will be called in place of `done`. t may be NULL. */
void loop_task_cancel(struct loop_task *t);
/* Returns whether the task was cancelled. Any thread may call it. */
bool loop_task_is_cancelled(const struct loop_task *t);
/* Call it before the owner is freed. It cancels all tasks of the owner; their `drop` gets NULL as
 * owner. */
void loop_tasks_orphan(struct loop_tasks *tasks);
/* Returns true if tasks of the owner are under way, cancelled ones included. */
bool loop_tasks_any(const struct loop_tasks *tasks);

#endif
