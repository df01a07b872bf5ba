/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs faults given as lines of text, for the console, `fabsim ctl` and scenarios (tests/sim). It
 * does no I/O: the answer is appended to a text.
 */
#ifndef CLI_SIM_FAULTS_H
#define CLI_SIM_FAULTS_H

#include <stdbool.h>

#include "libfabmgr/base/text.h"
#include "libfabmgr/sim/sim.h"

struct fault;
const struct fault *fault_find(const char *verb); /* not case-sensitive; NULL: no such fault */
/* argument: the rest of the line after the verb, without blanks at either end; the function
 * modifies it. Appends the reason of a failure to `out`. Returns enum cmd_exit; after a failure,
 * some of several nodes may already have the fault. */
int fault_run(const struct fault *f, struct fab_sim *sim, char *argument, struct fab_text *out);
/* fault_help appends a line for each verb, for usage messages; fault_help_line appends one line in
 * the same format. */
void fault_help(struct fab_text *out);
void fault_help_line(struct fab_text *out, const char *verb, const char *usage,
                     const char *summary);

/* Reads "3", "150ms", "2s", "5min" (times, in microseconds) or "1%" (as 0.01). */
bool fault_number(const char *text, double *ret);

#endif
