/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core of the subnet manager, for the other folders of fabricd/sm: traps (trap.c), what is
 * requested (requests.c), which round comes next (next_round.c), how rounds begin and end
 * (rounds.c) and how one runs (runner.c).
 *
 * `struct sm` is what the folders share. The state of a folder is behind an opaque pointer; only
 * that folder includes the header that defines it (FOLDER/state.h). A folder calls folders of lower
 * rank (tests/calls.sh has the ranks); what the core has to ask or tell upwards goes through
 * struct sm_wiring.
 */
#ifndef FABRICD_SM_CORE_CORE_H
#define FABRICD_SM_CORE_CORE_H

#include "fabricd/base/events.h"
#include "fabricd/sm/core/guids.h"
#include "fabricd/sm/core/next_round.h"
#include "fabricd/sm/core/phase.h"
#include "fabricd/sm/model/model.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/smstate/smstate.h"

/* Single events of one kind in a round. Beyond that one summary is emitted. */
#define SM_EVENTS_A_ROUND 64

/* What phases note about the running round, for other phases and for the report at its end. */
struct sm_run {
    const struct sm_round *round; /* the last one when none runs */
    struct sm_guids suspects;     /* nodes that this round looks at */
    uint64_t started_us, sent_before;
    uint64_t trap_us;     /* when the trap came that led to it; 0: none did */
    bool from_background; /* it adopts what a background heavy sweep found */
    bool same;            /* the sweep found the ids and links that were known before */
    bool computed;        /* tables were computed in this round */
    bool by_contingency;  /* and that before the fault */
    uint64_t follows;     /* generation of the reroute that this one refines, or 0 */
    char cause[96];       /* why it runs, for people */
    uint64_t known_us, computed_us, proved_us; /* when; 0: not in this round */
    struct reroute changed;                    /* nodes and links lost and gained */
};

/* What the core asks of folders above it, and tells them. All are set (wiring/wiring.c). */
struct sm_wiring {
    const struct sm_round *rounds; /* by enum sm_round_kind */
    /* Fills in requests that are sent before those of the round, and after them; false: none. */
    bool (*first_requests)(struct sm *s, struct fab_mads_request *ret);
    bool (*last_requests)(struct sm *s, struct fab_mads_request *ret);
    bool (*repair_ready)(const struct sm *s); /* a link that fails now is repaired locally */
    void (*trap_came)(struct sm *s);
    /* Before the next round is chosen, and the facts that the core does not know. */
    void (*before_choice)(struct sm *s);
    void (*add_facts)(const struct sm *s, struct sm_facts *facts);
    void (*round_ended)(struct sm *s, int status); /* before the next one is chosen */
    void (*round_over)(struct sm *s);              /* after that */
    void (*repair_state_made)(struct sm *s);
    /* What the model knows of this node changed, or is in doubt. */
    void (*node_touched)(struct sm *s, uint64_t node_guid);
    void (*mastership_lost)(struct sm *s);
};

struct sm {
    struct sm_input in;
    struct agent *agent;
    struct fab_mads *mads;
    struct fab_policy policy;
    struct fab_smstate role;
    struct sm_model model;
    struct sm_run run;
    const struct sm_wiring *wiring;
    struct sm_core *core;
    struct sm_multicast *mcast;
    struct sm_ha *ha;
    struct sm_links *links;
    struct sm_apply *apply;
    struct sm_sweep *sweep;
    struct sm_fault *fault;
};

static inline bool sm_is_master(const struct sm *s)
{
    return s->role.state == FAB_SM_MASTER;
}
/* How long an answer to the first try of a request may take. */
static inline uint64_t sm_first_try_us(const struct sm *s)
{
    return (uint64_t)s->in.config->smp.timeout_ms * 1000;
}
static inline void sm_node_touched(struct sm *s, uint64_t node_guid)
{
    s->wiring->node_touched(s, node_guid);
}
static inline bool sm_can_repair(const struct sm *s)
{
    return s->wiring->repair_ready(s);
}

/* Sets the timers of light and heavy sweeps. NOMEM. */
int sm_core_init(struct sm *s);
/* Before the other folders are freed: drops the round and its work. */
void sm_core_stop(struct sm *s);
void sm_core_fini(struct sm *s);
uint64_t sm_uptime_us(const struct sm *s);

/* ---- requests (requests.c) --------------------------------------------------------------------
 */

