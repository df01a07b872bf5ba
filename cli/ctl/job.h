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
/* What --hosts, --job, --samples and --seed say; the names stay the job's. Complains. */
int job_options(struct session *s, struct job *job, Fabric__V1__QualityOptions *ret);
void job_fini(struct job *job);

/* The pieces, for tests. Splits at commas outside of [...]. False: no memory. */
bool job_split(struct job *job, const char *list);
/* Adds one name; names that count up one by one become one, "node[01-16]". */
bool job_add(struct job *job, const char *name, size_t len);

#endif
