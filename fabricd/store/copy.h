/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies what a manager knows at its start: the database and the files with keys. */
#ifndef FABRICD_STORE_COPY_H
#define FABRICD_STORE_COPY_H

#include <stddef.h>

/* Copies the database and the keys of a state directory to an empty directory. The manager of the
 * state directory may run. A missing file, or a missing state directory, is not an error. Returns
 * DENIED, IO or NOMEM; why[] then has a sentence. */
int store_copy(const char *dir, const char *to, char *why, size_t why_len);
/* Removes the directory and the files in it, which have no folders. */
void store_copy_remove(const char *to);

#endif
