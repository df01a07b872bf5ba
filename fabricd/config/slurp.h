/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files into memory. Private to the room. */
#ifndef FABRICD_CONFIG_SLURP_H
#define FABRICD_CONFIG_SLURP_H

#include <stddef.h>

/* A file of at most `most` bytes that is expected to be `what`; *ret_text is malloc'd. On failure
 * why[] says why: NOT_FOUND, DENIED, IO, FORMAT (too large), NOMEM. */
int slurp(const char *file, size_t most, const char *what, char **ret_text, size_t *ret_len,
          char *why, size_t why_len);

#endif
