/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of fabsim. Each command is in a file of its own, which defines one struct cmd. */
#ifndef CLI_SIM_CMD_H
#define CLI_SIM_CMD_H

#include <stddef.h>
#include <stdio.h>

#include "libfabmgr/fabric/fabric.h"

/* Exit codes, as fabsim(1) documents them. */
enum cmd_exit { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

struct cmd {
    const char *name;
    const char *usage;   /* the arguments, which the usage message prints after "fabsim NAME "; may
                            have several lines */
    const char *summary; /* description in one line */
    void (*help)(FILE *file); /* prints more help; NULL: there is none */
    int (*run)(const struct cmd *cmd, int argc, char **argv); /* returns enum cmd_exit */
};
extern const struct cmd cmd_generate, cmd_check, cmd_serve, cmd_ctl, cmd_mads;

/* Prints the usage of a command to stderr. Returns CMD_USAGE. */
int cmd_usage(const struct cmd *cmd);

/* Reads a whole file ("-": standard input) and appends a NUL. The caller frees *ret_text. On error
 * prints the reason and returns -1. */
int file_read(const char *path, char **ret_text, size_t *ret_len);
/* Writes a file atomically: readers see the old file or the new one ("-": standard output). On
 * error prints the reason and returns -1. */
int file_write(const char *path, const char *text, size_t len);

#endif
