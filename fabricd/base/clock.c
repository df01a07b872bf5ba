/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time, asked from one place: nothing else of the daemon calls clock_gettime, so that a test which
 * needs virtual time has one door to stand in.
 */
#include "fabricd/base/clock.h"

#include <time.h>

static int64_t microseconds(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now); /* cannot fail for the two clocks that are asked */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

uint64_t clock_now_us(void)
{
    return (uint64_t)microseconds(CLOCK_MONOTONIC);
}

int64_t clock_unix_us(void)
{
    return microseconds(CLOCK_REALTIME);
}
