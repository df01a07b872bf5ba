/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves a simulated fabric to the clients of libumad2sim until it is told to stop. */
#ifndef CLI_SIM_SERVER_H
#define CLI_SIM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/sim/sim.h"

struct server_settings {
    const char *base;    /* of the sockets' names */
    const char *name;    /* of the fabric */
    uint32_t first_node; /* where clients sit that name no place */
    bool console;        /* take commands from standard input */
    bool verbose;        /* say who comes and goes */
};
/* enum cmd_exit; what is wrong has been said. */
int server_run(struct fab_sim *sim, const struct server_settings *settings);

#endif
