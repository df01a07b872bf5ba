/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays jobs of workers in virtual time, so that other events can occur before a job begins.
 * Without a delay, a job in virtual time runs at once. */
#ifndef FABRICD_LOOP_HOLD_H
#define FABRICD_LOOP_HOLD_H

#include "fabricd/loop/loop.h"

enum { HOLD_WORKERS = 4 };
struct hold;
/* Returns NULL if there is no memory. */
struct hold *hold_new(struct loop *l, loop_delay_fn *delay, void *ctx);
/* Posts done() of the jobs that have not begun; their work() is not called. h may be NULL. */
void hold_free(struct hold *h);
/* Adds a job of a worker (0 to HOLD_WORKERS - 1). A job begins after its delay, and not before the
 * earlier jobs of its worker. Returns NOMEM or IO. */
int hold_add(struct hold *h, unsigned worker, loop_fn *work, loop_fn *done, void *ctx);

#endif
