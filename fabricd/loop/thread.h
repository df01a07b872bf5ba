/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates threads. For this folder only. */
#ifndef FABRICD_LOOP_THREAD_H
#define FABRICD_LOOP_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Like pthread_create, but blocks all signals in the new thread, because the loop thread handles
 * signals. */
static inline int thread_start(pthread_t *ret, void *(*fn)(void *ctx), void *ctx)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int err = pthread_create(ret, NULL, fn, ctx);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err;
}

#endif
