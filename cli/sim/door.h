/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where commands come in: a socket "@BASE:fabsim@" for `fabsim ctl`, and standard input. A packet
 * holds lines for console_run; the answer is one packet: the exit code as a digit, and text.
 */
#ifndef CLI_SIM_DOOR_H
#define CLI_SIM_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sim/console.h"

#define DOOR_VISITORS 16
#define DOOR_PACKET_MAX 65536 /* bytes of a command or an answer */

struct door {
    struct console *console;     /* borrowed */
    int listening;               /* -1: closed */
    int visitors[DOOR_VISITORS]; /* -1: free */
    bool at_terminal;            /* standard input wants a prompt */
    char line[CONSOLE_LINE_MAX]; /* from standard input, so far */
    size_t line_len;
    char *packet; /* [DOOR_PACKET_MAX] */
};

/* Says what is wrong and returns -1. */
int door_open(struct door *d, const char *base, struct console *console);
void door_close(struct door *d);
/* Somebody knocks: takes him in, if he is us or root. His place, or -1. */
int door_admit(struct door *d);
/* A visitor's socket is readable. False: he is gone. */
bool door_serve(struct door *d, unsigned visitor);
/* Standard input is readable. False: it has ended. */
bool door_read_input(struct door *d);
void door_prompt(const struct door *d);

#endif
