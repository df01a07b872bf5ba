/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the hosts of a job from the command line or a file. */
#ifndef CLI_CTL_JOB_H
#define CLI_CTL_JOB_H

#include "cli/ctl/cmd.h"
#include "fabric/v1/quality.pb-c.h"

struct job {
    char **names;
    size_t count, room;
};
/* Fills *ret from the options --hosts, --job, --samples and --seed. `job` owns the names in *ret.
 * On error prints the reason. Returns the exit code. */
int job_options(struct session *s, struct job *job, Fabric__V1__QualityOptions *ret);
void job_fini(struct job *job);

/* Adds the names of a list, split at commas outside of [...]. False: out of memory. It is public
 * because tests call it. */
bool job_split(struct job *job, const char *list);
/* Adds one name. If it continues the numbers of the name before it, both become one range, such as
 * "node[01-16]". False: out of memory. */
bool job_add(struct job *job, const char *name, size_t len);

#endif