enum sm_request {
    SM_REQUEST_HEAVY = 1,      /* a heavy sweep as a round: what is known is in doubt */
    SM_REQUEST_BACKGROUND = 2, /* one in the background */
    SM_REQUEST_REROUTE = 4,
    SM_REQUEST_REBALANCE = 8,
    SM_REQUEST_LIGHT = 16
};
/* The bits of enum sm_request. */
void sm_request(struct sm *s, unsigned requests);
bool sm_is_requested(const struct sm *s, unsigned any_of);
void sm_request_met(struct sm *s, unsigned requests);
void sm_request_heavy(struct sm *s); /* at once, instead of targeted sweeps that are requested */
void sm_request_sweep(struct sm *s); /* a heavy one, in the background if the fabric is known */
void sm_request_heavy_later(struct sm *s); /* within FULL_LATER_US; one for many calls */
/* A targeted sweep looks at these nodes. GUID 0 is ignored. */
void sm_request_target(struct sm *s, uint64_t node_guid);
void sm_request_targets(struct sm *s, const struct sm_guids *g);
const struct sm_guids *sm_requested_targets(const struct sm *s);
/* A port probe looks at the links of this switch, before all else. For sm_can_repair. */
void sm_request_probe(struct sm *s, uint64_t node_guid);
/* A switch that did not answer a port probe: until a sweep has ended or routes have changed, its
 * traps lead to a targeted sweep and not to another probe. */
void sm_probe_unanswered(struct sm *s, uint64_t node_guid);
/* The running port probe looks at what was requested meanwhile, too. */
void sm_probe_join(struct sm *s);
/* A trap about this node: requests what finds out, and interrupts a round that it makes futile. */
void sm_request_after_trap(struct sm *s, uint64_t node_guid, bool link_changed);
bool sm_fault_waits(const struct sm *s); /* a port probe or a targeted sweep is requested */
bool sm_trap_waits(const struct sm *s);  /* a trap came since the last round that looked at one */
/* A write to this node failed: a targeted sweep looks at it with the next retry. */
void sm_request_retry_of(struct sm *s, uint64_t node_guid);
/* Something did not succeed: a sweep later, after a delay that doubles; reset when all did. */
void sm_request_retry(struct sm *s);
void sm_request_retry_reset(struct sm *s);

/* Why the next sweep or repair is wanted; the first cause is kept. */
void sm_cause_set(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What led to the running round leads to the next one. */
void sm_cause_carry_over(struct sm *s);

/* done is called when a round ends that does this. NOMEM. DENIED: another manager is master. */
int sm_wait(struct sm *s, enum sm_round_kind kind, sm_done *done, void *ctx);
void sm_wait_forget(struct sm *s, void *ctx);
/* Callers that wait for a heavy sweep wait for the background one that begins. */
void sm_wait_for_background(struct sm *s);

/* ---- rounds (rounds.c, runner.c) --------------------------------------------------------------
 */

void sm_schedule(struct sm *s); /* begins the next round if none runs and one is requested */
/* The sweep that runs is not to be believed: a heavy one follows without a pause. */
void sm_round_widen(struct sm *s);
/* A round that can be repeated makes room for a fault, and comes again. */
void sm_round_postpone(struct sm *s);
/* Ends what runs, if anything; its callers are told. */
void sm_round_interrupt(struct sm *s);
/* A sentence for people when no new tables are written; "": all is well. */
void sm_alarm_set(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sm_alarm_clear(struct sm *s);
const char *sm_alarm(const struct sm *s);

bool sm_run_busy(const struct sm *s);
const struct sm_phase *sm_run_phase(const struct sm *s); /* NULL: no round runs */
uint32_t sm_run_outstanding(const struct sm *s); /* requests of this phase without an answer */
void sm_run_pump(struct sm *s);                  /* there may be something new to request */
void sm_run_check(struct sm *s);                 /* go on soon if the phase is finished */
/* The phase goes on without the answers that it waits for. */
void sm_run_give_up(struct sm *s);
void sm_run_abort(struct sm *s); /* drops the round; no caller is told */

/* A trap of a device (trap.c). */
void sm_on_trap(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                const uint8_t *data, size_t len);
/* Answers a MAD. data: FAB_SMP_DATA bytes, or NULL: those of the request (reply.c). */
void sm_reply(struct sm *s, const struct transport_mad *to, uint8_t method, uint16_t status,
              const uint8_t *data);

/* ---- a phase's work on a worker (phase_task.c) ------------------------------------------------
 */

struct sm_phase_work {
    void (*work)(void *ctx);               /* on a worker */
    void (*drop)(struct sm *s, void *ctx); /* the result is not wanted; s NULL: the sm is gone */
};
/* Failure (NOMEM): it was dropped. */
int sm_phase_task_begin(struct sm *s, const struct sm_phase_work *work, void *ctx);
bool sm_phase_task_over(const struct sm *s); /* for `finished`; also true when there is none */
void *sm_phase_task_take(struct sm *s);      /* its ctx, now the caller's; NULL: there is none */

#endif
