/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads lists of running jobs, as the scheduler prints them (libfabmgr/base/job_list.h). */
#ifndef CLI_CTL_JOB_FILE_H
#define CLI_CTL_JOB_FILE_H

#include "fabric/v1/job.pb-c.h"

struct job_file {
    Fabric__V1__Job **jobs; /* [count] */
    size_t count, room;
};
/* Reads the file; "-": standard input. If this fails, prints the reason. Returns the exit code. The
 * caller frees the jobs even after an error. */
int job_file_read(const char *path, struct job_file *ret);
void job_file_fini(struct job_file *f);

#endif
