/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives commands on standard input, and from `fabsim ctl` on the socket "@BASE:fabsim@". A
 * packet from `fabsim ctl` has one or more lines. console_run carries them out. The answer is one
 * packet: the exit code as one digit, and then the text.
 */
#ifndef CLI_SIM_COMMANDS_H
#define CLI_SIM_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sim/console.h"

#define COMMANDS_SESSIONS 16
/* maximum size in bytes of a command packet or an answer */
#define COMMANDS_PACKET_MAX 65536

struct commands {
    struct console *console; /* owned by the caller */
    int listening;           /* the socket that accepts connections; -1: closed */
    /* sockets of the open sessions (connections of `fabsim ctl`); -1: the entry is free */
    int sessions[COMMANDS_SESSIONS];
    /* true: standard input is a terminal and needs a prompt */
    bool at_terminal;
    char line[CONSOLE_LINE_MAX]; /* the current line of standard input, as far as it was read */
    size_t line_len;
    char *packet; /* [COMMANDS_PACKET_MAX] the packet that was read */
};

/* Opens the socket for commands. Returns 0, or prints the reason for an error and returns -1. */
int commands_open(struct commands *d, const char *base, struct console *console);
void commands_close(struct commands *d);
/* Accepts a connection of `fabsim ctl`, but only from root or the user who runs the server. Returns
 * the index of the session; -1: no connection was accepted. */
int commands_accept(struct commands *d);
/* Reads and runs the commands of a session whose socket is readable. Returns false if the session
 * was closed. */
bool commands_serve(struct commands *d, unsigned session);
/* Reads and runs commands from standard input. Returns false at the end of the file. */
bool commands_read_input(struct commands *d);
void commands_prompt(const struct commands *d);

#endif
