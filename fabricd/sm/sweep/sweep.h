/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sweeps, for the other folders of fabricd/sm: light ones, and the phases of targeted and heavy
 * ones; heavy sweeps in the background; ports behind which nothing answers.
 */
#ifndef FABRICD_SM_SWEEP_SWEEP_H
#define FABRICD_SM_SWEEP_SWEEP_H

#include "fabricd/sm/core/core.h"

int sm_sweep_init(struct sm *s); /* NOMEM */
void sm_sweep_fini(struct sm *s);

/* ---- the heavy sweep as a round (heavy_sweep.c) ---- */

void sm_heavy_begun(struct sm *s);
void sm_heavy_ended(struct sm *s, int status);
void sm_heavy_postponed(struct sm *s, bool awaited);

/* ---- in the background (background_sweep.c) ---- */

void sm_background_drop(struct sm *s);
void sm_background_schedule(struct sm *s); /* begins one that is requested, or goes on */
bool sm_background_active(const struct sm *s);
bool sm_background_ready(const struct sm *s);  /* to be adopted by a round */
bool sm_background_behind(const struct sm *s); /* nodes that it saw were touched meanwhile */
bool sm_background_next(struct sm *s, struct fab_mads_request *ret);
void sm_background_touch(struct sm *s, uint64_t guid); /* wiring's node_touched */

extern const struct sm_phase sm_phase_light, sm_phase_prepare, sm_phase_discover, sm_phase_seal,
    sm_phase_adopt;

#endif
