/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by benchmarks: the time of this process, and ends where something fails. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libfabmgr/base/status.h"

/* Of the processor, so that others on the machine do not count. */
static inline double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline double cpu_ms(void)
{
    return cpu_s() * 1e3;
}

static inline void must(int status, const char *what)
{
    if (status == FAB_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, fab_status_text(status));
    exit(1);
}

#endif
