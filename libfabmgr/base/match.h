/* SPDX-License-Identifier: BSD-3-Clause */
/* Shell-like patterns for names. */
#ifndef LIBFABMGR_BASE_MATCH_H
#define LIBFABMGR_BASE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the pattern matches the whole text: '*' matches any characters or none, '?' exactly one.
 * Takes at most time proportional to the product of both lengths. */
bool fab_base_pattern_matches(const char *pattern, const char *text, size_t len);

#endif
