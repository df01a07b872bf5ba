/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker: one thread that runs jobs in order, so that computations do not occupy the loop
 * thread. */
#ifndef FABRICD_LOOP_WORKER_H
#define FABRICD_LOOP_WORKER_H

#include "fabricd/loop/loop.h"

struct worker;
/* Creates a worker. owes: done() is called for every job, by loop_free at the latest. NULL: out of
 * memory, or no thread could be created. */
struct worker *worker_new(struct loop *l, bool owes);
/* Waits for the running job and drops the queued ones; their done() is posted only if `owes`. w may
 * be NULL. */
void worker_free(struct worker *w);
/* Like loop_post, but loop_free calls `done` if the loop has not. NOMEM, IO. */
int loop_post_done(struct loop *l, loop_fn *done, void *ctx);
int worker_add(struct worker *w, loop_fn *work, loop_fn *done, void *ctx);

#endif
