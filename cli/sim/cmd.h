/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of fabsim. Each command has its own file, which defines one struct cmd. */
#ifndef CLI_SIM_CMD_H
#define CLI_SIM_CMD_H

#include <stddef.h>
#include <stdio.h>

#include "libfabmgr/fabric/fabric.h"

/* Exit codes, as fabsim(1) documents them. */
enum cmd_exit { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

struct cmd {
    const char *name;
    /* arguments of the command, as printed after "fabsim NAME " in the usage message; may have
     * several lines */
    const char *usage;
    const char *summary;      /* description in one line */
    void (*help)(FILE *file); /* prints further help; NULL: there is none */
    int (*run)(const struct cmd *cmd, int argc, char **argv); /* returns enum cmd_exit */
};
extern const struct cmd cmd_generate, cmd_check, cmd_serve, cmd_ctl, cmd_mads;

/* Prints the usage of a command on stderr. Returns CMD_USAGE. */
int cmd_usage(const struct cmd *cmd);

/* Reads a whole file ("-": standard input), and adds a NUL at the end. The caller frees *ret_text.
 * Returns 0, or prints the reason for an error and returns -1. */
int file_read(const char *path, char **ret_text, size_t *ret_len);
/* Writes a file ("-": standard output). Other processes see the old file or the complete new file,
 * but no part of it, unless the path is a device or a pipe. Returns 0, or prints the reason for an
 * error and returns -1. */
int file_write(const char *path, const char *text, size_t len);

#endif
