/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves a simulated fabric to clients of libumad2sim until a command or signal stops it. */
#ifndef CLI_SIM_SERVER_H
#define CLI_SIM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/sim/sim.h"

struct server_settings {
    const char *base;    /* base of the socket names */
    const char *name;    /* name of the fabric */
    uint32_t first_node; /* node to which clients that name no node are attached */
    bool console;        /* take commands from standard input */
    bool verbose;        /* report clients that connect and disconnect */
};
/* Runs until a command or signal stops it. On failure prints the reason. Returns enum cmd_exit. */
int server_run(struct fab_sim *sim, const struct server_settings *settings);

#endif
