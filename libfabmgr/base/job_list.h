/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads lists of running jobs as Slurm prints them, line by line. Three forms are accepted, also
 * mixed:
 *
 *   JOBID ... NODES          columns, such as those of squeue: the first is the job, the last its
 *                            hosts
 *   JobId=N ... NodeList=N   scontrol show job --oneliner
 *   JobId=N                  scontrol show job: the hosts are in a later line of the job
 *     NodeList=N
 *
 * Lists of hosts are in the notation of host_list.h. The functions skip a heading, and jobs without
 * hosts, such as pending jobs. # begins a comment.
 */
#ifndef LIBFABMGR_BASE_JOB_LIST_H
#define LIBFABMGR_BASE_JOB_LIST_H

#include <stdbool.h>

#define FAB_JOB_ID_LEN 64

struct fab_job_reader {
    char job[FAB_JOB_ID_LEN]; /* the value of the last "JobId="; "": there was none */
};
/* A job and its hosts. The pointers point into the line that was read. */
struct fab_job_line {
    char id[FAB_JOB_ID_LEN];
    const char *hosts; /* the list of hosts, which does not end with a NUL */
    int hosts_len;
};
/* Reads one line. Before the first line of a text, all bytes of the reader must be zero. If the
 * line completes a job with hosts, fills *ret and sets *ret_found to true; otherwise sets
 * *ret_found to false. Returns FORMAT if the line has only one column, or if the name of the job is
 * longer than 63 bytes. */
int fab_base_job_list_line(struct fab_job_reader *r, const char *line, struct fab_job_line *ret,
                           bool *ret_found);

#endif
