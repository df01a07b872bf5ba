/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/study/polish_gain.h"

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/local_search/polish.h"
#include "libfabmgr/study/figures.h"
#include "libfabmgr/study/quality.h"

/* Limit of the number of flows of the shifts that are measured. A measurement of all shifts would
 * take longer than the polish itself. */
#define SHIFT_FLOWS 2000000u
/* the polish must lower the greatest load by at least this fraction */
#define LEAST_GAIN 0.01
/* A decrease of the greatest load by 1 % is worth writing BLOCKS_WORTH % of the LFT blocks. */
#define BLOCKS_WORTH 20

static int measure(const struct fab_polish_gain_input *in, const struct fab_lft *lft,
                   struct fab_quality *q)
{
    const struct fab_quality_input one = {.fabric = in->fabric,
                                          .lids = in->lids,
                                          .lft = lft,
                                          .samples = FAB_FIGURES_SAMPLES,
                                          .seed = 1,
                                          .shift_flows = SHIFT_FLOWS,
                                          .stopped = in->stopped,
                                          .stopped_ctx = in->stopped_ctx};
    return fab_study_quality_measure(&one, q);
}

static const char *objection(const struct fab_polish_gain *g, const struct fab_quality *before,
                             const struct fab_quality *after)
{
    const struct fab_choice_figures was = fab_study_figures_of(before),
                                    now = fab_study_figures_of(after);
    double gain = 1 - (double)g->load_after / (double)g->load_before;
    double share = (double)g->blocks / (double)g->all_blocks;
    if (gain < LEAST_GAIN)
        return "the maximum link load would fall by less than 1 %";
    if (share > gain * BLOCKS_WORTH)
        return "too many LFT blocks would have to be written";
    if (g->product_after >= g->product_before)
        return "the worst shift would get worse";
    return fab_study_figures_keep(&was, &now) ? NULL : "shifts or permutations would get worse";
}

int fab_study_polish_gain(const struct fab_polish_gain_input *in, struct fab_polish_gain *ret)
{
    struct fab_quality before, after;
    struct fab_polish_gain g = {.all_blocks =
                                    in->before->switch_count * fab_target_lft_blocks(in->before)};
    fab_route_polish_count(in->before, in->after, &g.entries, &g.blocks);
    if (g.entries == 0) {
        g.objection = "no change of one entry lowers the maximum link load";
        *ret = g;
        return FAB_OK;
    }
    int status = measure(in, in->before, &before);
    if (status == FAB_OK)
        status = measure(in, in->after, &after);
    if (status != FAB_OK)
        return status;
    g.load_before = before.all.max;
    g.load_after = after.all.max;
    g.product_before = before.all.max * before.shift.max;
    g.product_after = after.all.max * after.shift.max;
    g.objection = objection(&g, &before, &after);
    *ret = g;
    return FAB_OK;
}
