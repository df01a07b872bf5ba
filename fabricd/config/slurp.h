/* SPDX-License-Identifier: BSD-3-Clause */
/* For this folder only: reads whole files into memory. */
#ifndef FABRICD_CONFIG_SLURP_H
#define FABRICD_CONFIG_SLURP_H

#include <stddef.h>

/* Reads a file of at most `most` bytes. `what` names the expected content for error messages.
 * *ret_text is malloc'd. NOT_FOUND, DENIED, IO, FORMAT (too large), NOMEM: why[] has the message.
 */
int slurp(const char *file, size_t most, const char *what, char **ret_text, size_t *ret_len,
          char *why, size_t why_len);

#endif
