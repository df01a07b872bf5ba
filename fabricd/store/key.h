/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of this manager. Each key is in a file of the state directory that only the user of fabricd
 * can read. The keys are not in the database, so that copies of the database and recordings
 * disclose no key.
 */
#ifndef FABRICD_STORE_KEY_H
#define FABRICD_STORE_KEY_H

#include <stddef.h>
#include <stdint.h>

/* Reads the key from the file DIR/NAME. If there is no such file, makes a random key and writes the
 * file with mode 0600. The key is never 0. Errors, each with a sentence in why[]: IO; DENIED: other
 * users can read the file; FORMAT: the file does not have a hexadecimal key, or is longer than 64
 * MiB; NOMEM. */
int store_key(const char *dir, const char *name, uint64_t *ret, char *why, size_t why_len);

/* makes a random key that is not 0; returns OK or IO */
int store_key_random(uint64_t *ret);

/* Reads the whole file DIR/NAME. The caller frees *ret_text. Errors, each with a sentence in why[]:
 * NOT_FOUND; IO; DENIED: other users can read the file; FORMAT: the file is longer than 64 MiB;
 * NOMEM. */
int store_key_file_read(const char *dir, const char *name, char **ret_text, size_t *ret_len,
                        char *why, size_t why_len);
/* Replaces the file DIR/NAME, with mode 0600. The file has either the old or the new text, even if
 * the manager is killed at any moment. Returns OK, or IO with the reason in why[]. */
int store_key_file_write(const char *dir, const char *name, const char *text, size_t len, char *why,
                         size_t why_len);

#endif
