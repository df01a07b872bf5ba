/* SPDX-License-Identifier: BSD-3-Clause */
/* One slice of the computation of contingencies, on a worker thread. For this folder only. */
#ifndef FABRICD_SM_FAULT_CONTINGENCY_SLICE_H
#define FABRICD_SM_FAULT_CONTINGENCY_SLICE_H

#include "libfabmgr/repair/contingency/contingency.h"

#define SLICE_CASES 64

struct loop_task;

struct sm_contingency_job {
    struct fab_repair_contingency_maker *maker;
    /* A newer state of the repair session, which the task gives to the maker before anything else.
     * NULL: the maker has the newest state. */
    struct fab_repair *later;
    struct fab_lft tables; /* the tables of `later` */
    /* True: the maker returns the plans, because contingency.memory may have room for them. False:
     * it returns only the sizes of the plans and the link loads. */
    bool keep;
    /* True: a slice ends after SLICE_US. False (virtual time): it ends after a number of cases. */
    bool timed;
    /* The loop thread sets `stop` to a value other than 0 to end the slice. */
    int stop;
    /* [SLICE_CASES] the plan of each of the next cases, from an earlier state of the repair
     * session; NULL: the case has none */
    struct fab_repair_stored_plan *earlier[SLICE_CASES];
    /* The state of the session (its number of commits) for which the plan in earlier[] is valid. */
    uint64_t valid_at[SLICE_CASES];
    struct fab_repair_contingency made[SLICE_CASES];
    /* indices in row[] of struct fab_repair_contingencies: cases whose plans in earlier[] are still
     * valid */
    uint32_t confirmed[SLICE_CASES];
    /* cases: number of cases that this slice has handled. count: length of made[]. confirms: length
     * of confirmed[]. */
    uint32_t cases, count, confirms;
    uint64_t cpu_ns;
    bool strays; /* the maker cannot continue with `later` */
    int status;  /* NOT_FOUND: all contingencies are computed */
};

/* Computes or checks contingencies until the slice ends; for struct loop_task_ops. */
void sm_contingency_work(void *job, struct loop_task *task);
void sm_contingency_job_free(struct sm_contingency_job *j);

#endif
