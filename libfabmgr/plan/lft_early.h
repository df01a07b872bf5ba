/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the LFT writes that must be answered before links become Active (stage EARLY of plan.h).
 * For this folder only. */
#ifndef LIBFABMGR_PLAN_LFT_EARLY_H
#define LIBFABMGR_PLAN_LFT_EARLY_H

#include "libfabmgr/plan/plan.h"

typedef int fab_plan_add_op(void *ctx, struct fab_plan_op op);

/* The switches that are cut off: no Active ISLs connect them with the manager's switch, directly or
 * over other switches. */
struct fab_plan_cut_off {
    uint64_t *sw; /* bitset of switches */
};
/* Finds the switches that are cut off. If the manager is not connected to a switch, no switch
 * counts as cut off. Returns OK or NOMEM. */
int fab_plan_cut_off_find(const struct fab_fabric *f, struct fab_plan_cut_off *ret);
void fab_plan_cut_off_fini(struct fab_plan_cut_off *c);
/* Returns true if at least one ISL of the switch can carry data packets. */
bool fab_plan_lft_is_joined(const struct fab_fabric *f, uint32_t sw);

/* Returns a bitset of the entries of an LFT block that must drop packets before links come up. The
 * switch must not be cut off. coming_up: bitset of the port numbers of the switch whose links come
 * up. */
uint64_t fab_plan_lft_early_drains(const struct fab_plan_input *in, uint32_t sw, uint32_t block,
                                   const uint64_t coming_up[4]);
/* Finds the ports of switch `sw` whose ISLs a plan brings up, because they are not Active yet. Sets
 * ret[] to the bitset of their port numbers. Returns true if there is such a port. */
bool fab_plan_lft_coming_up(const struct fab_fabric *f, uint32_t sw, uint64_t ret[4]);
/* Adds the writes that make entries of a switch drop packets before links come up and, with
 * in->restore, the writes that restore doubtful blocks. The switch must not be cut off. Returns OK,
 * or the error that add() returned. */
int fab_plan_lft_early(const struct fab_plan_input *in, uint32_t sw, fab_plan_add_op *add,
                       void *ctx);

#endif
