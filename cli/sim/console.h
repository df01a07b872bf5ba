/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs console commands on a fabric that `fabsim serve` simulates, including faults. It does no
 * I/O: the caller passes lines and gets the answers as text. */
#ifndef CLI_SIM_CONSOLE_H
#define CLI_SIM_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/sim/hub.h"
#include "libfabmgr/base/text.h"

#define CONSOLE_LINE_MAX 256

struct console {
    struct hub *hub;  /* borrowed */
    const char *name; /* name of the fabric, which `status` shows; borrowed */
    bool stop;        /* a command asked the server to stop */
};
/* Runs the lines of a text one after the other, until a line fails. The fabric handles no MADs in
 * between. Appends answers and the reason of a failure to `out`. Returns enum cmd_exit. */
int console_run(struct console *c, const char *text, size_t len, struct fab_text *out);
/* Appends one line for each command, for usage messages. */
void console_help(struct fab_text *out);

#endif
