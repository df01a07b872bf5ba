/* SPDX-License-Identifier: BSD-3-Clause */
/* State of the core, for the files of this folder only. */
#ifndef FABRICD_SM_CORE_STATE_H
#define FABRICD_SM_CORE_STATE_H

#include "fabricd/loop/task.h"
#include "fabricd/sm/core/core.h"
#include "fabricd/sm/core/freeze.h"
#include "libfabmgr/base/map.h"

#define SM_PHASES_A_ROUND 24 /* maximum number of phases in a round */

struct sm_phase_task;
struct sm_trap_forward;
struct sm_trap_limit;
struct sm_violations;
struct sm_waiter { /* a caller that waits for a round */
    struct sm_waiter *next;
    sm_done *done;
    void *ctx;
    enum sm_round_kind kind;
    /* The caller waits for the running background heavy sweep. */
    bool background;
    /* The round for which the caller waits has begun. */
    bool running;
};

/* Token bucket that limits how often the tables change (pace.c). There is one for local repairs
 * and one for targeted sweeps. */
struct sm_pace {
    uint64_t full_us; /* Manager's clock in us when the token bucket is full again
                       * (libfabmgr/base/bucket.h). */
    uint32_t pauses;  /* number of successive pauses */
};

struct sm_core {
    /* Members of requests.c. */
    /* Bitset of requests (enum sm_request) that no round has fulfilled yet. */
    unsigned requested;
    struct sm_guids targets, probes;
    /* Switches that did not answer a port probe. */
    struct sm_guids unanswered;
    struct sm_guids retry; /* nodes to which a write failed */
    /* Nodes at which writes failed in the last round that wrote to them. */
    struct sm_guids refusing;
    /* The nodes in `refusing` that an event has named. */
    struct sm_guids named;
    /* Manager's clock at the first trap that no round has handled yet; 0: no such trap. */
    uint64_t trap_us;
    /* Manager's clock when port probes began to delay a requested sweep; 0: no sweep is delayed. */
    uint64_t overdue_us;
    /* Cause of the next sweep or repair; "": not set. */
    char cause[96];
    struct sm_waiter *waiters;
    struct loop_timer *light_timer, *heavy_timer, *retry_timer;
    uint64_t retry_delay_us;
    /* When retry_timer fires, it requests a heavy sweep. */
    bool heavy_later;

    struct sm_trap_limit *traps;      /* state of trap_limit.c */
    struct sm_trap_forward *forward;  /* state of trap_forward.c */
    struct sm_violations *violations; /* state of trap_violation.c */

    /* Members of m_key.c: M_Keys of requests. */
    struct fab_m_keys previous_m_keys;
    /* a key rotation is under way: some ports may still have the previous M_Key */
    bool m_keys_rotate;
    /* True: ports may need different M_Keys (sm_m_keys_are_mixed). */
    bool m_keys_mixed;
    /* Directed routes to devices that answered only requests with the previous or the listed M_Key.
     * Maps the hash of such a route to the key (enum path_key). */
    struct fab_map key_paths;

    /* Members of rounds.c. */
    struct loop_timer *settle_timer;
    /* How often further traps have restarted the running targeted sweep. */
    uint32_t restarts;
    /* Number of rounds that faults have postponed since the last heavy sweep. */
    uint32_t postponed;
    /* Number of light sweeps that traps have aborted since the last completed one. */
    uint32_t light_dropped;
    /* Number of targeted sweeps since a change of M_Keys was requested. */
    uint32_t before_keys;
    /* Number of successive rounds that ended while further traps waited. */
    uint32_t backoff;
    /* A heavy sweep follows the running targeted sweep without a pause (sm_round_widen). */
    bool widens;
    char alarm[1280];
    uint64_t created_us;

    struct sm_freezing freeze; /* members of freeze.c */

    /* Members of pace.c. */
    struct sm_pace repair_pace, sweep_pace;
    struct loop_timer *probe_timer;   /* While this timer is pending, port probes wait. */
    struct loop_timer *targets_timer; /* While this timer is pending, targeted sweeps wait. */
    /* Generation of the published view when the running round began. */
    uint64_t generation_before;

