/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the SLtoVLMappingTables and VLArbitrationTables to write. For this folder only. */
#ifndef LIBFABMGR_PLAN_VL_WRITES_H
#define LIBFABMGR_PLAN_VL_WRITES_H

#include "libfabmgr/plan/plan.h"

/* Scope of a write of SL-to-VL tables. ALL sets the tables of all pairs of ports of a switch. LINE
 * sets the tables of all pairs that have a certain in port, or of all pairs that have a certain out
 * port. PAIR sets the table of one pair. Later writes override earlier ones. */
enum fab_plan_vl_scope { FAB_PLAN_VL_ALL, FAB_PLAN_VL_LINE, FAB_PLAN_VL_PAIR };
typedef int fab_plan_add_op(void *ctx, struct fab_plan_op op);

/* Adds the writes of the VL arbitration tables of all ports of a switch. Returns OK, or the error
 * that add() returned. */
int fab_plan_vlarb_writes_of_switch(const struct fab_plan_input *in, uint32_t sw,
                                    fab_plan_add_op *add, void *ctx);
/* Adds the writes of the given scope for the SL-to-VL tables of a switch. Returns OK, or the error
 * that add() returned. */
int fab_plan_vl_writes_of_switch(const struct fab_plan_input *in, uint32_t sw,
                                 enum fab_plan_vl_scope scope, fab_plan_add_op *add, void *ctx);
/* Adds the writes of the SL-to-VL and VL arbitration tables of a port of an adapter or router.
 * Returns OK, or the error that add() returned. */
int fab_plan_vl_writes_of_endport(const struct fab_plan_input *in, uint32_t port,
                                  fab_plan_add_op *add, void *ctx);

#endif
