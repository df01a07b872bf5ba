/* SPDX-License-Identifier: BSD-3-Clause */
/* The options --backup and --restore, with which fabricd works on its state directory and ends. */
#ifndef FABRICD_MAINTENANCE_H
#define FABRICD_MAINTENANCE_H

#include "fabricd/options.h"

/* Makes or restores a backup, and prints what was done. Returns the exit status. */
int maintenance_run(const struct options *o, const struct config *c);

#endif
