/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface of fabricd/sm/mcast for the other folders of fabricd/sm: multicast groups and the MFTs
 * of switches. */
#ifndef FABRICD_SM_MCAST_MCAST_H
#define FABRICD_SM_MCAST_MCAST_H

#include "fabricd/sm/core/core.h"
#include "libfabmgr/plan/scrub.h"

int sm_multicast_init(struct sm *s); /* NOMEM */
void sm_multicast_fini(struct sm *s);
void sm_multicast_swept(struct sm *s);   /* call it when the model has a new snapshot */
void sm_multicast_changed(struct sm *s); /* call it after a view was published */
/* Call it when a local repair removed links: updates the trees 20 ms later. */
void sm_multicast_repaired(struct sm *s);
void sm_multicast_reload(struct sm *s);
void sm_multicast_forget(struct sm *s); /* call it when another manager may have written MFTs */
/* Fills in the next MFT request; false: there is none. few: fills it in only if at most 64 requests
 * are left. */
bool sm_mfts_next(struct sm *s, bool few, struct fab_mads_request *ret);

/* ---- for the scrub, which reads known MFT blocks again (mft_writes.c); number: of fab_mft_number
 */

size_t sm_mfts_held_count(const struct sm *s);
/* Finds the next known block from position *at on; false: there is none, or MFTs are being written.
 */
bool sm_mfts_held_next(const struct sm *s, uint32_t *at, uint64_t *ret_guid, uint32_t *ret_number);
bool sm_mfts_in_flight(const struct sm *s); /* an MFT request is unanswered */
/* Returns a number that changes when an MFT is written. */
uint64_t sm_mfts_epoch(const struct sm *s);
bool sm_mfts_pending(const struct sm *s); /* MFTs are being written, or will be */
/* Compares a block that was read with what the switch is known to hold. */
bool sm_mfts_differ(const struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data,
                    struct fab_scrub_difference *ret);
/* Records what was read, and writes the block again. */
void sm_mfts_record(struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data);

#endif
