/* SPDX-License-Identifier: BSD-3-Clause */
/* The M_Keys that ports are to have (IBA 14.2.4). */
#ifndef LIBFABMGR_POLICY_M_KEYS_H
#define LIBFABMGR_POLICY_M_KEYS_H

#include <stdbool.h>
#include <stdint.h>

struct fab_m_keys {  /* all zero: no keys */
    uint64_t number; /* the key of all ports */
};

static inline bool fab_policy_m_keys_set(const struct fab_m_keys *k)
{
    return k->number != 0;
}
/* Returns the M_Key for the port with this GUID; 0: the port is to have no M_Key. For every port of
 * a switch, the caller passes the GUID of port 0. */
uint64_t fab_policy_m_key(const struct fab_m_keys *k, uint64_t port_guid);
bool fab_policy_m_keys_same(const struct fab_m_keys *a, const struct fab_m_keys *b);

#endif
