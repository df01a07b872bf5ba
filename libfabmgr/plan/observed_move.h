/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves the known tables to the ids of another snapshot, in place. */
#ifndef LIBFABMGR_PLAN_OBSERVED_MOVE_H
#define LIBFABMGR_PLAN_OBSERVED_MOVE_H

#include "libfabmgr/plan/plan.h"

/* Like fab_plan_observed_remap, but translates the known tables in place. The highest LID of *o
 * stays the same. If *o has space for all switches of the new snapshot, and their order is the
 * same, this function moves the LFTs within their memory instead of copying all of them.
 * o->lft.switch_count is then the number of LFTs for which *o has space, which may be greater than
 * now->switch_count. Returns NOMEM, with *o unchanged. */
int fab_plan_observed_move(struct fab_observed *o, const struct fab_fabric *old,
                           const struct fab_fabric *now);

#endif
