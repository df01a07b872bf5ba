/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that help whoever computes: what libfabmgr/base/pool.h asks for. */
#ifndef FABRICD_LOOP_THREAD_POOL_H
#define FABRICD_LOOP_THREAD_POOL_H

#include "libfabmgr/base/pool.h"

struct pool;
/* workers: with that of the caller; fewer where threads cannot be had. NULL: no memory. */
struct pool *thread_pool_new(uint32_t workers);
void thread_pool_free(struct pool *c); /* nobody is at work. NULL is fine */
/* To be lent to libfabmgr, from any thread; a second one that wants it meanwhile works alone.
 * NULL gives NULL. */
const struct fab_pool *thread_pool_lend(const struct pool *c);
/* As many workers as there are processors, within reason. */
uint32_t thread_pool_size(void);

#endif
