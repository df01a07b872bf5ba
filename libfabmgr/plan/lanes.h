/* SPDX-License-Identifier: BSD-3-Clause */
/* Which SLtoVLMappingTables are written, and how. Private to the room. */
#ifndef LIBFABMGR_PLAN_LANES_H
#define LIBFABMGR_PLAN_LANES_H

#include "libfabmgr/plan/plan.h"

/* What a write is good for: all pairs of ports of a switch, a line of them (with one port as in or
 * as out port), one pair. Each is written over by the next. */
enum fab_lanes_reach { FAB_LANES_ALL, FAB_LANES_LINE, FAB_LANES_PAIR };
typedef int fab_lanes_add(void *ctx, struct fab_plan_op op);

/* VL arbitration of the ports of a switch. NOMEM, or what add() returns. */
int fab_lanes_shares_of_switch(const struct fab_plan_input *in, uint32_t sw, fab_lanes_add *add,
                               void *ctx);
/* The writes of this reach that a switch needs. NOMEM, or what add() returns. */
int fab_lanes_of_switch(const struct fab_plan_input *in, uint32_t sw, enum fab_lanes_reach reach,
                        fab_lanes_add *add, void *ctx);
/* Those of a port of an adapter or router. */
int fab_lanes_of_end(const struct fab_plan_input *in, uint32_t port, fab_lanes_add *add, void *ctx);

#endif
