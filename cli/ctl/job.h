/* SPDX-License-Identifier: BSD-3-Clause */
/* The hosts of a job, from the command line or a file. */
#ifndef CLI_CTL_JOB_H
#define CLI_CTL_JOB_H

#include "cli/ctl/cmd.h"
#include "fabric/v1/quality.pb-c.h"

struct job {
    char **names;
    size_t count, room;
};
/* Fills the options from --hosts, --job, --samples and --seed; the job owns the names. On error
 * prints the reason. Returns the exit code. */
int job_options(struct session *s, struct job *job, Fabric__V1__QualityOptions *ret);
void job_fini(struct job *job);

/* Adds the names of a list, split at commas outside of [...]. False: out of memory. Public for
 * tests. */
bool job_split(struct job *job, const char *list);
/* Adds one name; consecutive numbers become one name, "node[01-16]". */
bool job_add(struct job *job, const char *name, size_t len);

#endif
