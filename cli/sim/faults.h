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
/* Finds the kind of fault with this verb, in upper or lower case. Returns NULL if there is no
 * such verb. */
const struct fault *fault_find(const char *verb);
/* Causes a fault. `argument` is the rest of the line after the verb, without spaces at either end;
 * the function modifies it. Appends the reason of a failure to `out`. Returns enum cmd_exit. If the
 * line selects several nodes and the fault fails at one of them, the fault may already have
 * happened at others. */
int fault_run(const struct fault *f, struct fab_sim *sim, char *argument, struct fab_text *out);
/* Both functions write lines for usage messages, in the same layout. fault_help appends one line
 * for each verb. fault_help_line appends one line with the texts of the caller. */
void fault_help(struct fab_text *out);
void fault_help_line(struct fab_text *out, const char *verb, const char *usage,
                     const char *summary);

/* Parses a number ("3"), a time ("150ms", "2s", "5min"; *ret is in us) or a share ("1%"; *ret is
 * 0.01). Returns false if the text is none of these. */
bool fault_number(const char *text, double *ret);

#endif
