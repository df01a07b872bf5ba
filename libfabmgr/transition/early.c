/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the steps of stage EARLY (plan.h) if switches that are cut off from the fabric have Active
 * links between them. An example is a part of the fabric that was separated and comes back. While
 * the tables of these switches change, packets pass between them, but not to or from the rest of
 * the fabric. So the steps are those of a transition in which the fabric has only the Active links,
 * and only the tables of these switches change. The SL-to-VL tables are still the old ones.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/plan_steps.h"

/* Makes LFTs with the entries that the switches are known to hold. Unknown entries become
 * NO_ROUTE. */
static int copy_observed(const struct fab_plan_input *in, struct fab_lft *ret)
{
    const struct fab_lft *want = &in->target->lft;
    int status = fab_target_lft_init(ret, want->switch_count, want->top);
    for (uint32_t sw = 0; status == FAB_OK && sw < want->switch_count; sw++) {
        for (uint32_t block = 0; block < fab_target_lft_blocks(want); block++) {
            if (fab_plan_observed_is_known(in->observed, sw, block))
                memcpy(fab_target_lft_row(ret, sw) + (size_t)block * FAB_LFT_BLOCK,
                       fab_target_lft_block(&in->observed->lft, sw, block), FAB_LFT_BLOCK);
        }
    }
    return status;
}

static void write_early(const struct fab_plan_input *in, const struct fab_plan *plan,
                        struct fab_lft *lft)
{
    for (uint32_t i = plan->stage_start[FAB_STAGE_EARLY];
         i < plan->stage_start[FAB_STAGE_EARLY + 1]; i++) {
        const struct fab_plan_op *op = &plan->ops[i];
        if ((op->keep | op->drain) == 0)
            memcpy(fab_target_lft_row(lft, op->node) + (size_t)op->block * FAB_LFT_BLOCK,
                   fab_target_lft_block(&in->target->lft, op->node, op->block), FAB_LFT_BLOCK);
    }
}

int fab_transition_make_early(const struct fab_plan_input *in, const struct fab_vls *old_vls,
                              const struct fab_transition_effort *effort,
                              const struct fab_plan *plan, struct fab_transition *ret)
{
    struct fab_fabric *f = NULL;
    struct fab_lft lft = {0};
    if (in->observed == NULL)
        return FAB_OK;
    int status = fab_transition_carrying(in->fabric, &f);
    if (status == FAB_OK)
        status = copy_observed(in, &lft);
    if (status == FAB_OK) {
        write_early(in, plan, &lft);
        const struct fab_transition_input t = {
            .fabric = f,
            .lids = &in->target->lids,
            .old_lft = &in->observed->lft,
            .known = in->observed->known,
            .new_lft = &lft,
            .old_vls = old_vls,
            .new_vls = old_vls,
            .pool = effort->pool,
            .visits = effort->visits,
            .stopped = effort->stopped,
            .stopped_ctx = effort->stopped_ctx,
        };
        status = fab_transition_make(&t, ret);
    }
    fab_target_lft_fini(&lft);
    fab_fabric_unref(f);
    return status;
}
