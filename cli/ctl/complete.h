/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_CTL_COMPLETE_H
#define CLI_CTL_COMPLETE_H

#include "cli/ctl/options.h"

/* The hidden command that the completion scripts of all shells call. */
#define COMPLETE_COMMAND "__complete"

/* Prints the candidates for the last word on the command line; this word may be empty. argv: the
 * `argc` words after "fabricctl". Each line of the output is a candidate, a tab and a description.
 * The last line may be ":files" (names of files are candidates, too) or ":nospace" (a candidate is
 * only the beginning of a word). `o` has the default address of the manager. */
void complete(struct options *o, int argc, char **argv);

#endif