    /* Members of runner.c: the running round. */
    /* The running phase and the phases after it, NULL-terminated; NULL: no round runs. */
    const struct sm_phase *const *phases;
    /* Number of unanswered requests of the running phase. */
    uint32_t outstanding;
    struct loop_timer *advance, *stall;
    /* An answer has come since the timer `stall` was last set. */
    bool answered;
    uint64_t stalled_us; /* time since the last answer */
    /* Members of phase_times.c, for the running phase. phase_began_us: manager's clock in us when
     * the phase began. phase_began_ns: CPU time of the loop thread in ns when the phase began.
     * phase_worker_ns: CPU time in ns of the worker task of the phase. */
    uint64_t phase_began_us, phase_began_ns, phase_worker_ns;
    struct sm_phase_time phase_times[SM_ROUND_KINDS][SM_PHASES_A_ROUND];

    /* Members of phase_task.c: the worker task of the running phase. */
    struct loop_tasks tasks;
    /* The task of the running phase; NULL: no task runs. */
    struct sm_phase_task *task;
};

/* Functions of requests.c. */
int sm_requests_init(struct sm *s);
void sm_requests_fini(struct sm *s);
/* Call this function when a round begins. It clears the requests in the round's `meets`. */
void sm_requests_begun(struct sm *s);
bool sm_sweep_overdue(const struct sm *s);
void sm_probes_to_targets(struct sm *s);
/* Calls the callbacks of all callers that wait for the running round. status and text: the outcome
 * of the round. */
void sm_waiters_call(struct sm *s, int status, const char *text);
/* Returns whether a caller waits for the running round. */
bool sm_waiters_any(const struct sm *s);
void sm_waiters_postpone(struct sm *s);

/* Functions of rounds.c. */
void sm_round_ended(struct sm *s, int status);
/* Restarts the running targeted sweep with this node as a further suspect, because the directed
 * routes of the sweep may use the link that failed. */
void sm_round_restart_with(struct sm *s, uint64_t node_guid);
void sm_round_drop_light(struct sm *s);
bool sm_is_settling(const struct sm *s);

/* Functions of pace.c. */
int sm_pace_init(struct sm *s); /* returns OK or NOMEM */
void sm_pace_fini(struct sm *s);
/* Call sm_pace_begun when a round begins, and sm_pace_ended when it has ended. If the round changed
 * the tables, sm_pace_ended takes a token, and begins a pause if the bucket is empty. */
void sm_pace_begun(struct sm *s);
void sm_pace_ended(struct sm *s);
bool sm_probes_wait(const struct sm *s);

/* Functions of trap_limit.c and trap_forward.c. */
int sm_trap_limit_init(struct sm *s); /* returns OK or NOMEM */
void sm_trap_limit_fini(struct sm *s);
int sm_trap_forward_init(struct sm *s); /* returns OK or NOMEM */
void sm_trap_forward_fini(struct sm *s);
/* Call this function when a heavy sweep ends. Traps from unknown LIDs cause heavy sweeps, with a
 * growing pause between them. If the sweep found changes, the function resets this pause. */
void sm_trap_swept(struct sm *s);

/* Functions of trap_violation.c. */
int sm_violations_init(struct sm *s); /* returns OK or NOMEM */
void sm_violations_fini(struct sm *s);
/* Call this function when a heavy sweep ends. It compares the counters of key violations with their
 * former values. */
void sm_violations_swept(struct sm *s);

/* Functions of runner.c. */
int sm_runner_init(struct sm *s);
void sm_runner_fini(struct sm *s);
void sm_run_start(struct sm *s, enum sm_round_kind kind);

/* Functions of phase_times.c. Call sm_phase_time_begin when a phase begins, and
 * sm_phase_time_end when it ends. */
void sm_phase_time_begin(struct sm *s);
void sm_phase_time_end(struct sm *s);

/* Functions of phase_task.c. */
bool sm_phase_task_any(const struct sm *s);
void sm_phase_task_abort(struct sm *s);
/* Cancels all worker tasks of phases. Call this function before struct sm is freed. */
void sm_phase_task_orphan(struct sm *s);

#endif
