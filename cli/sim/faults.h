/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words that break and mend a simulated fabric: those of the console and of `fabsim ctl`, and
 * of scenarios (tests/sim). No I/O: a line in, text out.
 */
#ifndef CLI_SIM_FAULTS_H
#define CLI_SIM_FAULTS_H

#include <stdbool.h>

#include "libfabmgr/base/text.h"
#include "libfabmgr/sim/sim.h"

struct fault;
const struct fault *fault_find(const char *verb); /* in any case of letters; NULL: none */
/* What stands after the verb, without blanks at its ends; it is written to. The reason of a failure
 * is added to `out`. Returns enum cmd_exit; after a failure some of several nodes may be hit. */
int fault_run(const struct fault *f, struct fab_sim *sim, char *argument, struct fab_text *out);
/* All verbs for usage messages, and one line of the same form. */
void fault_help(struct fab_text *out);
void fault_help_line(struct fab_text *out, const char *verb, const char *usage,
                     const char *summary);

/* "3", "150ms", "2s", "5min" (times as microseconds), "1%" (as 0.01). */
bool fault_number(const char *text, double *ret);

#endif
