/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background tasks: work on a worker thread, whose result the owner takes on the loop thread.
 *
 * A task can be cancelled, its owner may be freed while the worker computes, and its result may be
 * out of date when it arrives. In these three cases the result is dropped instead of handed over.
 * The worker cannot be interrupted; long work asks loop_task_is_cancelled now and then.
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
    const char *name; /* for the account of the loop (loop_at), or NULL */
    /* On the worker. It reads and writes ctx and sealed values only. */
    void (*work)(void *ctx, struct loop_task *t);
    /* On the loop, with the result. ctx belongs to the owner from now on. */
    void (*done)(void *owner, void *ctx);
    /* On the loop: nobody wants the result. Frees ctx. owner is NULL when it was freed. */
    void (*drop)(void *owner, void *ctx);
};

/* The tasks of one owner whose result has not arrived yet. All zero: none. */
struct loop_tasks {
    struct loop_task *first;
};

enum loop_task_place {
    LOOP_TASK_LONG,  /* the worker for whole computations, one after the other */
    LOOP_TASK_SHORT, /* the worker for a few milliseconds that a round waits for */
    LOOP_TASK_INLINE /* at once, on this thread: replays have no worker */
};
struct loop_task_config {
    const struct loop_task_ops *ops; /* lives as long as the program */
    struct loop_tasks *tasks;        /* of the owner */
    void *owner, *ctx;
    enum loop_task_place place;
    /* A counter of the owner's, or NULL. A result that arrives after it changed is dropped. */
    const uint64_t *generation;
};

/* Starts a task. *ret is valid until `done` or `drop` is called; with LOOP_TASK_INLINE it is NULL
 * afterwards. ret may be NULL. NOMEM (also: no thread): ctx was dropped. */
int loop_task_start(struct loop *l, const struct loop_task_config *config, struct loop_task **ret);
/* The owner does not want the result any more: `drop` will be called. NULL is fine. */
void loop_task_cancel(struct loop_task *t);
/* From any thread. */
bool loop_task_is_cancelled(const struct loop_task *t);
/* The owner is about to be freed: cancels all its tasks; their `drop` gets no owner. */
void loop_tasks_orphan(struct loop_tasks *tasks);
/* Whether the worker still has something of the owner, cancelled tasks included. */
bool loop_tasks_any(const struct loop_tasks *tasks);

#endif
