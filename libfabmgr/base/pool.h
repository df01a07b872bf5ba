/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread pool, as the library sees it. The library creates no threads; its caller may lend it a
 * pool, whose function runs a task for the indices 0..count-1, in any order and on any thread, and
 * returns when all have finished. Each task writes only memory that no other task of the same call
 * uses, so that the result does not depend on the number of workers.
 */
#ifndef LIBFABMGR_BASE_POOL_H
#define LIBFABMGR_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

/* worker: 0..workers-1. No two tasks that run at the same time have the same number, so that it
 * can index scratch memory. */
typedef void fab_pool_task(void *arg, uint32_t i, uint32_t worker);

struct fab_pool {
    uint32_t workers; /* 1.. */
    void (*run)(void *ctx, uint32_t count, fab_pool_task *task, void *arg);
    void *ctx;
};

static inline uint32_t fab_base_pool_workers(const struct fab_pool *p)
{
    return p != NULL && p->workers > 1 ? p->workers : 1;
}
/* Runs the task for 0..count-1. Without a pool (NULL) the calling thread runs them one by one. */
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
