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
 * the function modifies it. Returns enum cmd_exit. If the function fails, it appends the reason to
 * `out`. If the line selects several nodes, some of them may have the fault even if the function
 * fails. */
int fault_run(const struct fault *f, struct fab_sim *sim, char *argument, struct fab_text *out);
/* These two functions append to the usage message. fault_help appends one line for each kind of
 * fault. fault_help_line appends a line with the given texts, for example about another command, in
 * the same columns. */
void fault_help(struct fab_text *out);
void fault_help_line(struct fab_text *out, const char *verb, const char *usage,
                     const char *summary);

/* Parses a number, a time or a share. *ret is the number ("3"), the time in us ("150ms", "2s",
 * "5min"), or the share as a fraction ("1%" is 0.01). Returns false if the text is none of
 * these. */
bool fault_number(const char *text, double *ret);

#endif
