/* SPDX-License-Identifier: BSD-3-Clause */
/* A rehearsal (--rehearse) shows what this manager would write if it were master, and writes
 * nothing. */
#ifndef FABRICD_REHEARSE_H
#define FABRICD_REHEARSE_H

#include "fabricd/daemon.h"
#include "fabricd/sm/sm.h"

/* Copies the state directory (config.state_dir) to a new directory for the rehearsal, and sets
 * config.state_dir to the copy. Returns IO, NOMEM or an error of store_copy, with the reason in
 * why[]. */
int rehearse_prepare(struct daemon *d, char *why);
/* Removes the state directory of the rehearsal. */
void rehearse_clean(struct daemon *d);
/* Prints the result, and stops the loop. `ctx` is the daemon. */
void rehearse_report(void *ctx, const struct sm_rehearsal *r);

#endif
