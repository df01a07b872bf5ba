/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which port claims which LID, by its lease or by what the device reports. For this folder only.
 */
#ifndef LIBFABMGR_ADDRESS_CLAIMS_H
#define LIBFABMGR_ADDRESS_CLAIMS_H

#include "libfabmgr/address/address.h"

/* A port that needs a LID. */
struct fab_claim {
    uint32_t port; /* port id */
    uint64_t guid;
    uint32_t leased, carried; /* base LIDs by lease and in the device; 0: none, or not valid */
    uint8_t lmc;
};
struct fab_claims {
    struct fab_claim *by_guid; /* [count] sorted by (guid, port) */
    uint32_t count;
    struct fab_lease
        *absent; /* [absent_count] leases of ports that are not in the fabric, sorted */
    uint32_t absent_count;
};
/* Collects the claims and the leases of absent ports. NOMEM. */
int fab_address_claims_make(const struct fab_address_input *in, uint32_t max_lid,
                            struct fab_claims *ret);
void fab_address_claims_fini(struct fab_claims *c);

/* A base LID is valid when its whole range is unicast and aligned to its size (IBA 3.5.10). */
static inline bool fab_address_lid_valid(uint32_t lid, uint8_t lmc, uint32_t max_lid)
{
    uint32_t size = 1u << lmc;
    return lid != 0 && lid <= max_lid && (lid & (size - 1)) == 0 && size - 1 <= max_lid - lid;
}

#endif
