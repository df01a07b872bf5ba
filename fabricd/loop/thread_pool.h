/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread pool for libfabmgr's parallel computations (libfabmgr/base/pool.h). */
#ifndef FABRICD_LOOP_THREAD_POOL_H
#define FABRICD_LOOP_THREAD_POOL_H

#include "libfabmgr/base/pool.h"

struct pool;
/* workers: number of threads, the caller's included; fewer if threads cannot be created. NULL: no
 * memory. */
struct pool *thread_pool_new(uint32_t workers);
void thread_pool_free(struct pool *c); /* only while no work runs; c may be NULL */
/* The interface for libfabmgr, usable on any thread; while one caller uses the pool, another works
 * alone. Returns NULL for NULL. */
const struct fab_pool *thread_pool_lend(const struct pool *c);
/* The number of CPUs, at most 16. */
uint32_t thread_pool_size(void);

#endif
