/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rounds and struct sm_wiring, for the files of fabricd/sm/wiring. */
#ifndef FABRICD_SM_WIRING_WIRING_H
#define FABRICD_SM_WIRING_WIRING_H

#include "fabricd/sm/core/core.h"

extern const struct sm_round sm_rounds[SM_ROUND_KINDS];
extern const struct sm_wiring sm_wiring;
/* Makes the wiring of a rehearsal (rehearsal.c). */
void sm_wiring_rehearse(struct sm_wiring *ret);

/* ---- take_over.c ----------------------------------------------------------------------------- */

int sm_take_over_init(struct sm *s); /* returns OK or NOMEM */
void sm_take_over_fini(struct sm *s);
/* Claims the lead of the replication. Call this function when the manager has become master. */
void sm_take_over_claim(struct sm *s);
/* Call this function when another manager is master, or will be. This manager then no longer leads
 * the replication. */
void sm_take_over_end(struct sm *s);
/* The phase that loads the decisions of other managers, before a sweep uses them. */
extern const struct sm_phase sm_phase_load;
/* The phase in which a new master waits for a short time for the last rows of the former master. */
extern const struct sm_phase sm_phase_take_over;

#endif
