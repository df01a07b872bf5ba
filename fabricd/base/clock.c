/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time, asked from one place: nothing else of the daemon calls clock_gettime, so that a simulation
 * which needs virtual time has one door to stand in. It is the one mutable variable of the program
 * that belongs to nobody: whoever asks for the time need not know in which kind of time it runs.
 */
#include "fabricd/base/clock.h"

#include <time.h>

#define VIRTUAL_EPOCH_US INT64_C(1767225600000000) /* 2026-01-01T00:00:00Z */

static _Thread_local uint64_t virtual_now; /* 0: real time */

static int64_t microseconds(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now); /* cannot fail for the two clocks that are asked */
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
