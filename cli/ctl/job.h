/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the list of hosts of a job from the command line or from a file. */
#ifndef CLI_CTL_JOB_H
#define CLI_CTL_JOB_H

#include "cli/ctl/cmd.h"
#include "fabric/v1/quality.pb-c.h"

struct job {
    char **names;
    size_t count, room;
};
/* Fills in *ret, a part of a request, from the options --hosts, --job, --samples and --seed of the
 * command line. The names in *ret belong to `job`. If this fails, prints the reason. Returns the
 * exit code. */
int job_options(struct session *s, struct job *job, Fabric__V1__QualityOptions *ret);
void job_fini(struct job *job);

/* Adds the names in a comma-separated list to the job; commas within [...] do not separate names.
 * Returns false if memory ran out. Exported for tests. */
bool job_split(struct job *job, const char *list);
/* Adds all names of a list such as "node[1-4],login1" to the job, each of them separately. If the
 * list has more than `most` names or a name of more than 255 bytes, or if memory ran out, prints an
 * error. Returns the exit code. */
int job_expand(struct job *job, const char *list, size_t most);
/* Adds a name to the job. If the number in this name is one more than that in the previous name,
 * both names become one range, such as "node[01-16]". Returns false if memory ran out. */
bool job_add(struct job *job, const char *name, size_t len);

#endif
