/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns by which users select nodes, ports, hosts and racks. Case does not matter.
 *
 *   *          any text, even an empty one
 *   ?          any character
 *   [1-8,12]   any of these numbers, in the notation of job schedulers: a number is at least as
 *              long as the first number of its range, so that [08-12] is 08, 09, 10, 11 or 12
 *   /          a slash or a blank, so that "host-1/mlx5_0" is the adapter "host-1 mlx5_0"
 */
#ifndef LIBFABMGR_BASE_GLOB_H
#define LIBFABMGR_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* maximum length in bytes of a text that a pattern can match */
#define FAB_GLOB_TEXT_MAX 1023u

/* Returns true if the text has a '*', a '?' or a list of numbers in brackets. Brackets with other
 * content are part of a name. */
bool fab_base_is_glob(const char *text);
/* Returns true if the pattern matches the whole text, and the text has at most FAB_GLOB_TEXT_MAX
 * bytes. The time is at most proportional to the length of the pattern times the length of the
 * text. */
bool fab_base_glob_matches(const char *glob, size_t glob_len, const char *text, size_t len);

#endif
