/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the core, for the files of this folder only. */
#ifndef FABRICD_SM_CORE_STATE_H
#define FABRICD_SM_CORE_STATE_H

#include "fabricd/loop/task.h"
#include "fabricd/sm/core/core.h"

struct sm_phase_task;
struct sm_waiter { /* a caller that waits for a round */
    struct sm_waiter *next;
    sm_done *done;
    void *ctx;
    enum sm_round_kind kind;
    bool background; /* it waits for the background heavy sweep that runs */
    bool running;    /* its round has begun */
};

struct sm_core {
    /* what is requested: requests.c */
    unsigned requested; /* enum sm_request */
    struct sm_guids targets, probes;
    struct sm_guids unanswered; /* sm_probe_unanswered */
    struct sm_guids retry;      /* nodes that did not take a write */
    uint64_t trap_us;           /* when the first trap since the last sweep came; 0: none */
    uint64_t overdue_us;        /* since when a sweep waits for port probes; 0: none does */
    char cause[96];             /* of the next round that has one; "": nothing special */
    struct sm_waiter *waiters;
    struct loop_timer *light_timer, *heavy_timer, *retry_timer;
    uint64_t retry_delay_us;
    bool heavy_later; /* when retry_timer rings */

    sm_notice *on_notice; /* sm_on_notice, or NULL */
    void *on_notice_ctx;

    /* rounds: rounds.c */
    struct loop_timer *settle_timer;
    uint32_t restarts;      /* of the running targeted sweep, because of further traps */
    uint32_t postponed;     /* rounds that made room for a fault since a heavy sweep ended */
    uint32_t light_dropped; /* light sweeps dropped because of traps since one ended */
    uint32_t backoff;       /* targeted sweeps because of traps, one on the heels of the other */
    bool widens;            /* the next round follows without a pause */
    char alarm[1280];
    uint64_t created_us;

    /* the running round: runner.c */
    const struct sm_phase *const *phases; /* from the running one on; NULL: idle */
    uint32_t outstanding;                 /* requests of this phase without an answer */
    struct loop_timer *advance, *stall;
    bool answered;       /* since the stall timer was set */
    uint64_t stalled_us; /* for how long no answer came */

    /* the running phase's work: phase_task.c */
    struct loop_tasks tasks;
    struct sm_phase_task *task; /* NULL: there is none */
};

/* requests.c */
int sm_requests_init(struct sm *s);
void sm_requests_fini(struct sm *s);
void sm_requests_begun(struct sm *s); /* the round that begins takes what it meets */
bool sm_sweep_overdue(const struct sm *s);
void sm_probes_to_targets(struct sm *s);
/* status and text are what the callers are told that wait for the running round. */
void sm_waiters_call(struct sm *s, int status, const char *text);
bool sm_waiters_any(const struct sm *s); /* for the running round */
void sm_waiters_postpone(struct sm *s);

/* rounds.c */
void sm_round_begun(struct sm *s);
void sm_round_ended(struct sm *s, int status);
/* A running targeted sweep may be about to cross the very link that failed: it begins again with
 * this node among its suspects. */
void sm_round_restart_with(struct sm *s, uint64_t node_guid);
void sm_round_drop_light(struct sm *s);
bool sm_is_settling(const struct sm *s);

/* runner.c */
int sm_runner_init(struct sm *s);
void sm_runner_fini(struct sm *s);
void sm_run_start(struct sm *s, enum sm_round_kind kind);

/* phase_task.c */
bool sm_phase_task_any(const struct sm *s);
void sm_phase_task_abort(struct sm *s);
void sm_phase_task_orphan(struct sm *s); /* before the sm goes */

#endif
