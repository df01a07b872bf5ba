/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares tables by several figures.
 *
 * One figure alone is not enough. Tables that balance all-to-all traffic better often have more
 * flows of a shift on one link, and shifts in one order of the endports say little about shifts in
 * another order. Figures of different kinds have different units, so they are multiplied, not
 * added.
 */
#include "libfabmgr/study/figures.h"

#include "libfabmgr/base/status.h"
#include "libfabmgr/study/quality.h"

#define PRODUCT_TOLERANCE 1.05
#define SQUARES_TOLERANCE 1.01
#define BANDWIDTH_TOLERANCE 1.03
#define SHIFT_TOLERANCE 1.05
#define GAIN_SHARE (1.0 / 3)

struct fab_choice_figures fab_study_figures_of(const struct fab_quality *q)
{
    return (struct fab_choice_figures){
        .max_load = (double)q->all.max,
        .imbalance = fab_study_quality_imbalance(q),
        .squares = fab_study_quality_squares(q) * q->all.mean * q->all.mean,
        .worst_shift = q->orders.max,
        .mean_shift = q->orders.mean,
        .shift_bandwidth = q->orders.bandwidth,
        .permutation_bandwidth = q->random.bandwidth,
    };
}

int fab_study_figures_measure(const struct fab_figures_input *in, struct fab_choice_figures *ret)
{
    struct fab_quality q;
    int status =
        fab_study_quality_measure(&(struct fab_quality_input){.fabric = in->fabric,
                                                              .lids = in->lids,
                                                              .lft = in->lft,
                                                              .samples = FAB_FIGURES_SAMPLES,
                                                              .seed = 1},
                                  &q);
    if (status == FAB_OK)
        *ret = fab_study_figures_of(&q);
    return status;
}

double fab_study_figures_product(const struct fab_choice_figures *f)
{
    double bandwidth = f->shift_bandwidth * f->permutation_bandwidth;
    return bandwidth > 0 ? f->max_load * f->worst_shift / bandwidth : 0;
}

bool fab_study_figures_better(const struct fab_choice_figures *x, uint8_t x_lanes,
                              const struct fab_choice_figures *y, uint8_t y_lanes)
{
    double mine = fab_study_figures_product(x), its = fab_study_figures_product(y);
    if (mine * PRODUCT_TOLERANCE < its || its * PRODUCT_TOLERANCE < mine)
        return mine < its;
    if (x_lanes != y_lanes)
        return x_lanes < y_lanes;
    return x->squares * SQUARES_TOLERANCE < y->squares;
}

/* Returns the factor by which a figure may become worse: its tolerance, or a greater factor if the
 * greatest load becomes much lower. */
static double allowed(const struct fab_choice_figures *before,
                      const struct fab_choice_figures *after, double tolerance)
{
    double gain = before->max_load > 0 ? 1 - after->max_load / before->max_load : 0;
    double share = 1 + gain * GAIN_SHARE;
    return share > tolerance ? share : tolerance;
}

bool fab_study_figures_keep(const struct fab_choice_figures *before,
                            const struct fab_choice_figures *after)
{
    double shift = allowed(before, after, SHIFT_TOLERANCE),
           bandwidth = allowed(before, after, BANDWIDTH_TOLERANCE);
    return fab_study_figures_product(after) <= fab_study_figures_product(before) &&
           after->max_load <= before->max_load &&
           after->worst_shift <= before->worst_shift * shift &&
           after->mean_shift <= before->mean_shift * shift &&
           after->squares <= before->squares * SQUARES_TOLERANCE &&
           after->shift_bandwidth * bandwidth >= before->shift_bandwidth &&
           after->permutation_bandwidth * bandwidth >= before->permutation_bandwidth;
}
