/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies what a manager knows at its start: the database and the files with keys. */
#ifndef FABRICD_STORE_COPY_H
#define FABRICD_STORE_COPY_H

#include <stddef.h>

/* Copies the database and the key files m_key, cc_key and sa_key from a state directory to an empty
 * directory. Does not copy the key of the audit log. A manager may use the state directory
 * meanwhile. A missing file, or a missing state directory, is not an error. Returns OK; or DENIED,
 * IO or NOMEM, with the reason in why[]. */
int store_copy(const char *dir, const char *to, char *why, size_t why_len);
/* Removes the directory and the files in it. The directory must have no subdirectories. */
void store_copy_remove(const char *to);

#endif
