/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives the M_Key of a port from the master secret in the key file (`subnet.m_key: derived`). */
#ifndef FABRICD_STORE_DERIVE_H
#define FABRICD_STORE_DERIVE_H

#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/policy/m_keys.h"

/* The input of store_hkdf_sha256, which computes `len` bytes by HKDF with SHA-256 (RFC 5869). It
 * returns OK; RANGE if `len` exceeds 8160; or NOMEM if OpenSSL fails, for lack of memory or because
 * it has no HKDF. */
struct store_hkdf {
    const uint8_t *secret, *salt, *info;
    size_t secret_len, salt_len, info_len;
};
int store_hkdf_sha256(const struct store_hkdf *in, uint8_t *ret, size_t len);

/* Returns the M_Key of the port with this GUID; for a switch, this is the GUID of port 0.
 * HKDF-SHA256 computes 32 bytes from the secret; the salt is empty, and the info is "fabricd M_Key
 * 1", followed by the GUID in network byte order. The M_Key is the first 64-bit word of these bytes
 * that is not 0. Returns 0 if no key can be derived: there is no memory, or OpenSSL has no HKDF.
 * Keys are cached; any thread may call this function. */
uint64_t store_m_key_derive(const uint8_t secret[FAB_M_KEY_SECRET], uint64_t port_guid);

#endif
