/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The main program of fabsim, which makes, checks and simulates fabrics. The file cmd_NAME.c has
 * the command NAME, and the table below has an entry for it. The commands handle arguments, files
 * and messages; libfabmgr does the work.
 */
#include <stdio.h>
#include <string.h>

#include "cli/sim/cmd.h"
#include "libfabmgr/base/version.h"

static const struct cmd *const commands[] = {&cmd_generate, &cmd_check, &cmd_serve, &cmd_ctl,
                                             &cmd_mads};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static void print_usage(const struct cmd *cmd, FILE *file)
{
    const char *line = cmd->usage;
    while (line != NULL && *line != '\0') {
        int len = (int)strcspn(line, "\n");
        fprintf(file, "  fabsim %s %.*s\n", cmd->name, len, line);
        line += len;
        line += *line == '\n';
    }
}

int cmd_usage(const struct cmd *cmd)
{
    fprintf(stderr, "usage:\n");
    print_usage(cmd, stderr);
    return CMD_USAGE;
}

static void print_help(FILE *file)
{
    fprintf(file, "usage:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        print_usage(commands[i], file);
        fprintf(file, "      %s\n", commands[i]->summary);
    }
    fprintf(file, "  fabsim --help | --version\n");
}

static bool wants_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
    /* getopt prints argv[0] in its error messages */
    argv[0] = (char *)(uintptr_t) "fabsim";
    if (argc < 2 || !wants_help(argv[1]))
        return cmd->run(cmd, argc, argv);
    printf("usage:\n");
    print_usage(cmd, stdout);
    if (cmd->help != NULL)
        cmd->help(stdout);
    return CMD_OK;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CMD_USAGE;
    }
    if (wants_help(argv[1])) {
        print_help(stdout);
        return CMD_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("fabsim %s\n", fab_base_version());
        return CMD_OK;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i]->name) == 0)
            return run(commands[i], argc - 1, argv + 1);
    fprintf(stderr, "fabsim: no command \"%s\"; fabsim --help lists them\n", argv[1]);
    print_help(stderr);
    return CMD_USAGE;
}
