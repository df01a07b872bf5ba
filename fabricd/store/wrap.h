/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encrypts secrets with the wrapping key (the setting replication.wrapping_key). The cipher is
 * AES-256 in GCM (NIST SP 800-38D), from OpenSSL. Its key is derived from the wrapping key by HKDF
 * (RFC 5869).
 */
#ifndef FABRICD_STORE_WRAP_H
#define FABRICD_STORE_WRAP_H

#include <stddef.h>
#include <stdint.h>

#define STORE_WRAP_KEY 32   /* size of the wrapping key in bytes */
#define STORE_WRAP_NONCE 12 /* size in bytes of the nonce, which precedes the encrypted bytes */
#define STORE_WRAP_TAG 16   /* size in bytes of the tag, which follows the encrypted bytes */
#define STORE_WRAP_MORE (STORE_WRAP_NONCE + STORE_WRAP_TAG)

/* Encrypts `len` bytes, and writes len + STORE_WRAP_MORE bytes to ret[]. `context` is a text that
 * says what the secret is; store_unwrap must get the same text. Returns IO (the kernel has no
 * random numbers), LIMIT (`len` is too large) or NOMEM. */
int store_wrap(const uint8_t key[STORE_WRAP_KEY], const char *context, const uint8_t *in,
               size_t len, uint8_t *ret);
/* Decrypts `len` bytes, and writes len - STORE_WRAP_MORE bytes to ret[]. Returns DENIED if the
 * bytes were wrapped with another key or another context, or were changed. Also returns NOMEM. */
int store_unwrap(const uint8_t key[STORE_WRAP_KEY], const char *context, const uint8_t *in,
                 size_t len, uint8_t *ret);
/* Returns a number that depends on the wrapping key and discloses nothing about it, so that
 * managers can compare their keys; 0: no memory, or OpenSSL has no HKDF. */
uint64_t store_wrap_check(const uint8_t key[STORE_WRAP_KEY]);

#endif
