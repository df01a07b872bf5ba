/* SPDX-License-Identifier: BSD-3-Clause */
/* In which order table blocks are written. Private to the room. */
#ifndef LIBFABMGR_PLAN_LFT_ORDER_H
#define LIBFABMGR_PLAN_LFT_ORDER_H

#include "libfabmgr/plan/plan.h"

/* The writes of table blocks in ops[count], in order and marked (see struct fab_plan_op), and some
 * of them in parts: *ret_ops is malloc'd, or NULL where ops is as good. ret_unchecked: see struct
 * fab_plan. NOMEM. */
int fab_plan_lft_order(const struct fab_plan_input *in, const struct fab_plan_op *ops, size_t count,
                       struct fab_plan_op **ret_ops, size_t *ret_count, uint32_t *ret_unordered,
                       bool *ret_unchecked);

#endif
