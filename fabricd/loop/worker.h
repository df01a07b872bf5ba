/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker: one thread that runs pure computation in order, off the loop thread. */
#ifndef FABRICD_LOOP_WORKER_H
#define FABRICD_LOOP_WORKER_H

#include "fabricd/loop/loop.h"

struct worker;
/* owes: done is called for every job, at the latest by loop_free. NULL: no memory or no thread. */
struct worker *worker_new(struct loop *l, bool owes);
/* Finishes the running job, drops the rest without calling their done, unless it owes that. NULL is
 * fine. */
void worker_free(struct worker *w);
/* As loop_post, but loop_free calls what is left. NOMEM, IO. */
int loop_post_done(struct loop *l, loop_fn *done, void *ctx);
int worker_add(struct worker *w, loop_fn *work, loop_fn *done, void *ctx);

#endif
