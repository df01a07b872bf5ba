/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clocks of the daemon. Code whose behaviour depends on the time calls these functions instead
 * of clock_gettime, so that a simulation can run in virtual time. The virtual time is a
 * thread-local variable, so that callers need not know whether time is real or virtual.
 */
#include "fabricd/base/clock.h"

#include <time.h>

/* 2026-01-01T00:00:00Z, at which virtual time begins, as Unix time in us */
#define VIRTUAL_EPOCH_US INT64_C(1767225600000000)

/* virtual time of this thread, in us; 0: the thread uses real time */
static _Thread_local uint64_t virtual_now;

static int64_t microseconds(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now); /* clock_gettime cannot fail for the clocks that fabricd uses */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

uint64_t clock_now_us(void)
{
    return virtual_now ? virtual_now : (uint64_t)microseconds(CLOCK_MONOTONIC);
}

int64_t clock_unix_us(void)
{
    return virtual_now ? VIRTUAL_EPOCH_US + (int64_t)virtual_now : microseconds(CLOCK_REALTIME);
}

bool clock_is_virtual(void)
{
    return virtual_now != 0;
}

uint64_t clock_cpu_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void clock_set_virtual(uint64_t now_us)
{
    virtual_now = now_us;
}
