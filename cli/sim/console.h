/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs console commands, such as faults, on a fabric that `fabsim serve` simulates. The functions
 * do no I/O: the caller passes lines and gets the answers as text. */
#ifndef CLI_SIM_CONSOLE_H
#define CLI_SIM_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/sim/hub.h"
#include "libfabmgr/base/text.h"

#define CONSOLE_LINE_MAX 256

struct console {
    struct hub *hub; /* owned by the caller */
    /* Name of the fabric, which the command `status` prints; owned by the caller. */
    const char *name;
    bool stop; /* true: a command has asked the server to stop */
};
/* Runs the lines of a text one after the other. Stops at the first line that fails. For the
 * clients, all lines take effect at the same time: the server handles no MADs between two lines.
 * Appends the answers to `out`, and the reason for a failure. Returns enum cmd_exit. */
int console_run(struct console *c, const char *text, size_t len, struct fab_text *out);
/* Appends the help: one line for each console command. */
void console_help(struct fab_text *out);

#endif
