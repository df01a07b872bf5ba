/* SPDX-License-Identifier: BSD-3-Clause */
/* The option --watch of `fabricctl topo check`. */
#ifndef CLI_CTL_CHECK_WATCH_H
#define CLI_CTL_CHECK_WATCH_H

#include "cli/ctl/cmd.h"
#include "libfabmgr/cabling/plan.h"

/* Shows the progress of the cabling in a loop: until the fabric is as planned, or as often as the
 * option -n says. Returns the exit code. */
int watch_cabling(struct session *s, const struct fab_cabling_plan *plan);

#endif
