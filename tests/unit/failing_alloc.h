/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations that fail on demand. Include this file once in a test that is linked with
 *
 *     -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
 *
 * All allocations of libfabmgr, of the test and of Check then call the functions of this file. A
 * scenario must not assert, because Check allocates memory for each assertion.
 */
#ifndef TESTS_UNIT_FAILING_ALLOC_H
#define TESTS_UNIT_FAILING_ALLOC_H

#include <stdint.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static uint64_t alloc_calls;                /* number of allocations so far */
static uint64_t alloc_fail_at = UINT64_MAX; /* index of the allocation that fails */
/* Returns true if the present allocation counts; NULL: all allocations count. */
static bool (*alloc_counts)(void);

static bool alloc_fails(void)
{
    return (alloc_counts == NULL || alloc_counts()) && alloc_calls++ == alloc_fail_at;
}

void *__wrap_malloc(size_t size)
{
    return alloc_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return alloc_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return alloc_fails() ? NULL : __real_realloc(old, size);
}

/* Calls scenario() again and again. In the n-th call, the n-th allocation fails and scenario() must
 * return `nomem`, its status for "no memory". The last call is the first one in which no allocation
 * fails. Each call must free everything (which the sanitizer checks). Returns the number of
 * allocations of a whole call. */
static inline uint64_t fail_each_allocation(int (*scenario)(void), int nomem)
{
    for (uint64_t n = 0;; n++) {
        alloc_calls = 0;
        alloc_fail_at = n;
        int status = scenario();
        uint64_t calls = alloc_calls;
        alloc_fail_at = UINT64_MAX;
        if (calls <= n) {
            ck_assert_int_eq(status, 0);
            return n;
        }
        ck_assert_int_eq(status, nomem);
    }
}

#endif
