/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs faults given as lines of text, for the console, `fabsim ctl` and scenarios (tests/sim). The
 * functions do no I/O; they append their answers to a text.
 */
#ifndef CLI_SIM_FAULTS_H
#define CLI_SIM_FAULTS_H

#include <stdbool.h>

#include "libfabmgr/base/text.h"
#include "libfabmgr/sim/sim.h"

struct fault;
const struct fault *fault_find(const char *verb); /* not case-sensitive; NULL: no such fault */
/* Runs a fault. argument: the rest of the line after the verb, without blanks at either end; the
 * function modifies it. Appends the reason of a failure to `out`. Returns enum cmd_exit; if the
 * fault was for several nodes and fails, some of them may already have it. */
int fault_run(const struct fault *f, struct fab_sim *sim, char *argument, struct fab_text *out);
/* fault_help appends one line for each verb, for usage messages. fault_help_line appends one line
 * in the same format. */
void fault_help(struct fab_text *out);
void fault_help_line(struct fab_text *out, const char *verb, const char *usage,
                     const char *summary);

/* Reads a number ("3"), a time ("150ms", "2s", "5min"; *ret is in microseconds) or a share ("1%":
 * 0.01). False: the text is none of these. */
bool fault_number(const char *text, double *ret);

#endif
