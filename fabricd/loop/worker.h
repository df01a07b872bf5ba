/* The worker: one thread that runs pure computation in order, off the loop thread. */
#ifndef FABRICD_LOOP_WORKER_H
#define FABRICD_LOOP_WORKER_H

#include "fabricd/loop/loop.h"

struct worker;
struct worker *worker_new(struct loop *l); /* NULL: no memory or no thread */
/* Finishes the running job, drops the rest without calling their done. NULL is fine. */
void worker_free(struct worker *w);
int worker_add(struct worker *w, loop_fn *work, loop_fn *done, void *ctx);

#endif
