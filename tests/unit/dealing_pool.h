/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread pool without threads. The calling thread executes the tasks in descending order, and
 * pretends that the workers take turns. So each run of a test gives the same result. */
#ifndef TESTS_UNIT_DEALING_POOL_H
#define TESTS_UNIT_DEALING_POOL_H

#include "libfabmgr/base/pool.h"

static inline void deal(void *ctx, uint32_t count, fab_pool_task *task, void *arg)
{
    const uint32_t *workers = ctx;
    for (uint32_t i = count; i-- > 0;)
        task(arg, i, (i + 1) % *workers);
}

/* Returns a pool that acts as if it had *workers threads. The pool keeps the pointer, so *workers
 * must exist as long as the pool. */
static inline struct fab_pool dealing_pool(uint32_t *workers)
{
    return (struct fab_pool){.workers = *workers, .run = deal, .ctx = workers};
}

#endif
