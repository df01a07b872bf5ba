/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of LFT writes. For this folder only. */
#ifndef LIBFABMGR_PLAN_LFT_ORDER_H
#define LIBFABMGR_PLAN_LFT_ORDER_H

#include "libfabmgr/plan/plan.h"

/* Puts the LFT writes ops[count] into order and marks them (see struct fab_plan_op); some are
 * written in parts. The caller frees *ret_ops, which is NULL if ops is good as it is. For
 * ret_unordered and ret_unchecked see struct fab_plan. Returns NOMEM. */
int fab_plan_lft_order(const struct fab_plan_input *in, const struct fab_plan_op *ops, size_t count,
                       struct fab_plan_op **ret_ops, size_t *ret_count, uint32_t *ret_unordered,
                       bool *ret_unchecked);

#endif
