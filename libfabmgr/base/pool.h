/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface to a thread pool. The library creates no threads itself, but uses a pool that the
 * caller passes to it.
 *
 * run() calls a task for each index from 0 to count - 1, in any order and on any thread, and
 * returns when all calls have finished. A task must write only memory that no other task of the
 * same run() uses; then the result does not depend on the number of threads.
 */
#ifndef LIBFABMGR_BASE_POOL_H
#define LIBFABMGR_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Type of a task, which does part `i` of the work. `worker` is the number of the calling thread,
 * from 0 to fab_pool.workers - 1. Calls that run at the same time have different numbers, so a task
 * may use the scratch memory that belongs to this number. */
typedef void fab_pool_task(void *arg, uint32_t i, uint32_t worker);

struct fab_pool {
    /* Number of threads that run tasks, at least 1. */
    uint32_t workers;
    void (*run)(void *ctx, uint32_t count, fab_pool_task *task, void *arg);
    void *ctx;
};

static inline uint32_t fab_base_pool_workers(const struct fab_pool *p)
{
    return p != NULL && p->workers > 1 ? p->workers : 1;
}
/* Calls the task for each index from 0 to count - 1, and returns when all calls have finished. If
 * there is no pool (`p` is NULL), the calling thread makes all calls, one after the other. */
static inline void fab_base_pool_run(const struct fab_pool *p, uint32_t count, fab_pool_task *task,
                                     void *arg)
{
    if (fab_base_pool_workers(p) > 1 && count > 1) {
        p->run(p->ctx, count, task, arg);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        task(arg, i, 0);
}

#endif
