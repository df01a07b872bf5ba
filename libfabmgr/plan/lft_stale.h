/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds table entries that must drop packets before links come up. For this folder only. */
#ifndef LIBFABMGR_PLAN_LFT_STALE_H
#define LIBFABMGR_PLAN_LFT_STALE_H

#include "libfabmgr/plan/plan.h"

typedef int fab_plan_add_op(void *ctx, struct fab_plan_op op);

/* Adds the writes that set a switch's stale entries to NO_ROUTE. Returns OK, or the error that
 * add() returned. */
int fab_plan_lft_stale(const struct fab_plan_input *in, uint32_t sw, fab_plan_add_op *add,
                       void *ctx);

#endif
