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
    /* true: the caller waits for the running background heavy sweep, and not for a round */
    bool background;
    /* true: the round for which the caller waits has begun */
    bool running;
};

/* Token bucket that limits how often the tables change (pace.c). There is one for local repairs
 * and one for targeted sweeps. */
struct sm_pace {
    /* time on the manager's clock in us at which the token bucket will be full again
     * (libfabmgr/base/bucket.h) */
    uint64_t full_us;
    uint32_t pauses; /* number of pauses since the bucket was last full */
};

struct sm_core {
    /* Members of requests.c. */
    /* Bitset of requests (enum sm_request) that no round has fulfilled yet. */
    unsigned requested;
    struct sm_guids targets, probes;
    /* switches that did not answer a port probe; they are probed again only after a sweep or a
     * change of routes */
    struct sm_guids unanswered;
    /* nodes at which a write failed; the targeted sweep of the next retry reads them */
    struct sm_guids retry;
    /* Nodes at which writes failed in the last round that wrote to them. */
    struct sm_guids refusing;
    /* those nodes in `refusing` that an event has named already */
    struct sm_guids named;
    /* Time (manager's clock) of the first trap that no round has handled yet; 0: no such trap. */
    uint64_t trap_us;
    /* Time (manager's clock) at which requested port probes began to delay a requested sweep; 0: no
     * sweep is delayed. */
    uint64_t overdue_us;
    /* Cause of the next sweep or repair; "": not set. */
    char cause[96];
    struct sm_waiter *waiters;
    /* later_timer: see sm_request_heavy_later */
    struct loop_timer *light_timer, *heavy_timer, *later_timer, *retry_timer;
    uint64_t retry_delay_us;

    struct sm_trap_limit *traps;      /* state of trap_limit.c */
    struct sm_trap_forward *forward;  /* state of trap_forward.c */
    struct sm_violations *violations; /* state of trap_violation.c */

    /* Members of m_key.c: M_Keys of requests. */
    struct fab_m_keys previous_m_keys;
    /* true: an M_Key rotation is not complete, so some ports may still have the previous key */
    bool m_keys_rotate;
    /* True: ports may need different M_Keys (sm_m_keys_are_mixed). */
    bool m_keys_mixed;
    /* Maps the hash of a directed route to the M_Key (enum path_key in m_key.c) with which the
     * device at its end answers requests. Contains only routes whose device answers with the
     * previous or the listed key, but not with the current key. */
    struct fab_map key_paths;

    /* Members of rounds.c. */
    struct loop_timer *settle_timer;
    /* number of times that the running targeted sweep was restarted (sm_round_repeat) */
    uint32_t restarts;
    /* Number of rounds that faults have postponed since the last heavy sweep. */
    uint32_t postponed;
    /* Number of light sweeps that traps have aborted since the last complete light sweep. */
    uint32_t light_dropped;
    /* Number of targeted sweeps that have run since a change of M_Keys was requested. */
    uint32_t before_keys;
    /* number of rounds in a row during each of which a further trap came */
    uint32_t backoff;
    /* true: when the running targeted sweep ends, a heavy sweep follows at once (sm_round_widen) */
    bool widens;
    char alarm[1280];
    uint64_t created_us;

    struct sm_freezing freeze; /* members of freeze.c */

    /* Members of pace.c. */
    struct sm_pace repair_pace, sweep_pace;
    struct loop_timer *probe_timer;   /* port probes wait while this timer is set */
    struct loop_timer *targets_timer; /* targeted sweeps wait while this timer is set */
    /* generation of the published view when the running round began; if it is different at the end
     * of the round, the tables have changed */
    uint64_t generation_before;

    /* Members of runner.c: the running round. */
    /* Points to the running phase in the NULL-terminated list of the round's phases; NULL: no round
     * runs. */
    const struct sm_phase *const *phases;
    /* Number of unanswered requests of the running phase. */
    uint32_t outstanding;
    struct loop_timer *advance, *stall;
    /* true: an answer has come since the stall timer was set */
    bool answered;
    uint64_t stalled_us; /* time in us since the last answer */
    /* Number of requests that a round in standby may still send until budget_timer fires. */
    uint32_t budget;
    struct loop_timer *budget_timer;
    /* Members of phase_times.c, for the running phase. phase_began_us: time in us (manager's clock)
     * at which the phase began. phase_began_ns: CPU time of the loop thread in ns when the phase
     * began. phase_worker_ns: CPU time in ns of the worker task of the phase. */
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
/* Calls the callbacks of all callers that wait for the running round, with `status` and `text` (the
 * outcome of the round), and removes these callers from the list. */
void sm_waiters_call(struct sm *s, int status, const char *text);
/* Returns whether a caller waits for the running round. */
bool sm_waiters_any(const struct sm *s);
void sm_waiters_postpone(struct sm *s);

/* Functions of rounds.c. */
void sm_round_ended(struct sm *s, int status);
/* Call this function after a trap about this node, when a targeted sweep of the node is requested.
 * A link may have failed that directed routes of the running targeted sweep use. Unless the running
 * sweep already reads the node, the function starts the sweep again; the sweep then reads this
 * node, too. */
void sm_round_restart_with(struct sm *s, uint64_t node_guid);
void sm_round_drop_light(struct sm *s);
bool sm_is_settling(const struct sm *s);

/* Functions of pace.c. */
int sm_pace_init(struct sm *s); /* returns OK or NOMEM */
void sm_pace_fini(struct sm *s);
/* Call sm_pace_begun when a round begins, and sm_pace_ended when it has ended. If the round has
 * changed the tables, sm_pace_ended takes a token from a bucket (struct sm_pace); if the bucket is
 * then empty, further changes of the tables must wait. */
void sm_pace_begun(struct sm *s);
void sm_pace_ended(struct sm *s);
bool sm_probes_wait(const struct sm *s);

/* Functions of trap_limit.c and trap_forward.c. */
int sm_trap_limit_init(struct sm *s); /* returns OK or NOMEM */
void sm_trap_limit_fini(struct sm *s);
int sm_trap_forward_init(struct sm *s); /* returns OK or NOMEM */
void sm_trap_forward_fini(struct sm *s);
/* Call this function when a heavy sweep has ended. Traps from unknown LIDs cause heavy sweeps, and
 * the pause between two such sweeps grows. If the sweep that has ended found changes, the function
 * makes the pause short again. */
void sm_trap_swept(struct sm *s);

/* Functions of trap_violation.c. */
int sm_violations_init(struct sm *s); /* returns OK or NOMEM */
void sm_violations_fini(struct sm *s);
/* Call this function when a heavy sweep has ended. It looks for counters of key violations that
 * have risen since they were last read. */
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
