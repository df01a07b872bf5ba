/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker: one thread that runs jobs one after the other, so that computations do not occupy the
 * loop thread. */
#ifndef FABRICD_LOOP_WORKER_H
#define FABRICD_LOOP_WORKER_H

#include "fabricd/loop/loop.h"

struct worker;
/* A job: the functions for the worker thread and for the loop thread. It is allocated before the
 * work begins and becomes the message to the loop, so that the result arrives even if memory has
 * run out by then. */
struct loop_job {
    loop_fn *work, *done;
    void *ctx;
    /* true: done() must be called in any case, because it frees ctx; if the loop ends before it has
     * called done(), loop_free calls it */
    bool owed;
    struct loop_job *next;
};
struct worker_config {
    const char *name; /* name of the thread (thread_set_name) */
    /* true: done() is called even for jobs that have not run when the worker is freed, in loop_free
     * at the latest */
    bool owes;
    bool background; /* the thread is a background thread (thread_set_background) */
};

/* Creates a worker. Each job of the worker has a function work() for its thread and a function
 * done() for the loop thread. Returns NULL if memory ran out or no thread could be created. */
struct worker *worker_new(struct loop *l, const struct worker_config *config);
/* Waits until the running job ends, and drops the queued jobs. For a dropped job, posts done() only
 * if `owes` is true. w may be NULL. */
void worker_free(struct worker *w);
/* Makes a job with these values. Returns NULL if there is no memory. */
struct loop_job *loop_job_new(const struct loop_job *values);
/* Sends the job to the loop, which calls done() and frees the job. */
void loop_deliver(struct loop *l, struct loop_job *job);
/* Queues a job for the worker. Returns OK or NOMEM. */
int worker_add(struct worker *w, loop_fn *work, loop_fn *done, void *ctx);

#endif
