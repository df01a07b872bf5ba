/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Causes faults in a simulated fabric. The faults are given as lines of text, by the console,
 * `fabsim ctl` and scenarios (tests/sim). The functions do no I/O; they append their answers to a
 * text.
 */
#ifndef CLI_SIM_FAULTS_H
#define CLI_SIM_FAULTS_H

#include <stdbool.h>

#include "libfabmgr/base/text.h"
#include "libfabmgr/sim/sim.h"

struct fault;
/* Finds a kind of fault by its verb, in upper or lower case. NULL: there is none. */
const struct fault *fault_find(const char *verb);
/* Causes a fault. `argument` is the rest of the line after the verb, without spaces at either end;
 * the function modifies it. Returns enum cmd_exit, and appends the reason of a failure to `out`. If
 * the line selects several nodes, the fault may have happened at some of them before it failed at
 * another one. */
int fault_run(const struct fault *f, struct fab_sim *sim, char *argument, struct fab_text *out);
/* The next two functions append to the usage message, in the same layout. fault_help appends one
 * line for each verb. fault_help_line appends a line with the given texts. */
void fault_help(struct fab_text *out);
void fault_help_line(struct fab_text *out, const char *verb, const char *usage,
                     const char *summary);

/* Parses a number, a time or a share. *ret is the number ("3"), the time in us ("150ms", "2s",
 * "5min"), or the share as a fraction ("1%" is 0.01). Returns false if the text is none of
 * these. */
bool fault_number(const char *text, double *ret);

#endif
