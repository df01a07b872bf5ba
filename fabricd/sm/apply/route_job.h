/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker task of the phase "routing". route.c starts the task and takes its result; route_job.c
 * runs the engines on the worker thread. For these two files only.
 */
#ifndef FABRICD_SM_APPLY_ROUTE_JOB_H
#define FABRICD_SM_APPLY_ROUTE_JOB_H

#include "fabricd/sm/apply/state.h"

struct sm_route_job {
    struct loop_task *task; /* the worker task; NULL: it has ended */
    /* The snapshot and policy of this task; of.target has the LIDs, and the task adds tables, VLs
     * and the name of the engine. */
    struct sm_sealed of;
    struct fab_target *former; /* the previous tables; NULL: none */
    /* The active tables, with which a rebalance compares the new ones; NULL in other rounds. */
    struct fab_target *active;
    struct sm_gain gain;
    struct fab_repair_session session; /* repair session of `former`; empty: none */
    struct sm_fixed fixed;             /* the tables of silent switches */
    /* Number of pairs without a path because of the fixed tables of silent switches. */
    uint64_t lost_pairs;
    /* A repair may leave out paths from and to switches. */
    bool may_leave_out;
    bool left_out; /* the repair has left out paths from and to switches */
    /* No engine may run, because the manager is frozen. */
    bool no_engine;
    struct sm_standing standing; /* the tables that the switches hold; empty: not adopted */
    const struct fab_pool *pool;
    struct fab_verdict verdict;
    char *witness;
    int status;
    /* Message for operators from the engine that ran last or that was chosen, for example why it
     * failed. */
    char why[300];
    /* The engines considered so far, with figures or reasons. */
    struct fab_choice *choice;
    uint64_t began_us; /* manager's clock when the last engine began */
    /* Names of the engines that were passed over, with reasons. */
    char passed[800];
    /* At least one engine was passed over because its tables failed their proof. */
    bool refuted;
    uint64_t route_us, verify_us;
    /* manager's clock when the last engine ended (computed_us), and when the proof of its tables
     * ended (proved_us) */
    uint64_t computed_us, proved_us;
    uint64_t cpu_ns; /* CPU time of the worker thread */
    struct sm_classes classes;
    bool composed; /* the task has set `classes` */
    /* The engine reports that another engine may spread load better on this fabric. */
    bool flawed;
    bool over;
};

/* Computes and proves the tables. Called on the worker thread; ctx is the job. */
void sm_route_job_work(void *ctx, struct loop_task *task);
/* Returns whether the tables passed their proof. Two kinds of lost paths do not count as a failure:
 * paths lost only because of the fixed tables of a silent switch, and paths from and to switches
 * that a repair left out. */
bool sm_route_job_is_good(const struct sm_route_job *j);
void sm_route_job_free(struct sm_route_job *j);

#endif
