/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker: one thread that runs jobs one after the other, so that computations do not occupy the
 * loop thread. */
#ifndef FABRICD_LOOP_WORKER_H
#define FABRICD_LOOP_WORKER_H

#include "fabricd/loop/loop.h"

struct worker;
/* Creates a worker with a thread of this name (thread_set_name), whose jobs have a function work()
 * for the worker's thread and a function done() for the loop thread. If `owes` is true, done() is
 * called for every job, at the latest by loop_free. Returns NULL if memory ran out or no thread
 * could be created. */
struct worker *worker_new(struct loop *l, const char *name, bool owes);
/* Waits for the running job, and drops the queued jobs. done() of a dropped job is posted only if
 * `owes` is true. w may be NULL. */
void worker_free(struct worker *w);
/* Like loop_post, but if `done` was not called before, loop_free calls it. Returns NOMEM or IO. */
int loop_post_done(struct loop *l, loop_fn *done, void *ctx);
int worker_add(struct worker *w, loop_fn *work, loop_fn *done, void *ctx);

#endif
