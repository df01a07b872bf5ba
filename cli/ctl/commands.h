/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the commands of fabricctl, and the search for a command in it. */
#ifndef CLI_CTL_COMMANDS_H
#define CLI_CTL_COMMANDS_H

#include "cli/ctl/cmd.h"

#define USAGE_LEN 160

/* All commands, in the order in which the help shows them; NULL ends the array. */
extern const struct cmd *const commands[];

/* Returns the command with which the `argc` words in argv begin; NULL: there is none. */
const struct cmd *find_command(int argc, char **argv);
/* Prints an error that lists the verbs of the noun, such as "list, show", and suggests a verb that
 * is similar to `verb`. If there is no such noun, suggests a similar one. Returns the exit code. */
int complain_verbs(const char *noun, const char *verb);
/* Writes the usage of a command, such as "port show NODE/PORT". */
void usage_of(const struct cmd *c, char line[USAGE_LEN]);
/* Copies the next argument in a usage text to word[], without brackets and dots, and moves *usage
 * past this argument. Skips options and their arguments. Sets *ret_repeated to true if dots follow
 * the argument, which then may be repeated. Returns false at the end of the text. */
bool next_argument(const char **usage, char word[40], bool *ret_repeated);
/* Prints the usage of the commands that begin with the `argc` words in argv. If there is no such
 * command, prints the usage of all commands, and the options. */
void print_help(int argc, char **argv);

#endif
