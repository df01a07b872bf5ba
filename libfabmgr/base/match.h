/* SPDX-License-Identifier: BSD-3-Clause */
/* Shell-like patterns for names. */
#ifndef LIBFABMGR_BASE_MATCH_H
#define LIBFABMGR_BASE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the pattern matches the whole text. '*' matches any number of characters, '?'
 * exactly one. The time is at most proportional to the product of the two lengths. */
bool fab_base_pattern_matches(const char *pattern, const char *text, size_t len);

#endif
