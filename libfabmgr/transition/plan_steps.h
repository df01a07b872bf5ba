/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts the steps of a transition into a plan, as its LFT writes. Only plan_order.c, early.c and
 * by_repair.c use this header. */
#ifndef LIBFABMGR_TRANSITION_PLAN_STEPS_H
#define LIBFABMGR_TRANSITION_PLAN_STEPS_H

#include "libfabmgr/transition/plan_order.h"

/* Replaces the LFT writes in one stage of the plan (EARLY or ROUTES, plan.h) by the writes of the
 * transition. Returns OK or NOMEM. */
int fab_transition_replace_writes(const struct fab_plan_input *in, enum fab_plan_stage stage,
                                  const struct fab_transition *t, struct fab_plan *plan);
/* Makes the steps in which the switches that are cut off get their tables. The links that come up
 * carry no packets during these steps. Returns OK or an error of fab_transition_make. */
int fab_transition_make_early(const struct fab_plan_input *in, const struct fab_vls *old_vls,
                              const struct fab_transition_effort *effort,
                              const struct fab_plan *plan, struct fab_transition *ret);

#endif
