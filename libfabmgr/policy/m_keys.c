/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/policy/m_keys.h"

#include <string.h>

uint64_t fab_policy_m_key(const struct fab_m_keys *k, uint64_t port_guid)
{
    if (!k->derive)
        return k->number;
    return port_guid != 0 ? k->derive(k->secret, port_guid) : 0;
}

bool fab_policy_m_keys_same(const struct fab_m_keys *a, const struct fab_m_keys *b)
{
    return a->number == b->number && a->derive == b->derive &&
           memcmp(a->secret, b->secret, sizeof(a->secret)) == 0;
}
