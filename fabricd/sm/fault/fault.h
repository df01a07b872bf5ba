/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults, from the trap to the writes that lead around a failed link, for the wiring: the trap, the
 * port probe, the local repair, and repairs computed ahead of the fault.
 */
#ifndef FABRICD_SM_FAULT_FAULT_H
#define FABRICD_SM_FAULT_FAULT_H

#include "fabricd/sm/core/core.h"

int sm_fault_init(struct sm *s); /* NOMEM */
void sm_fault_fini(struct sm *s);
void sm_on_trap(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                const uint8_t *data, size_t len);
void sm_probe_ended(struct sm *s, int status); /* a round of a port probe */
bool sm_probe_unchecked(const struct sm *s);   /* a sweep is due that checks the last probes */
/* Drops contingencies that do not hold any more, and begins anew. */
void sm_contingency_prepare(struct sm *s);

extern const struct sm_phase sm_phase_probe, sm_phase_repair, sm_phase_report_repair;

#endif
