/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command: once, at the managers of all contexts, or repeatedly (--watch). */
#ifndef CLI_CTL_RUN_H
#define CLI_CTL_RUN_H

#include "cli/ctl/options.h"

/* Finds the manager that the options, the environment and the contexts name, and completes
 * o->client. If there is no such context, prints an error. Returns the exit code. */
int choose_manager(struct options *o);
/* Runs the command, and returns the exit code. */
int run(const struct cmd *c, struct options *o);

#endif
