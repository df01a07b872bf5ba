/* SPDX-License-Identifier: BSD-3-Clause */
/* Names by patterns. */
#ifndef LIBFABMGR_BASE_MATCH_H
#define LIBFABMGR_BASE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the pattern is for the whole text: * stands for any characters, ? for one. In time of
 * the product of both at most. */
bool fab_base_pattern_matches(const char *pattern, const char *text, size_t len);

#endif
