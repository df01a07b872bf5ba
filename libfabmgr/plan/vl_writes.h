/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the SLtoVLMappingTables and VLArbitrationTables to write. For this folder only. */
#ifndef LIBFABMGR_PLAN_VL_WRITES_H
#define LIBFABMGR_PLAN_VL_WRITES_H

#include "libfabmgr/plan/plan.h"

/* The tables that one write sets: those of all pairs of ports of a switch, those of all pairs with
 * one in port or one out port (a line), or that of one pair. Later writes override earlier ones. */
enum fab_plan_vl_scope { FAB_PLAN_VL_ALL, FAB_PLAN_VL_LINE, FAB_PLAN_VL_PAIR };
typedef int fab_plan_add_op(void *ctx, struct fab_plan_op op);

/* Adds the writes of VL arbitration of a switch's ports. Returns NOMEM, or what add() returns. */
int fab_plan_vlarb_writes_of_switch(const struct fab_plan_input *in, uint32_t sw,
                                    fab_plan_add_op *add, void *ctx);
/* Adds the SL-to-VL writes of this scope that a switch needs. Returns NOMEM, or what add()
 * returns. */
int fab_plan_vl_writes_of_switch(const struct fab_plan_input *in, uint32_t sw,
                                 enum fab_plan_vl_scope reach, fab_plan_add_op *add, void *ctx);
/* Adds the SL-to-VL and VL arbitration writes of an adapter's or router's port. Returns NOMEM, or
 * what add() returns. */
int fab_plan_vl_writes_of_endport(const struct fab_plan_input *in, uint32_t port,
                                  fab_plan_add_op *add, void *ctx);

#endif
