/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker task of the phase "routing". route.c starts the task and takes its result; route_job.c
 * runs the engines on the worker thread; route_sls.c replaces tables that do not suit the SLs in
 * use. dry_run.c runs the same task.
 */
#ifndef FABRICD_SM_APPLY_ROUTE_JOB_H
#define FABRICD_SM_APPLY_ROUTE_JOB_H

#include "fabricd/sm/apply/state.h"
#include "libfabmgr/route/route.h"
#include "libfabmgr/target/choice.h"

struct sm_route_job {
    struct loop_task *task; /* the worker task; NULL: it has ended */
    /* The snapshot and the policy for the task. of.target has only LIDs at first; the task adds
     * tables, VLs and the name of the engine. */
    struct sm_sealed of;
    struct fab_target *former; /* the previous tables; NULL: none */
    /* The active tables, with which a rebalance compares the new ones; NULL in other rounds. */
    struct fab_target *active;
    struct sm_gain gain;
    /* polished: `polish` has the tables that the polish has made of the active tables, and `gain`
     * their gain. No engine runs then. */
    bool polished;
    struct fab_lft polish;
    struct fab_repair_session session; /* repair session of `former`; empty: none */
    struct sm_fixed fixed;             /* the tables of silent switches */
    /* number of pairs without a path because of the entries that silent switches hold */
    uint64_t lost_pairs;
    /* the task may use a repair that lacks paths from and to switches */
    bool may_leave_out;
    bool left_out; /* the task has used a repair that lacks paths from and to switches */
    /* The new tables are those that the switches hold, as a change of the tables of `former`.
     * followed: they have passed the proof. */
    bool catches, followed;
    /* The tables of an engine must not become active, because the manager is frozen. */
    bool no_engine;
    /* the tables that the switches hold, if they may be adopted; otherwise empty */
    struct sm_standing standing;
    const struct fab_pool *pool;
    struct fab_verdict verdict;
    char *witness;
    int status;
    /* what the last engine, or the engine that was chosen, says to operators, for example why it
     * failed */
    char why[300];
    /* all engines that were considered, each with its figures (such as link loads) or the reason
     * why it was not used */
    struct fab_choice *choice;
    uint64_t began_us; /* time (manager's clock) at which the last engine began */
    /* Names of the engines that were passed over, with reasons. */
    char passed[800];
    /* true: the tables of an engine before the last one failed their proof */
    bool refuted;
    uint64_t route_us, verify_us;
    /* times (manager's clock) at which the last engine ended (computed_us), and at which the proof
     * of its tables ended (proved_us) */
    uint64_t computed_us, proved_us;
    uint64_t cpu_ns; /* CPU time of the worker thread */
    struct sm_classes classes;
    bool composed; /* the task has set `classes` */
    /* true: the engine says that on this fabric another engine may spread load better; its tables
     * are not wrong for this reason */
    bool flawed;
    bool over;
};

/* Computes and proves the tables. Called on the worker thread; ctx is the job. */
void sm_route_job_work(void *ctx, struct loop_task *task);
/* Returns whether the tables passed their proof. Two kinds of pairs without a path do not count as
 * a failure: pairs that lack a path only because of the fixed tables of a silent switch; and pairs
 * of which one end is a switch, and whose path a repair left out. */
bool sm_route_job_is_good(const struct sm_route_job *j);
void sm_route_job_free(struct sm_route_job *j);

/* ---- for route_job.c and route_sls.c ---- */

/* Adds a row to j->choice with the outcome for this engine, and the reason (`why`). */
void sm_route_job_record(struct sm_route_job *j, const char *engine,
                         enum fab_choice_outcome outcome, const char *why);
/* Proves the tables of j->of.target, and sets j->verdict. Returns what fab_verify returns. */
int sm_route_job_prove(struct sm_route_job *j);
struct fab_route_input sm_route_job_input(struct sm_route_job *j);
/* If the engine's tables could deadlock with the SLs of the former tables, replaces them by up/down
 * tables with these SLs, if these tables pass the proof. Returns OK or NOMEM. */
int sm_route_job_keep_sls(struct sm_route_job *j);

#endif
