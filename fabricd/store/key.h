/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of this manager, each in a file of the state directory that only its user can read. They are
 * outside the database, so that copies of the database and recordings disclose none.
 */
#ifndef FABRICD_STORE_KEY_H
#define FABRICD_STORE_KEY_H

#include <stddef.h>
#include <stdint.h>

/* Reads the key from DIR/NAME; if there is no such file, makes a random key and writes the file
 * with mode 0600. The key is not 0. Errors, each with a sentence in why[]: IO; DENIED: other users
 * can read the file; FORMAT: it does not have a key in hexadecimal. */
int store_key(const char *dir, const char *name, uint64_t *ret, char *why, size_t why_len);

int store_key_random(uint64_t *ret); /* a random key that is not 0. IO */

/* Reads the whole of DIR/NAME, which the caller frees. Errors, each with a sentence in why[]:
 * NOT_FOUND; IO; DENIED: other users can read the file; FORMAT: it is longer than 64 MiB; NOMEM. */
int store_key_file_read(const char *dir, const char *name, char **ret_text, size_t *ret_len,
                        char *why, size_t why_len);
/* Replaces DIR/NAME, with mode 0600, so that it has the old or the new text whenever the manager is
 * killed. IO, with a sentence in why[]. */
int store_key_file_write(const char *dir, const char *name, const char *text, size_t len, char *why,
                         size_t why_len);

#endif
