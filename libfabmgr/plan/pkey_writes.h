/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the blocks of P_Key tables to write. For this folder only. */
#ifndef LIBFABMGR_PLAN_PKEY_WRITES_H
#define LIBFABMGR_PLAN_PKEY_WRITES_H

#include "libfabmgr/plan/plan.h"

typedef int fab_plan_add_op(void *ctx, struct fab_plan_op op);

/* Adds the writes of a port's P_Key table for one of two passes. If `removes` is true, adds the
 * writes of the first pass, which only remove keys and turn full memberships into limited ones.
 * Otherwise adds those of the second pass, which write everything that still differs. Returns OK,
 * or the error that add() returned. */
int fab_plan_pkey_writes(const struct fab_plan_input *in, uint32_t port, bool removes,
                         fab_plan_add_op *add, void *ctx);
/* Computes the P_Keys that the block holds after the write `op`. */
void fab_plan_pkey_block(const struct fab_plan_input *in, const struct fab_plan_op *op,
                         uint16_t ret[FAB_PKEY_BLOCK]);

#endif
