/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that help whoever computes: what libfabmgr/base/crew.h asks for. */
#ifndef FABRICD_LOOP_THREAD_POOL_H
#define FABRICD_LOOP_THREAD_POOL_H

#include "libfabmgr/base/crew.h"

struct crew;
/* hands: with that of the caller; fewer where threads cannot be had. NULL: no memory. */
struct crew *thread_pool_new(uint32_t hands);
void thread_pool_free(struct crew *c); /* nobody is at work. NULL is fine */
/* To be lent to libfabmgr, from any thread; a second one that wants it meanwhile works alone.
 * NULL gives NULL. */
const struct fab_crew *thread_pool_lend(const struct crew *c);
/* As many hands as there are processors, within reason. */
uint32_t thread_pool_size(void);

#endif
