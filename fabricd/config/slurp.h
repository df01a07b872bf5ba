/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads whole files into memory. For this folder only. */
#ifndef FABRICD_CONFIG_SLURP_H
#define FABRICD_CONFIG_SLURP_H

#include <stddef.h>

/* Reads a file of at most `most` bytes. `what`: name of the expected content, for messages. The
 * caller frees *ret_text. Returns NOT_FOUND, DENIED, IO, FORMAT (the file is too large) or NOMEM,
 * each with a message in why[]. */
int slurp(const char *file, size_t most, const char *what, char **ret_text, size_t *ret_len,
          char *why, size_t why_len);
/* Like slurp, for a file with secrets. Also returns DENIED if other users can read or write the
 * file, and FORMAT if it is not a regular file. */
int slurp_secret(const char *file, size_t most, const char *what, char **ret_text, size_t *ret_len,
                 char *why, size_t why_len);

#endif
