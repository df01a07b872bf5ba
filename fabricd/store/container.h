/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An encrypted file that is written and read from the beginning to the end. For the folder
 * fabricd/store only.
 *
 * The file begins with a header of 48 bytes. All numbers are in network byte order.
 *
 *     0  "fabricd-backup\n" and a zero byte
 *    16  version of the format: 1
 *    20  parameters of scrypt (RFC 7914): base-2 logarithm of N, then r and p
 *    32  salt, 16 random bytes
 *
 * Chunks follow. Each has the length of its text (4 bytes), the ciphertext, and the tag (16 bytes)
 * of AES-256-GCM. All chunks have CONTAINER_CHUNK bytes of text, except the last, which has fewer.
 * The nonce is the number of the chunk; in the last chunk, the last byte of the nonce is 1. A
 * reader therefore notices if chunks are missing, repeated or exchanged, even at the end of the
 * file. The header is additional authenticated data of each chunk. The key is derived from the
 * passphrase and the random salt. No two files therefore have the same key, and each file can begin
 * with nonce 0.
 */
#ifndef FABRICD_STORE_CONTAINER_H
#define FABRICD_STORE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CONTAINER_CHUNK 65536
/* base-2 logarithm of the cost N of scrypt for new files: scrypt then takes 128 MiB of memory and
 * some tenths of a second
 */
#define CONTAINER_LOG_N 17
#define CONTAINER_SALT 16
#define CONTAINER_KEY 32

struct container;
/* Begins a file: writes the header. log_n: CONTAINER_LOG_N, or less in tests, to save time. Returns
 * NOMEM or IO. The caller closes the file. */
int container_create(FILE *file, const char *passphrase, unsigned log_n, struct container **ret);
/* Like container_create, but with a key that the caller has derived by scrypt from the passphrase
 * and a new random salt. The parameters of scrypt must be CONTAINER_LOG_N, r = 8 and p = 1. A key
 * must be used for one file only. */
int container_create_keyed(FILE *file, const uint8_t salt[CONTAINER_SALT],
                           const uint8_t key[CONTAINER_KEY], struct container **ret);
/* Appends bytes. Returns OK or IO. */
int container_write(struct container *c, const void *bytes, size_t len);
/* Writes the last chunk, and syncs the file. Returns IO. */
int container_finish(struct container *c);

/* Reads the header. Returns OK; or FORMAT (the file has another format), UNSUPPORTED (a newer
 * version of the format) or NOMEM, with the reason in why[]. */
int container_open(FILE *file, const char *passphrase, struct container **ret, char *why,
                   size_t why_len);
/* Reads exactly `len` bytes. Bytes of a chunk are returned only after its tag was checked. Errors,
 * each with a sentence in why[]: DENIED (the passphrase is wrong, or the first chunk was changed),
 * FORMAT, TRUNCATED. */
int container_read(struct container *c, void *bytes, size_t len, char *why, size_t why_len);
/* Checks that the caller has read all bytes, and that no bytes follow in the file. Returns OK; or
 * FORMAT, TRUNCATED or DENIED, with the reason in why[]. */
int container_end(struct container *c, char *why, size_t why_len);

/* frees the container, and erases its key; `c` may be NULL */
void container_free(struct container *c);

#endif
