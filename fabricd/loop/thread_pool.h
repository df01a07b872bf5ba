/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread pool for libfabmgr's parallel computations (libfabmgr/base/pool.h). */
#ifndef FABRICD_LOOP_THREAD_POOL_H
#define FABRICD_LOOP_THREAD_POOL_H

#include "libfabmgr/base/pool.h"

struct pool;
/* Creates a pool of `workers` threads, the caller's included, or of fewer if threads cannot be
 * created. NULL: out of memory. */
struct pool *thread_pool_new(uint32_t workers);
void thread_pool_free(struct pool *c); /* only while no work runs; c may be NULL */
/* Returns the interface for libfabmgr, or NULL if c is NULL. Any thread may use it. While one
 * caller uses the pool, another caller computes on its own thread alone. */
const struct fab_pool *thread_pool_lend(const struct pool *c);
/* Returns the number of CPUs, at most 16. */
uint32_t thread_pool_size(void);

#endif
