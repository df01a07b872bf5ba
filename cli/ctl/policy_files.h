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
/* Reads the files that the `argc` words in argv name. For a directory, reads all its files *.yaml
 * and *.yml in the order of their names; for "-", reads standard input. If this fails, prints the
 * error. Returns the exit code; call policy_files_fini in any case. */
int policy_files_read(int argc, char **argv, struct policy_files *ret);
void policy_files_fini(struct policy_files *f);

#endif
