/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures by which tables are compared, and the comparison. Only this folder uses this header.
 */
#ifndef LIBFABMGR_STUDY_FIGURES_H
#define LIBFABMGR_STUDY_FIGURES_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/choice.h"
#include "libfabmgr/target/target.h"

struct fab_quality;

/* Number of random permutations and bisections that are measured for the figures. */
#define FAB_FIGURES_SAMPLES 100

struct fab_figures_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
};
/* Measures tables. Returns the errors of fab_study_quality_measure(). */
int fab_study_figures_measure(const struct fab_figures_input *in, struct fab_choice_figures *ret);
/* Returns the figures from the result `q` of a measurement with FAB_FIGURES_SAMPLES samples. */
struct fab_choice_figures fab_study_figures_of(const struct fab_quality *q);
/* Returns the score of tables: the congestion product (doc/glossary.md), divided by the mean
 * bandwidth of a flow in shifts and by that in random permutations. A lower score is better.
 * Returns 0 if one of these bandwidths is 0. */
double fab_study_figures_product(const struct fab_choice_figures *f);
/* Returns true if the tables with the figures `x` are better than the tables with the figures `y`.
 * Tables with a lower score (fab_study_figures_product) are better. If the scores differ by at most
 * 5 %, tables with fewer VLs are better. If the numbers of VLs are equal, too, the tables `x` are
 * better if their mean of the squared channel loads is lower by more than 1 %. */
bool fab_study_figures_better(const struct fab_choice_figures *x, uint8_t x_lanes,
                              const struct fab_choice_figures *y, uint8_t y_lanes);
/* Returns true if local search may replace tables with the figures `before` by tables with the
 * figures `after`. The score must not be greater, and no single figure may be worse by more than
 * its tolerance. The tolerance is 0 for the greatest load, 1 % for the squared loads, 3 % for the
 * bandwidths, and 5 % for the worst and the mean shift. If the greatest load becomes lower by a
 * fraction x, the tolerance for bandwidths and shifts is at least x / 3. */
bool fab_study_figures_keep(const struct fab_choice_figures *before,
                            const struct fab_choice_figures *after);

#endif
