/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command for all objects that patterns in its arguments match. */
#ifndef CLI_CTL_EXPAND_H
#define CLI_CTL_EXPAND_H

#include "cli/ctl/cmd.h"

/* For a command with takes_hosts, asks the manager which arguments name a host with several
 * adapters or a rack, and sets s->several. */
void find_hosts(struct session *s);
/* Returns true if an argument of the command is a pattern, such as "leaf-0[1-8]", or was marked by
 * find_hosts, and must be expanded here, because neither the command nor the manager does it. */
bool has_patterns(const struct session *s);
/* Returns true if some argument of the command can be such a pattern. */
bool takes_pattern(const struct cmd *c);
/* Runs the command for each combination of the objects that its arguments select. A command that
 * takes several objects runs only once, with all of them. If the command changes something, asks
 * the user first. context: see out_next. Returns the exit code of the first run that failed. */
int run_for_each(struct session *s, const char *context);

#endif
