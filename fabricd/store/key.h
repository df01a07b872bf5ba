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

#endif
