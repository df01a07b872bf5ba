/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a command for all objects that patterns in its arguments match. */
#ifndef CLI_CTL_EXPAND_H
#define CLI_CTL_EXPAND_H

#include "cli/ctl/cmd.h"

/* For a command with takes_hosts, asks the manager which arguments name a host with several
 * adapters or a rack, and sets s->several. */
void find_hosts(struct session *s);
/* Returns true if run_for_each must expand an argument of the command: a pattern, such as
 * "leaf-0[1-8]", or an argument that find_hosts has marked. Returns false for a command with
 * takes_patterns. */
bool has_patterns(const struct session *s);
/* Returns true if an argument of the command can be a pattern that run_for_each expands. */
bool takes_pattern(const struct cmd *c);
/* Runs the command for each combination of the objects that its arguments select. A command that
 * takes several objects runs only once, with all of them. If the command changes something, asks
 * the user first. context: see out_next. Returns the exit code of the first run that failed. If a
 * run ends with EXIT_UNAVAILABLE, stops and returns this code. */
int run_for_each(struct session *s, const char *context);

#endif
