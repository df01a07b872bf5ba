/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files of commands. A regular file is written under a temporary name, and renamed when it
 * is complete, so that no other program reads an incomplete file. */
#ifndef CLI_CTL_SINK_H
#define CLI_CTL_SINK_H

#include <limits.h>
#include <stdio.h>

struct sink {
    FILE *to;
    /* temporary name of the output file; "": the output is not a regular file */
    char part[PATH_MAX];
    /* errno of the first write that failed; 0: none failed */
    int error;
};

/* Opens the output file; NULL or "-": standard output. If this fails, prints the reason. Returns
 * the exit code. */
int sink_open(struct sink *s, const char *file);
/* Closes the output file. `rc` is the exit code so far; if `rc` is EXIT_OK, renames the file to its
 * final name, otherwise removes it. Returns the exit code of the command. This is EXIT_OK, whatever
 * `rc` is, if the output is a pipe whose reader has ended. */
int sink_close(struct sink *s, const char *file, int rc);

#endif
