/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders LFT writes. For this folder only. */
#ifndef LIBFABMGR_PLAN_LFT_ORDER_H
#define LIBFABMGR_PLAN_LFT_ORDER_H

#include "libfabmgr/plan/plan.h"

/* Orders the LFT writes ops[count] and sets their flags (struct fab_plan_op). Some blocks are
 * written in parts. *ret_ops receives the ordered writes in a new array, which the caller frees;
 * NULL: ops[] already has the right order, and the other results are unchanged. ret_unordered and
 * ret_unchecked: see struct fab_plan. Returns NOMEM, or INVAL after an internal error. */
int fab_plan_lft_order(const struct fab_plan_input *in, const struct fab_plan_op *ops, size_t count,
                       struct fab_plan_op **ret_ops, size_t *ret_count, uint32_t *ret_unordered,
                       bool *ret_unchecked);

#endif
