/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of fabricd/sm/fault for fabricd/sm/wiring. This folder has the port probe that follows
 * a trap, the local repair of routes, and the contingency plans.
 */
#ifndef FABRICD_SM_FAULT_FAULT_H
#define FABRICD_SM_FAULT_FAULT_H

#include "fabricd/sm/core/core.h"

int sm_fault_init(struct sm *s); /* returns OK or NOMEM */
void sm_fault_fini(struct sm *s);
/* Call this function when a round with a port probe and local repair has ended. It requests the
 * targeted sweep that checks the result of the probe. No sweep is needed if a trap caused the
 * probe, and only held-down links had changed. */
void sm_probe_ended(struct sm *s, int status);
/* Returns whether a port probe has read a node for which the targeted sweep that checks the probe
 * is not requested yet. */
bool sm_probe_unchecked(const struct sm *s);
/* Like sm_probe_unchecked, but for one node. */
bool sm_probe_check_waits(const struct sm *s, uint64_t node_guid);
/* Call this function between two rounds. Drops contingency plans that do not fit the present repair
 * session, and sets the timer that starts to compute the missing plans. */
void sm_contingency_prepare(struct sm *s);
/* Ends the running slice of the computation of contingency plans early, because a fault may have to
 * be handled. The computation continues with the next slice. */
void sm_contingency_yield(struct sm *s);

/* If a step of the incremental rebalance is due, sets its timer. If a step was computed for an
 * earlier state of the repair session, drops it. */
void sm_step_prepare(struct sm *s);
/* Returns whether a step of the incremental rebalance is computed and waits for its round. */
bool sm_step_waits(const struct sm *s);

extern const struct sm_phase sm_phase_probe, sm_phase_repair, sm_phase_report_repair, sm_phase_step,
    sm_phase_report_step;

#endif
