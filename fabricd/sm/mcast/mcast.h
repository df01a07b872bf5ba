/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface of fabricd/sm/mcast for the other folders of fabricd/sm: the multicast groups, and the
 * MFTs of the switches. */
#ifndef FABRICD_SM_MCAST_MCAST_H
#define FABRICD_SM_MCAST_MCAST_H

#include "fabricd/sm/core/core.h"
#include "libfabmgr/plan/scrub.h"

int sm_multicast_init(struct sm *s); /* returns OK or NOMEM */
void sm_multicast_fini(struct sm *s);
/* Call this function when the model has a new snapshot. */
void sm_multicast_swept(struct sm *s);
/* Call this function after a view was published. */
void sm_multicast_changed(struct sm *s);
/* Call this function when a local repair removed links. It updates the multicast trees 20 ms
 * later. */
void sm_multicast_repaired(struct sm *s);
void sm_multicast_reload(struct sm *s);
/* Call this function when another manager may have written MFTs. */
void sm_multicast_forget(struct sm *s);
/* Fills in the next request that reads or writes an MFT block. Returns false if there is none. If
 * `few` is true, fills it in only if at most 64 requests are left. */
bool sm_mfts_next(struct sm *s, bool few, struct fab_mads_request *ret);

/* ---- for the scrub, which reads known MFT blocks again (mft_writes.c); number: of fab_mft_number
 */

size_t sm_mfts_held_count(const struct sm *s);
/* Finds the next MFT block, from index *at on, whose contents are known. Returns false if there is
 * none, or if MFTs are being written. */
bool sm_mfts_held_next(const struct sm *s, uint32_t *at, uint64_t *ret_guid, uint32_t *ret_number);
/* How far a scan of the unknown MFT blocks has come. The manager never wrote these blocks, so all
 * their entries must be zero. All members 0: before the first block. */
struct sm_mfts_scan {
    /* Index of the next block, over all switches. */
    uint32_t at;
    /* Numbers of switches, MLID groups, and blocks of a switch. */
    uint32_t switches, groups, rows;
    bool over;
};
/* Returns an upper bound of the number of unknown blocks, and begins a scan of them. */
uint64_t sm_mfts_scan_begin(const struct sm *s, struct sm_mfts_scan *scan);
/* Finds the next unknown block in at most `steps` steps. Returns false if these steps were not
 * enough, if MFTs are being written, or if there is no further block; then scan->over is set. */
bool sm_mfts_scan_next(const struct sm *s, struct sm_mfts_scan *scan, uint32_t steps,
                       uint64_t *ret_guid, uint32_t *ret_number);
bool sm_mfts_in_flight(const struct sm *s); /* returns whether an MFT request is unanswered */
/* Returns a number that changes whenever an MFT block is written. */
uint64_t sm_mfts_epoch(const struct sm *s);
/* Returns true if MFTs are being written or wait to be written. */
bool sm_mfts_pending(const struct sm *s);
/* Returns whether an MFT block that was read differs from what the switch is known to hold. A block
 * whose contents are not known must be zero. */
bool sm_mfts_differ(const struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data,
                    struct fab_scrub_difference *ret);
/* Records the MFT block that was read as the switch's contents, so that the block is written
 * again. */
void sm_mfts_record(struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data);

#endif
