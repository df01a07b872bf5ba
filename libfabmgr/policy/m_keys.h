/* SPDX-License-Identifier: BSD-3-Clause */
/* The M_Keys that ports must have (IBA 14.2.4): one key for all ports, or one key for each port
 * GUID. */
#ifndef LIBFABMGR_POLICY_M_KEYS_H
#define LIBFABMGR_POLICY_M_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#define FAB_M_KEY_SECRET 32 /* length of the secret in bytes */

/* Derives the M_Key of a port from the secret and the port GUID. Returns 0 if the key could not be
 * computed now; a derived key is never 0. */
typedef uint64_t fab_m_key_derive(const uint8_t secret[FAB_M_KEY_SECRET], uint64_t port_guid);

struct fab_m_keys { /* M_Keys of all ports; if all bytes are zero, ports have no M_Keys */
    /* the M_Key of all ports; not used if `derive` is not NULL */
    uint64_t number;
    /* function that derives the M_Key of each port from the secret; NULL: all ports have the key
     * `number` */
    fab_m_key_derive *derive;
    uint8_t secret[FAB_M_KEY_SECRET];
};

static inline bool fab_policy_m_keys_set(const struct fab_m_keys *k)
{
    return k->number != 0 || k->derive;
}
/* Returns the M_Key that the port with this GUID must have. For every port of a switch, the caller
 * passes the GUID of port 0. Returns 0 if ports must have no M_Keys, or if the key cannot be
 * derived: port_guid is 0 (the port is unknown), or derive() returned 0. */
uint64_t fab_policy_m_key(const struct fab_m_keys *k, uint64_t port_guid);
bool fab_policy_m_keys_same(const struct fab_m_keys *a, const struct fab_m_keys *b);

#endif
