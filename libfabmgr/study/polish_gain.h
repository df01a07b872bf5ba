/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether polished tables (libfabmgr/route/local_search/polish.h) are worth their writes.
 */
#ifndef LIBFABMGR_STUDY_POLISH_GAIN_H
#define LIBFABMGR_STUDY_POLISH_GAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_polish_gain_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *before, *after;
    /* fab_study_polish_gain calls this function often. If it returns true, the measurement ends
     * with BUSY. NULL: the measurement cannot be stopped. */
    bool (*stopped)(void *ctx);
    void *stopped_ctx;
};
struct fab_polish_gain {
    /* the greatest link load of all-to-all traffic, and the congestion product (doc/glossary.md);
     * all 0 if no entry differs */
    uint64_t load_before, load_after, product_before, product_after;
    uint64_t entries; /* number of entries that differ */
    /* number of LFT blocks that differ, and number of all LFT blocks */
    uint32_t blocks, all_blocks;
    /* NULL: the polished tables are worth their writes. Otherwise the reason why they are not, as a
     * clause that can follow "because". */
    const char *objection;
};
/* Measures the tables before and after the polish. The polished tables are worth their writes if
 *   - they lower the greatest load by at least 1 %, and by at least a twentieth of the percentage
 *     of all LFT blocks that must be written (by 3 % if 60 % of the blocks must be written);
 *   - the congestion product becomes lower;
 *   - no other figure gets worse by more than its tolerance (fab_study_figures_keep).
 * Returns BUSY if stopped() returned true, or NOMEM. */
int fab_study_polish_gain(const struct fab_polish_gain_input *in, struct fab_polish_gain *ret);

#endif
