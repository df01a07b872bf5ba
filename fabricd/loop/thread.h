/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads beside the loop's. For this folder only. */
#ifndef FABRICD_LOOP_THREAD_H
#define FABRICD_LOOP_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create, with all signals blocked: they are for the loop thread. */
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
