/* SPDX-License-Identifier: BSD-3-Clause */
/* A rehearsal (--rehearse) shows what this manager would write if it were master, and writes
 * nothing. */
#ifndef FABRICD_REHEARSE_H
#define FABRICD_REHEARSE_H

#include "fabricd/daemon.h"
#include "fabricd/sm/sm.h"

/* Makes the state directory of the rehearsal: a copy of the state directory in the settings. Sets
 * config.state_dir to the copy. Returns an error and why[]. */
int rehearse_prepare(struct daemon *d, char *why);
/* Removes the state directory of the rehearsal. */
void rehearse_clean(struct daemon *d);
/* Prints the result, and stops the loop. `ctx` is the daemon. */
void rehearse_report(void *ctx, const struct sm_rehearsal *r);

#endif
