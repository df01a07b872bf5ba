/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults, for the wiring: the port probe that follows a trap, the local repair of routes, and
 * repairs computed ahead of the fault.
 */
#ifndef FABRICD_SM_FAULT_FAULT_H
#define FABRICD_SM_FAULT_FAULT_H

#include "fabricd/sm/core/core.h"

int sm_fault_init(struct sm *s); /* NOMEM */
void sm_fault_fini(struct sm *s);
void sm_probe_ended(struct sm *s, int status); /* a round of a port probe */
bool sm_probe_unchecked(const struct sm *s);   /* a sweep is due that checks the last probes */
/* Drops contingencies that do not hold any more, and begins anew. */
void sm_contingency_prepare(struct sm *s);

extern const struct sm_phase sm_phase_probe, sm_phase_repair, sm_phase_report_repair;

#endif
