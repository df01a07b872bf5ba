/* SPDX-License-Identifier: BSD-3-Clause */
/* The options --backup and --restore: fabricd makes, verifies or restores a backup of its state
 * directory, and exits. */
#ifndef FABRICD_MAINTENANCE_H
#define FABRICD_MAINTENANCE_H

#include "fabricd/options.h"

/* Makes, restores or verifies a backup, and prints a report. Returns the exit status. */
int maintenance_run(const struct options *o, const struct config *c);

#endif
