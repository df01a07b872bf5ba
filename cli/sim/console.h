/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that break and mend a served fabric. No I/O: lines in, text out. */
#ifndef CLI_SIM_CONSOLE_H
#define CLI_SIM_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/sim/hub.h"
#include "libfabmgr/base/text.h"

#define CONSOLE_LINE_MAX 256

struct console {
    struct hub *hub;  /* borrowed */
    const char *name; /* of what is served, for `status`; borrowed */
    bool stop;        /* somebody asked for the end */
};
/* Runs the lines of a text, all of them before any further MAD; stops at the first that fails.
 * Answers and the reason of a failure are added to `out`. Returns enum cmd_exit. */
int console_run(struct console *c, const char *text, size_t len, struct fab_text *out);
/* "unlink NODE[/PORT] ..." for usage messages, one line a command. */
void console_help(struct fab_text *out);

#endif
