/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/sweep for the other folders of fabricd/sm: the phases of light, targeted
 * and heavy sweeps, the background heavy sweep, and the list of unresponsive ports.
 */
#ifndef FABRICD_SM_SWEEP_SWEEP_H
#define FABRICD_SM_SWEEP_SWEEP_H

#include "fabricd/sm/core/core.h"

int sm_sweep_init(struct sm *s); /* returns OK or NOMEM */
void sm_sweep_fini(struct sm *s);
/* Returns whether the running targeted sweep awaits an answer of this node. */
bool sm_sweep_awaits(const struct sm *s, uint64_t node_guid);
/* Call this function if a switch that did not answer the running round has answered over another
 * route. A targeted sweep that awaits the switch begins again with other routes. */
void sm_sweep_answered_elsewhere(struct sm *s, uint64_t node_guid);

/* ---- the heavy sweep as a round (heavy_sweep.c) ---- */

void sm_heavy_begun(struct sm *s);
void sm_heavy_ended(struct sm *s, int status);
void sm_heavy_postponed(struct sm *s, bool awaited);

/* ---- the background heavy sweep (background_sweep.c) ----------------------------------------- */

void sm_background_drop(struct sm *s);
/* Starts a requested background heavy sweep, or the next pass of the running one. */
void sm_background_schedule(struct sm *s);
bool sm_background_active(const struct sm *s);
/* Returns whether the background heavy sweep is complete, so that a round can take over its
 * result. */
bool sm_background_ready(const struct sm *s);
/* Returns whether nodes were touched (background_sweep.c) since the last pass of the background
 * heavy sweep began. */
bool sm_background_behind(const struct sm *s);
bool sm_background_next(struct sm *s, struct fab_mads_request *ret);
/* Notes that a node may have changed while the background heavy sweep runs. Struct sm_wiring has
 * this function as node_touched. */
void sm_background_touch(struct sm *s, uint64_t guid);

extern const struct sm_phase sm_phase_light, sm_phase_prepare, sm_phase_discover, sm_phase_seal,
    sm_phase_adopt;

/* Returns the number of unresponsive ports and silent switches. Devices that sweeps left out
 * because they are not approved do not count. */
uint32_t sm_unresponsive_count(const struct sm *s);

/* Call this function when the manager loses the role of master. It forgets a sudden loss that was
 * to be confirmed. */
void sm_confirm_drop(struct sm *s);

#endif
