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
/* Returns whether a request of the running targeted sweep to this node is unanswered. */
bool sm_sweep_awaits(const struct sm *s, uint64_t node_guid);
/* Call this function when a switch that did not answer the running round has answered over another
 * directed route. If a targeted sweep is waiting for the switch, the sweep begins again with other
 * routes. */
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
/* Returns whether the background heavy sweep is complete. If it is, a round can take over its
 * result. */
bool sm_background_ready(const struct sm *s);
/* Returns true if nodes were touched (background_sweep.c) after the last pass of the background
 * heavy sweep had begun. */
bool sm_background_behind(const struct sm *s);
bool sm_background_next(struct sm *s, struct fab_mads_request *ret);
/* Call this function when a node has changed or may have changed (struct sm_wiring.node_touched).
 * If a background heavy sweep is running, it will read the node again. */
void sm_background_touch(struct sm *s, uint64_t guid);

extern const struct sm_phase sm_phase_light, sm_phase_prepare, sm_phase_discover, sm_phase_seal,
    sm_phase_adopt;

/* Returns the number of unresponsive ports and silent switches. Devices that sweeps left out
 * because they are not approved do not count. */
uint32_t sm_unresponsive_count(const struct sm *s);

/* Call this function when the manager stops being master. A sudden loss that waits for a
 * confirmation is then forgotten. */
void sm_confirm_drop(struct sm *s);

#endif
