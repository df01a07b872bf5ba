/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the paths between the endports of a job that lead over failed links. */
#ifndef LIBFABMGR_STUDY_JOB_PATHS_H
#define LIBFABMGR_STUDY_JOB_PATHS_H

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/target/target.h"

struct fab_job_paths_input {
    const struct fab_fabric *fabric;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
    /* Bitset of the ports, by id, whose links fail. Both ports of a link must be in the set. */
    const uint64_t *failed;
    /* bitset of switches, by id: the switches at both ends of links that had failed before */
    const uint64_t *near;
    const uint32_t *ends; /* [end_count] ids of endports with LIDs, each one once */
    uint32_t end_count;
    /* fab_study_job_paths calls this function from time to time, with `stopped_ctx`. If it returns
     * true, the computation ends early. May be NULL. */
    bool (*stopped)(void *ctx);
    void *stopped_ctx;
};
struct fab_job_paths {
    uint64_t pairs; /* number of ordered pairs of different endports; endports whose link leads to
                       no switch do not count */
    uint64_t hit;   /* number of pairs whose path leads over a failed link, or that have no path */
    /* number of pairs whose path uses no failed link, but passes a switch of in->near */
    uint64_t near;
};
/* Counts the paths from each endport to the base LID of each other endport. Returns OK, NOMEM, or
 * BUSY if in->stopped() returned true. The time is proportional to the number of endports times the
 * number of switches on their paths. */
int fab_study_job_paths(const struct fab_job_paths_input *in, struct fab_job_paths *ret);

#endif
