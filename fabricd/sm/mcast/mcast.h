/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface of fabricd/sm/mcast for the other folders of fabricd/sm: the multicast groups, and the
 * MFTs of the switches. */
#ifndef FABRICD_SM_MCAST_MCAST_H
#define FABRICD_SM_MCAST_MCAST_H

#include "fabricd/sm/core/core.h"
#include "libfabmgr/plan/scrub.h"

int sm_multicast_init(struct sm *s); /* returns OK or NOMEM */
void sm_multicast_fini(struct sm *s);
/* Replaces the groups and their members by those in the store. Returns OK or NOMEM. */
int sm_multicast_load(struct sm *s);
/* Drops the groups, because another master will change them. Before this manager is master again,
 * call sm_multicast_load. Until then, hosts that want to join get the answer BUSY. */
void sm_multicast_unload(struct sm *s);
/* Call this function when the model has a new snapshot. If a switch may have been reset, its MFT is
 * no longer known. */
void sm_multicast_swept(struct sm *s);
/* Call this function after a view was published. It sets a timer that updates the multicast trees
 * and the MFTs. */
void sm_multicast_changed(struct sm *s);
/* Makes the groups from the store soon, so that hosts can join them. MFTs are neither read nor
 * written before sm_multicast_changed is called. Call this function after a take-over, when a view
 * is published whose tables this manager has not compared with the switches yet. */
void sm_multicast_make(struct sm *s);
/* Call this function when a local repair has changed tables. The multicast trees are updated 20 ms
 * later, unless an update is due anyway. */
void sm_multicast_repaired(struct sm *s);
void sm_multicast_reload(struct sm *s);
/* Call this function when another manager may have written MFTs. The contents of all MFT blocks are
 * then unknown. */
void sm_multicast_forget(struct sm *s);
/* Fills in the next request that reads or writes an MFT block. few: only if at most 64 requests are
 * left. Returns false if there is no request now. */
bool sm_mfts_next(struct sm *s, bool few, struct fab_mads_request *ret);

/* Functions by which the scrub reads the known MFT blocks again (mft_writes.c). `number` is the
 * number of a block in the MFT of a switch (fab_mft_number). */

size_t sm_mfts_held_count(const struct sm *s);
/* Finds the next MFT block with known contents, from index *at on. Returns false if there is none,
 * or while MFTs are being written. */
bool sm_mfts_held_next(const struct sm *s, uint32_t *at, uint64_t *ret_guid, uint32_t *ret_number);
/* How far a search has come for MFT blocks that the manager has neither written nor read; their
 * entries should be zero. sm_mfts_scan_begin begins the search. */
struct sm_mfts_scan {
    /* Index of the next block of the search, counted over all switches. */
    uint32_t at;
    /* switches: number of switches. mlid_groups: number of MLID groups in the largest MFT. rows:
     * number of blocks in the largest MFT. */
    uint32_t switches, mlid_groups, rows;
    bool over;
};
/* Begins a search for MFT blocks that the manager has neither written nor read. Returns an upper
 * bound of their number. */
uint64_t sm_mfts_scan_begin(const struct sm *s, struct sm_mfts_scan *scan);
/* Examines up to `steps` blocks, until it finds one that the manager has neither written nor read.
 * Returns false if it finds none, or while MFTs are being written. Sets scan->over after the last
 * block. */
bool sm_mfts_scan_next(const struct sm *s, struct sm_mfts_scan *scan, uint32_t steps,
                       uint64_t *ret_guid, uint32_t *ret_number);
bool sm_mfts_in_flight(const struct sm *s); /* returns whether an MFT request is unanswered */
/* Returns a number that changes whenever an MFT block is written, and when a plan of MFT requests
 * begins or ends. */
uint64_t sm_mfts_epoch(const struct sm *s);
/* Returns true if MFTs are being written or wait to be written. */
bool sm_mfts_pending(const struct sm *s);
/* The scrub has read an MFT block. Returns true if it differs from the known contents, or, if these
 * are not known, if it is not zero. Returns false if the trees do not have the switch, or while
 * MFTs are being written. */
bool sm_mfts_differ(const struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data,
                    struct fab_scrub_difference *ret);
/* The scrub has read an MFT block. Stores its entries as those of the switch. If they are not the
 * ones that the trees need, the block is written again. */
void sm_mfts_record(struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data);

#endif
