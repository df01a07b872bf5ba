/* SPDX-License-Identifier: BSD-3-Clause */
/* Which SLtoVLMappingTables are written, and how. Private to the room. */
#ifndef LIBFABMGR_PLAN_VL_WRITES_H
#define LIBFABMGR_PLAN_VL_WRITES_H

#include "libfabmgr/plan/plan.h"

/* What a write is good for: all pairs of ports of a switch, a line of them (with one port as in or
 * as out port), one pair. Each is written over by the next. */
enum fab_plan_vl_scope { FAB_PLAN_VL_ALL, FAB_PLAN_VL_LINE, FAB_PLAN_VL_PAIR };
typedef int fab_plan_add_op(void *ctx, struct fab_plan_op op);

/* VL arbitration of the ports of a switch. NOMEM, or what add() returns. */
int fab_plan_vlarb_writes_of_switch(const struct fab_plan_input *in, uint32_t sw,
                                    fab_plan_add_op *add, void *ctx);
/* The writes of this reach that a switch needs. NOMEM, or what add() returns. */
int fab_plan_vl_writes_of_switch(const struct fab_plan_input *in, uint32_t sw,
                                 enum fab_plan_vl_scope reach, fab_plan_add_op *add, void *ctx);
/* Those of a port of an adapter or router. */
int fab_plan_vl_writes_of_endport(const struct fab_plan_input *in, uint32_t port,
                                  fab_plan_add_op *add, void *ctx);

#endif
