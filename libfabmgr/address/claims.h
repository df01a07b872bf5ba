/* SPDX-License-Identifier: BSD-3-Clause */
/* The LIDs that ports claim: the LID of a port's lease, and the LID that its device reports. For
 * this folder only. */
#ifndef LIBFABMGR_ADDRESS_CLAIMS_H
#define LIBFABMGR_ADDRESS_CLAIMS_H

#include "libfabmgr/address/address.h"

/* A port that needs a LID, and the LIDs that it claims. */
struct fab_claim {
    uint32_t port; /* port id */
    uint64_t guid;
    /* leased: base LID of the port's lease. carried: base LID that the device reports. 0: there is
     * no such LID, or it is not valid. */
    uint32_t leased, carried;
    uint8_t lmc;
};
struct fab_claims {
    /* [count] claims of the ports in the fabric, sorted by GUID, then by port */
    struct fab_claim *by_guid;
    uint32_t count;
    /* [absent_count] leases of ports that are not in the fabric, sorted by GUID */
    struct fab_lease *absent;
    uint32_t absent_count;
};
/* Collects the claims of the ports, and the leases of absent ports. Returns OK or NOMEM. */
int fab_address_claims_make(const struct fab_address_input *in, uint32_t max_lid,
                            struct fab_claims *ret);
void fab_address_claims_fini(struct fab_claims *c);

/* Returns true if a base LID is valid: all its 2^LMC LIDs are unicast LIDs up to max_lid, and the
 * base LID is a multiple of 2^LMC (IBA 3.5.10). */
static inline bool fab_address_lid_valid(uint32_t lid, uint8_t lmc, uint32_t max_lid)
{
    uint32_t size = 1u << lmc;
    return lid != 0 && lid <= max_lid && (lid & (size - 1)) == 0 && size - 1 <= max_lid - lid;
}

#endif
