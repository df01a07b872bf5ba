/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: delays the jobs of workers in virtual time, so that other events can come before a job
 * begins. Without a delay, a job in virtual time runs at once. */
#ifndef FABRICD_LOOP_HOLD_H
#define FABRICD_LOOP_HOLD_H

#include "fabricd/loop/loop.h"

enum { HOLD_WORKERS = 4 };
struct hold;
/* Returns NULL if there is no memory. */
struct hold *hold_new(struct loop *l, loop_delay_fn *delay, void *ctx);
/* Frees *h. Posts done() to the loop for each job that has not begun, without a call of its work().
 * h may be NULL. */
void hold_free(struct hold *h);
/* Queues a job for a worker (0 to HOLD_WORKERS - 1). The job begins when its delay has passed and
 * all earlier jobs of this worker have begun. Returns OK or NOMEM. */
int hold_add(struct hold *h, unsigned worker, loop_fn *work, loop_fn *done, void *ctx);

#endif
