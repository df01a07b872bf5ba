/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A golden file in the source tree has the text that a test must print. If the text of a test
 * differs, the test fails and prints a unified diff. With UPDATE_GOLDEN=1 in the environment, the
 * test writes its text to the file instead.
 */
#ifndef TESTS_SUPPORT_GOLDEN_H
#define TESTS_SUPPORT_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fails the Check test unless `text` equals the content of the golden file. file: path relative
 * to the source tree. */
void golden_compare(const char *file, const char *text);
/* Returns true if `text` equals the content of the golden file, for tests that do not use Check.
 * path: path of the file. */
bool golden_same(const char *path, const char *text);
/* Writes the path of a file in the source tree into ret[]. file: relative to the source tree. */
void golden_path(const char *file, char *ret, size_t len);

/* Initial value for the functions below, which compute the hash FNV-1a. Tests use it to compare
 * long tables by one number. To hash several tables, pass the result for one table as the initial
 * value for the next one. */
#define GOLDEN_HASH UINT64_C(0xcbf29ce484222325)
uint64_t golden_hash(uint64_t hash, const void *bytes, size_t len);
/* Like golden_hash, for numbers. The hash is the same on machines of any byte order. */
uint64_t golden_hash_numbers(uint64_t hash, const uint64_t *number, size_t count);

#endif
