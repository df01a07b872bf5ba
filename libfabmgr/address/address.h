/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns LIDs. A port gets the LID of its lease. A port without a lease keeps the LID that its
 * device reports, if this LID is valid and free. Other ports get new LIDs. The new LIDs of the
 * endports of a leaf switch are contiguous, so that they share LFT blocks. The same fabric and
 * leases give the same LIDs. */
#ifndef LIBFABMGR_ADDRESS_ADDRESS_H
#define LIBFABMGR_ADDRESS_ADDRESS_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/policy/policy.h"
#include "libfabmgr/target/target.h"

struct fab_lease {
    uint64_t port_guid;
    uint32_t lid; /* base LID */
    uint8_t lmc;
};
enum fab_address_note_kind {
    /* The port cannot have the LID of its lease, or the LID that its device reports, because
     * another port gets this LID, or because it is leased to an absent port. A lease has precedence
     * over a LID that a device reports. Between two leases, or two reported LIDs, the port with the
     * lower GUID has precedence. */
    FAB_NOTE_DUPLICATE_LID,
    /* The device reports a LID that its port cannot have: it is not a unicast LID, not a multiple
     * of 2^LMC, or too high for the LFT of a switch. */
    FAB_NOTE_INVALID_LID,
};
struct fab_address_note {
    enum fab_address_note_kind kind;
    uint64_t port_guid;
    uint32_t lid;
};
struct fab_address_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    /* The LID leases, in any order. LIDs leased to ports that are not in the fabric stay reserved.
     */
    const struct fab_lease *leases;
    size_t lease_count;
};
/* Assigns LIDs to port 0 of each switch, to each port of an adapter or router that has a link, and
 * to the manager's own port. *ret_notes is an array, which the caller frees, with a note for each
 * duplicate or invalid LID; NULL: there are none. If no unreserved LID is left, ports get LIDs that
 * are leased to absent ports. All LIDs are below the LinearFDBCap of every switch. Returns OK,
 * LIMIT (too few LIDs, even with those of absent ports), INVAL (LMC above 7) or NOMEM. */
int fab_address_assign(const struct fab_address_input *in, struct fab_lids *ret_lids,
                       struct fab_address_note **ret_notes, size_t *ret_note_count);

#endif
