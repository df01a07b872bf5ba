/* SPDX-License-Identifier: BSD-3-Clause */
/* The option --watch of `fabricctl topo check`. */
#ifndef CLI_CTL_CHECK_WATCH_H
#define CLI_CTL_CHECK_WATCH_H

#include "cli/ctl/cmd.h"
#include "libfabmgr/cabling/plan.h"

/* Shows the progress of the cabling every few seconds, until the fabric is as planned. With the
 * option -n N, shows it at most N times. Returns the exit code; EXIT_UNSOUND: the fabric is
 * not as planned. */
int watch_cabling(struct session *s, const struct fab_cabling_plan *plan);

#endif
