/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of a policy for a request to the manager. */
#ifndef CLI_CTL_POLICY_FILES_H
#define CLI_CTL_POLICY_FILES_H

#include <stddef.h>

#include "fabric/v1/policy.pb-c.h"

struct policy_files {
    Fabric__V1__PolicyFile **file; /* [count] */
    size_t count;
    size_t bytes; /* total size of the texts */
};
/* Reads the files, all *.yaml and *.yml of each directory in the order of their names, and the
 * standard input for "-". On an error, prints it and returns the exit code. Call
 * policy_files_fini in any case. */
int policy_files_read(int argc, char **argv, struct policy_files *ret);
void policy_files_fini(struct policy_files *f);

#endif
