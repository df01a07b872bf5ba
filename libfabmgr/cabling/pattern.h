/* SPDX-License-Identifier: BSD-3-Clause */
/* The cabling that most switches of a tree show (infer.h). For this folder only. */
#ifndef LIBFABMGR_CABLING_PATTERN_H
#define LIBFABMGR_CABLING_PATTERN_H

#include "libfabmgr/cabling/levels.h"
#include "libfabmgr/cabling/plan.h"

#define FAB_CABLING_VOTES 3u /* minimum number of equal votes for a majority */

/* Infers the intended links of the fabric, and adds them to the plan, which must be empty.
 * *ret_links is the number of ISLs that were decided by a majority vote. Returns OK or NOMEM. */
int fab_cabling_find_pattern(const struct fab_fabric *f, const struct fab_cabling_links *links,
                             struct fab_cabling_plan *plan, uint32_t *ret_links);

#endif
