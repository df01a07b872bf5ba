/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates threads. */
#ifndef FABRICD_BASE_THREAD_H
#define FABRICD_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Makes this thread a background thread: if other threads need the processor, the background thread
 * gets about a tenth of the time. From Linux 6.12 on, other threads also interrupt it within 0.1 ms
 * instead of some milliseconds. If the kernel refuses the change, the thread keeps its normal
 * share. */
static inline void thread_set_background(void)
{
    /* the first version of struct sched_attr, which not every <sched.h> has */
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns, deadline, period;
    } attr = {.size = sizeof(attr), .nice = 10, .slice_ns = 100000};
    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

#endif
