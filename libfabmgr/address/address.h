/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses: who gets which LID. Keeps what a port has when that is valid, else what it was leased
 * before, else places new ones contiguous per leaf switch (ports of one leaf share LFT blocks).
 * Deterministic: same fabric and leases, same LIDs.
 */
#ifndef LIBFABMGR_ADDRESS_ADDRESS_H
#define LIBFABMGR_ADDRESS_ADDRESS_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

struct fab_lease {
    uint64_t port_guid;
    uint32_t lid; /* base */
    uint8_t lmc;
};
enum fab_address_note_kind {
    FAB_NOTE_DUPLICATE_LID, /* two ports carry it: the lease or the lower GUID keeps it */
    FAB_NOTE_INVALID_LID,   /* outside unicast, or misaligned for the LMC */
};
struct fab_address_note {
    enum fab_address_note_kind kind;
    uint64_t port_guid;
    uint32_t lid;
};
struct fab_address_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_lease *leases; /* any order; leases of absent ports stay reserved */
    size_t lease_count;
};
/* LIMIT: more LIDs needed than 16-bit unicast has, or than the smallest LinearFDBCap allows: the
 * leases of absent ports are given up first. ret_notes malloc'd (may be NULL when none).
 * LID priority: lease > LID in the device > new. */
int fab_address_assign(const struct fab_address_input *in, struct fab_lids *ret_lids,
                       struct fab_address_note **ret_notes, size_t *ret_note_count);

#endif
