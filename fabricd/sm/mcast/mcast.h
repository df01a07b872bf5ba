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
/* Call this function when the model has a new snapshot. Forgets the MFT of a switch that may have
 * been reset. */
void sm_multicast_swept(struct sm *s);
/* Call this function after a view was published. It sets a timer that updates the multicast trees
 * and the MFTs. */
void sm_multicast_changed(struct sm *s);
/* Sets a timer that updates the multicast trees after 20 ms, unless an update is already due. Call
 * this function when a local repair changed tables. */
void sm_multicast_repaired(struct sm *s);
void sm_multicast_reload(struct sm *s);
/* Call this function when another manager may have written MFTs. All MFT blocks then count as
 * unknown. */
void sm_multicast_forget(struct sm *s);
/* Fills in the next request that reads or writes an MFT block. few: fills in a request only if at
 * most 64 such requests are left. Returns false if no request was filled in. */
bool sm_mfts_next(struct sm *s, bool few, struct fab_mads_request *ret);

/* Functions for the scrub, which reads known MFT blocks again (mft_writes.c). `number` identifies
 * the block in the MFT of a switch, as fab_mft_number makes it. */

size_t sm_mfts_held_count(const struct sm *s);
/* Finds the next MFT block whose contents are known, beginning at index *at. Returns false if there
 * is none, or if MFTs are being written. */
bool sm_mfts_held_next(const struct sm *s, uint32_t *at, uint64_t *ret_guid, uint32_t *ret_number);
/* Position of a search for MFT blocks that the manager neither wrote nor read; all entries of such
 * a block must be zero. sm_mfts_scan_begin makes the position before the first block. */
struct sm_mfts_scan {
    /* Index of the next block of the search, counted over all switches. */
    uint32_t at;
    /* switches: number of switches. mlid_groups: maximum number of MLID groups in the MFT of a
     * switch. rows: maximum number of blocks in the MFT of a switch. */
    uint32_t switches, mlid_groups, rows;
    bool over;
};
/* Begins a search for unknown blocks. Returns an upper bound of their number. */
uint64_t sm_mfts_scan_begin(const struct sm *s, struct sm_mfts_scan *scan);
/* Looks at up to `steps` blocks for the next unknown one. Returns false if it found none, or if
 * MFTs are being written. At the end of the MFTs it sets scan->over. */
bool sm_mfts_scan_next(const struct sm *s, struct sm_mfts_scan *scan, uint32_t steps,
                       uint64_t *ret_guid, uint32_t *ret_number);
bool sm_mfts_in_flight(const struct sm *s); /* returns whether an MFT request is unanswered */
/* Returns a number that changes whenever an MFT block is written. */
uint64_t sm_mfts_epoch(const struct sm *s);
/* Returns true if MFTs are being written or wait to be written. */
bool sm_mfts_pending(const struct sm *s);
/* Returns whether an MFT block that was read differs from the contents that the manager knows. If
 * it knows none, the block must be zero. */
bool sm_mfts_differ(const struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data,
                    struct fab_scrub_difference *ret);
/* Notes the entries of an MFT block that the scrub has read from the switch. If these entries are
 * wrong, the manager writes the block again. */
void sm_mfts_record(struct sm *s, uint64_t guid, uint32_t number, const uint8_t *data);

#endif
