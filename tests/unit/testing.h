/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_TESTING_H
#define TESTS_UNIT_TESTING_H

#include <check.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs the suite, and returns the exit code for main(). Under `make check`, the library Check
 * prints TAP (Test Anything Protocol), otherwise plain text. CK_FORK=no runs all tests in one
 * process, for a debugger. */
static inline int test_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Returns the seed of a random test: TEST_SEED from the environment, otherwise `seed`. Prints the
 * seed, so that a failure can be repeated. */
static inline uint64_t test_seed(const char *what, uint64_t seed)
{
    const char *from_env = getenv("TEST_SEED");
    if (from_env != NULL)
        seed = strtoull(from_env, NULL, 0);
    printf("# %s: TEST_SEED=%" PRIu64 "\n", what, seed);
    fflush(stdout);
    return seed;
}

/* Returns how often a random test must be repeated: `rounds` times. Under a sanitizer, which makes
 * a test four times as slow, only a quarter as often. */
static inline unsigned test_rounds(unsigned rounds)
{
#if defined(__has_feature) /* clang tells in this way that a sanitizer is used */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return (rounds + 3) / 4;
#else
    return rounds;
#endif
}

#endif
