/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface of fabricd/sm/scrub for the other folders of fabricd/sm. */
#ifndef FABRICD_SM_SCRUB_SCRUB_H
#define FABRICD_SM_SCRUB_SCRUB_H

#include "fabricd/sm/core/core.h"

int sm_scrub_init(struct sm *s); /* returns OK or NOMEM */
void sm_scrub_fini(struct sm *s);
/* Call this function when the configuration changed. All turns begin again, with the new
 * sweep.scrub_interval. */
void sm_scrub_reload(struct sm *s);
/* Cancels the unanswered requests of the scrub. All turns begin again. */
void sm_scrub_drop(struct sm *s);
/* Fills in the next request of the scrub. Returns false if there is none now. */
bool sm_scrub_next(struct sm *s, struct fab_mads_request *ret);
/* Notes which nodes a round has restored. Call this function after every round. */
void sm_scrub_round_ended(struct sm *s, int status);
void sm_scrub_get_status(const struct sm *s, struct sm_status *ret);

#endif
