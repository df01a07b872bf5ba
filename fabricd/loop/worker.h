/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker: one thread that runs jobs one after the other, so that computations do not occupy the
 * loop thread. */
#ifndef FABRICD_LOOP_WORKER_H
#define FABRICD_LOOP_WORKER_H

#include "fabricd/loop/loop.h"

struct worker;
struct worker_config {
    const char *name; /* name of the thread (thread_set_name) */
    /* true: when the worker is freed, done() is also called for jobs that have not run; loop_free
     * calls it at the latest */
    bool owes;
    bool background; /* the thread is a background thread (thread_set_background) */
};

/* Creates a worker. Each job of the worker has a function work() for its thread and a function
 * done() for the loop thread. Returns NULL if memory ran out or no thread could be created. */
struct worker *worker_new(struct loop *l, const struct worker_config *config);
/* Waits until the running job ends, and drops the queued jobs. For a dropped job, posts done() only
 * if `owes` is true. w may be NULL. */
void worker_free(struct worker *w);
/* Like loop_post, but loop_free calls `done` if the loop has not called it before. Returns OK,
 * NOMEM or IO. */
int loop_post_done(struct loop *l, loop_fn *done, void *ctx);
int worker_add(struct worker *w, loop_fn *work, loop_fn *done, void *ctx);

#endif
