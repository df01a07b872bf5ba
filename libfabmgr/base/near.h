/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares names that may have been misspelled, for messages such as 'did you mean "switch"?'. */
#ifndef LIBFABMGR_BASE_NEAR_H
#define LIBFABMGR_BASE_NEAR_H

#include <stddef.h>

/* maximum length in bytes of the name `b` of fab_base_distance */
#define FAB_BASE_NEAR_LEN 128u

/* Returns the edit distance (Levenshtein) of two names, without regard to the case of ASCII
 * letters. If the distance is greater than `most`, or b is longer than FAB_BASE_NEAR_LEN, returns
 * most + 1. */
unsigned fab_base_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned most);
/* Returns the maximum edit distance at which a name of `len` bytes is still worth suggesting: 2, or
 * less for a short name. */
unsigned fab_base_near_most(size_t len);

#endif
