/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread pool for libfabmgr's parallel computations (libfabmgr/base/pool.h). */
#ifndef FABRICD_LOOP_THREAD_POOL_H
#define FABRICD_LOOP_THREAD_POOL_H

#include "libfabmgr/base/pool.h"

struct pool;
/* Creates a pool of `workers` threads, including the caller's thread. The pool is smaller if
 * threads cannot be created. Returns NULL if memory ran out. */
struct pool *thread_pool_new(uint32_t workers);
/* Frees the pool, in which no computation may be running; c may be NULL. */
void thread_pool_free(struct pool *c);
/* Returns the interface through which libfabmgr uses the pool; NULL if c is NULL. Any thread may
 * use this interface. While the pool works for one caller, other callers compute on their own
 * thread only. */
const struct fab_pool *thread_pool_lend(const struct pool *c);
/* Returns the number of threads that a pool should have: the number of CPUs, at most 16. */
uint32_t thread_pool_size(void);

#endif
