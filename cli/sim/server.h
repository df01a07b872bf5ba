/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves a simulated fabric to clients of libumad2sim until a command or signal stops it. */
#ifndef CLI_SIM_SERVER_H
#define CLI_SIM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/sim/sim.h"

struct server_settings {
    const char *base; /* base of the socket names */
    const char *name; /* name of the fabric */
    /* id of the node to which a client is attached if it names no node */
    uint32_t first_node;
    bool console; /* true: read commands from standard input */
    /* true: print a line when a client connects or disconnects */
    bool verbose;
};
/* Serves the fabric until a command or a signal stops the server. Prints the reason for an error.
 * Returns enum cmd_exit. */
int server_run(struct fab_sim *sim, const struct server_settings *settings);

#endif
