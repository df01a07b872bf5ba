/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates threads. */
#ifndef FABRICD_BASE_THREAD_H
#define FABRICD_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Creates a thread as pthread_create does, but with all signals blocked, because the loop thread
 * handles signals. */
static inline int thread_start(pthread_t *ret, void *(*fn)(void *ctx), void *ctx)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int err = pthread_create(ret, NULL, fn, ctx);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err;
}

/* Names this thread for tools such as top and gdb; at most 15 bytes of the name are used. Each
 * thread must name itself: if a process is not dumpable, the kernel does not let one thread name
 * another. */
static inline void thread_set_name(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

#endif
