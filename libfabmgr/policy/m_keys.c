/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/policy/m_keys.h"

uint64_t fab_policy_m_key(const struct fab_m_keys *k, uint64_t port_guid)
{
    (void)port_guid;
    return k->number;
}

bool fab_policy_m_keys_same(const struct fab_m_keys *a, const struct fab_m_keys *b)
{
    return a->number == b->number;
}
