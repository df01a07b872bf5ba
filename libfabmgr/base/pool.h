/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work side by side. The library has no threads; who calls it may lend it some: a function that
 * runs `body` for 0..count-1, in any order and on any thread, and returns when all are done. Bodies
 * write to places of their own only, so that results do not depend on how many workers there are.
 */
#ifndef LIBFABMGR_BASE_POOL_H
#define LIBFABMGR_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

/* worker: 0..workers-1, no two bodies at work have the same: an index of scratch space. */
typedef void fab_pool_task(void *arg, uint32_t i, uint32_t worker);

struct fab_pool {
    uint32_t workers; /* 1.. */
    void (*run)(void *ctx, uint32_t count, fab_pool_task *body, void *arg);
    void *ctx;
};

static inline uint32_t fab_base_pool_workers(const struct fab_pool *c)
{
    return c != NULL && c->workers > 1 ? c->workers : 1;
}
/* NULL: one after the other, here. */
static inline void fab_base_pool_run(const struct fab_pool *c, uint32_t count, fab_pool_task *body,
                                     void *arg)
{
    if (fab_base_pool_workers(c) > 1 && count > 1) {
        c->run(c->ctx, count, body, arg);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        body(arg, i, 0);
}

#endif
