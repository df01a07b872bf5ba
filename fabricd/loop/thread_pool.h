/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads among which libfabmgr divides its work (libfabmgr/base/pool.h). */
#ifndef FABRICD_LOOP_THREAD_POOL_H
#define FABRICD_LOOP_THREAD_POOL_H

#include "libfabmgr/base/pool.h"

struct pool;
/* workers: threads, the caller's included; fewer if the system gives no more. NULL: no memory. */
struct pool *thread_pool_new(uint32_t workers);
void thread_pool_free(struct pool *c); /* no work runs. NULL is fine */
/* For libfabmgr, from any thread; a second caller at the same time works alone. NULL gives NULL. */
const struct fab_pool *thread_pool_lend(const struct pool *c);
/* The number of processors, within reason. */
uint32_t thread_pool_size(void);

#endif
