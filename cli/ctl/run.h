/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command: once, at the managers of all contexts, or repeatedly (--watch). */
#ifndef CLI_CTL_RUN_H
#define CLI_CTL_RUN_H

#include "cli/ctl/options.h"

/* Chooses the manager by the options, the environment and the contexts, and completes o->client.
 * With --all-contexts, only reads the contexts. If a context that the user named does not exist,
 * prints an error. Returns the exit code. */
int choose_manager(struct options *o);
/* Runs the command, and returns the exit code. */
int run(const struct cmd *c, struct options *o);

#endif
