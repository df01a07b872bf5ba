/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives the LFT writes of a plan an order in which no mixture of old and new tables can cause a
 * deadlock.
 *
 * libfabmgr/plan orders the LFT writes so that no mixture has a forwarding loop, but a mixture may
 * have a cycle of channel dependencies. fab_transition_order_plan checks this. If every mixture is
 * free of cycles, the plan keeps its order, which restores broken paths first. Otherwise its LFT
 * writes are replaced by the steps of fab_transition_make.
 *
 * If the new tables are a repair of the old tables, fab_transition_order_by_repair orders the
 * writes without this check.
 */
#ifndef LIBFABMGR_TRANSITION_PLAN_ORDER_H
#define LIBFABMGR_TRANSITION_PLAN_ORDER_H

#include "libfabmgr/plan/plan.h"
#include "libfabmgr/repair/repair.h"
#include "libfabmgr/transition/transition.h"

/* What was done to the stages EARLY and ROUTES together. verdict: the greater verdict of the two
 * stages. steps: the sum of their step_count (struct fab_transition). The other members are like
 * those of struct fab_transition: numbers are sums over both stages, and a flag is true if it is
 * true for one stage. */
struct fab_transition_outcome {
    enum fab_transition_verdict verdict;
    uint32_t steps, rounds, drained;
    uint64_t lost_pairs;
    uint32_t unknown;
    uint64_t sl_pairs;
    bool stale_sls, unproven_lanes;
};
/* limits of the search; struct fab_transition_input explains the members */
struct fab_transition_effort {
    const struct fab_pool *pool;
    uint64_t visits;
    bool (*stopped)(void *ctx);
    void *stopped_ctx;
};
/* Orders the LFT writes of `plan`, which fab_plan_make made from `in`. old_vls: the SLs that hosts
 * use, and the SL-to-VL tables before the plan; NULL: one VL. effort: limits of the search for
 * steps. If the verdict is OLD_CYCLE or NEW_CYCLE, the plan keeps its order, and mixtures of old
 * and new tables may have a cycle. Returns NOMEM, INVAL, or BUSY if the search was stopped. After
 * an error, the order of the plan may be unsafe. */
int fab_transition_order_plan(const struct fab_plan_input *in, const struct fab_vls *old_vls,
                              const struct fab_transition_effort *effort, struct fab_plan *plan,
                              struct fab_transition_outcome *ret);
/* Like fab_transition_order_plan, in time proportional to the change, if the new tables are a
 * repair of the old ones (by_repair.c). `d` is this repair, with its writes in order. In these
 * writes, a switch is an id in in->fabric, or FAB_NONE if in->fabric lacks it. Returns NOT_FOUND,
 * with the plan unchanged, if a check of by_repair.c fails, for example because the writes of the
 * plan are not those of the repair, or because pairs of endports would be without a path for a
 * while. Also returns NOMEM. */
int fab_transition_order_by_repair(const struct fab_plan_input *in, const struct fab_vls *old_vls,
                                   const struct fab_repair_delta *d, struct fab_plan *plan,
                                   struct fab_transition_outcome *ret);
/* Returns true if the transition is proved safe: no mixture of old and new tables that the writes
 * can make has a forwarding loop or a cycle of channel dependencies. This includes mixtures while
 * SL-to-VL tables change, and hosts that still use their old SLs after the transition. */
static inline bool fab_transition_outcome_proved(const struct fab_transition_outcome *o)
{
    return o->verdict < FAB_TRANSITION_OLD_CYCLE && !o->stale_sls && !o->unproven_lanes;
}

#endif
