/* SPDX-License-Identifier: BSD-3-Clause */
/* One slice of the computation of contingencies, on a worker thread. For this folder only. */
#ifndef FABRICD_SM_FAULT_CONTINGENCY_SLICE_H
#define FABRICD_SM_FAULT_CONTINGENCY_SLICE_H

#include "libfabmgr/repair/contingency/contingency.h"

#define SLICE_CASES 64

struct loop_task;

struct sm_contingency_job {
    struct fab_repair_contingency_maker *maker;
    /* Newer state of the repair session, which the maker must get first. NULL: the maker has the
     * newest state already. */
    struct fab_repair *later;
    struct fab_lft tables; /* the tables of `later` */
    /* true: contingency.memory may have room for the plans, so the maker returns them; false: it
     * returns only their sizes and the link loads */
    bool keep;
    /* true: a slice ends after SLICE_US of processor time; false (virtual time): after a fixed
     * number of cases */
    bool timed;
    /* set by the loop thread to end the slice */
    int stop;
    /* [SLICE_CASES] plans of the next cases that were computed for an earlier state of the repair
     * session; NULL: the case has none */
    struct fab_repair_stored_plan *earlier[SLICE_CASES];
    /* [SLICE_CASES] the state of the repair session, as its number of commits, for which the plan
     * in earlier[] is valid */
    uint64_t valid_at[SLICE_CASES];
    struct fab_repair_contingency made[SLICE_CASES];
    /* cases whose plan in earlier[] is still valid, as indices in row[] of struct
     * fab_repair_contingencies */
    uint32_t confirmed[SLICE_CASES];
    /* cases: number of cases that this slice has handled. count: length of made[]. confirms: length
     * of confirmed[]. */
    uint32_t cases, count, confirms;
    uint64_t cpu_ns;
    /* true: the maker cannot go on from its state to `later`, so a new maker must begin */
    bool strays;
    int status; /* result of the slice; NOT_FOUND: all contingencies are computed */
};

/* Computes or checks contingencies until the slice ends; for struct loop_task_ops. */
void sm_contingency_work(void *job, struct loop_task *task);
void sm_contingency_job_free(struct sm_contingency_job *j);

#endif
