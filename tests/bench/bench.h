/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for all benchmarks: they measure the CPU time of this process, and exit on errors. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "libfabmgr/base/status.h"

/* Returns the CPU time that this process has used, in s. */
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

static inline double cpu_us(void)
{
    return cpu_s() * 1e6;
}

/* Ends the program if the status is not OK. why: the reason, or "". */
static inline void must_why(int status, const char *what, const char *why)
{
    if (status == FAB_OK)
        return;
    fprintf(stderr, "%s: %s %s\n", what, fab_base_status_text(status), why);
    exit(1);
}

static inline void must(int status, const char *what)
{
    must_why(status, what, "");
}

#endif
