/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of the core of the subnet manager, for the other folders of fabricd/sm.
 *
 * The core handles traps (trap.c), keeps requests for rounds (requests.c), chooses the next round
 * (next_round.c), begins and ends rounds (rounds.c), and runs their phases (runner.c).
 *
 * All folders share `struct sm`. The state of a folder is behind an opaque pointer, which is
 * defined in the folder's own state.h. A folder calls only folders of lower rank; tests/calls.sh
 * checks this. The core calls folders of higher rank only through struct sm_wiring.
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

/* Maximum number of single events of one kind in a round. One summary event reports the rest. */
#define SM_EVENTS_A_ROUND 64

/* Facts about the running round. The phases set them for later phases and for the report at the end
 * of the round. */
struct sm_run {
    const struct sm_round *round; /* the running round; if none runs, the last one */
    struct sm_guids suspects;     /* nodes that this round sweeps or probes */
    uint64_t started_us, sent_before;
    /* Time at which the trap came that caused the round; 0: no trap caused it. */
    uint64_t trap_us;
    bool from_background; /* the round adopts the result of a background heavy sweep */
    bool same;            /* the sweep found the same node ids and links as the previous sweep */
    bool computed;        /* tables were computed in this round */
    bool by_contingency;  /* the tables were computed as a contingency, before the fault */
    uint64_t follows;     /* generation of the reroute that this one refines, or 0 */
    char cause[96];       /* why the round runs: a phrase for operators */
    /* manager's clock when the round had discovered the fabric, computed the tables and proved
     * them; 0: not yet, or not in this round */
    uint64_t known_us, computed_us, proved_us;
    /* Only the nodes and links lost and gained in this round are set. */
    struct reroute changed;
};

/* Functions of higher folders that the core calls. wiring/wiring.c sets all of them. */
struct sm_wiring {
    const struct sm_round *rounds; /* [SM_ROUND_KINDS] the kinds of round */
    /* first_requests supplies a request to be sent before those of the round; last_requests
     * supplies a request to be sent after them. Both return false if there is no such request. */
    bool (*first_requests)(struct sm *s, struct fab_mads_request *ret);
    bool (*last_requests)(struct sm *s, struct fab_mads_request *ret);
    /* Returns whether a local repair would handle a link failure now. */
    bool (*repair_ready)(const struct sm *s);
    /* Returns whether a targeted sweep will soon read this switch, to check a port probe. */
    bool (*check_waits)(const struct sm *s, uint64_t node_guid);
    void (*trap_came)(struct sm *s);
    /* The core calls before_choice before it chooses the next round. add_facts sets the facts for
     * the choice that the core does not know. */
    void (*before_choice)(struct sm *s);
    void (*add_facts)(const struct sm *s, struct sm_facts *facts);
    void (*round_ended)(struct sm *s, int status); /* called before the next round is chosen */
    /* Called after the next round was chosen, and perhaps begun. */
    void (*round_over)(struct sm *s);
    void (*repair_state_made)(struct sm *s);
    /* The core calls node_touched if the state of a node changed or is uncertain. */
    void (*node_touched)(struct sm *s, uint64_t node_guid);
    void (*mastership_lost)(struct sm *s);
    /* The core calls offender_found if the host at this port of the snapshot provably did what
     * `cause` says, and the settings demand that such a host be isolated. */
    void (*offender_found)(struct sm *s, uint32_t port, const char *cause);
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
    struct sm_scrub *scrub;
    struct sm_keys *keys;
    struct sm_fault *fault;
};

static inline bool sm_is_master(const struct sm *s)
{
    return s->role.state == FAB_SM_MASTER;
}
/* Returns the timeout of the first try of a request, in microseconds. */
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

/* Creates the state of the core and sets the timers of light and heavy sweeps. Returns NOMEM. */
int sm_core_init(struct sm *s);
/* Drops the worker task of the running phase. Call this function before the other folders are
 * freed. */
void sm_core_stop(struct sm *s);
void sm_core_fini(struct sm *s);
uint64_t sm_uptime_us(const struct sm *s);

/* ---- requests (requests.c) ------------------------------------------------------------------- */

enum sm_request {
    SM_REQUEST_HEAVY = 1,      /* a heavy sweep without delay, because the snapshot may be wrong */
    SM_REQUEST_BACKGROUND = 2, /* a background heavy sweep */
    SM_REQUEST_REROUTE = 4,
    SM_REQUEST_REBALANCE = 8,
    SM_REQUEST_LIGHT = 16,
    SM_REQUEST_KEYS = 32 /* a round that replaces known M_Keys other than the current one */
};
/* These functions set, test and clear requests, which are bits of enum sm_request. */
void sm_request(struct sm *s, unsigned requests);
bool sm_is_requested(const struct sm *s, unsigned any_of);
void sm_request_met(struct sm *s, unsigned requests);
void sm_request_heavy(struct sm *s); /* requests a heavy sweep instead of targeted sweeps */
/* Requests a heavy sweep, in the background if a view is published. */
void sm_request_sweep(struct sm *s);
/* Requests a heavy sweep that begins within HEAVY_LATER_US (2 s). Further calls within this time
 * cause no further sweep. */
void sm_request_heavy_later(struct sm *s);
/* Requests a targeted sweep of these nodes. GUID 0 is ignored. */
void sm_request_target(struct sm *s, uint64_t node_guid);
void sm_request_targets(struct sm *s, const struct sm_guids *g);
const struct sm_guids *sm_requested_targets(const struct sm *s);
/* Requests a port probe of this switch. A port probe runs before all other rounds. Call this
 * function only if sm_can_repair returns true. */
void sm_request_probe(struct sm *s, uint64_t node_guid);
/* Call this function if ports of this switch may have changed. Requests a port probe if a local
 * repair is possible, otherwise a targeted sweep. */
void sm_request_ports(struct sm *s, uint64_t node_guid);
/* Call this function with the SwitchInfo that a switch sent. If the switch reports that the state
 * of a port changed (PortStateChange, IBA 14.2.5.4), the function does the same as
 * sm_request_ports, unless a targeted sweep will read the switch soon. If the LinearFDBTop is not
 * the one that the manager wrote, the switch was reset, and the function requests a targeted sweep.
 */
void sm_request_if_changed(struct sm *s, uint32_t sw, const struct fab_switch_info *info);
/* Notes a switch that did not answer a port probe. Until a sweep has ended or routes have changed,
 * its traps lead to a targeted sweep instead of another probe. */
void sm_probe_unanswered(struct sm *s, uint64_t node_guid);
/* Adds to the running port probe those switches for which a probe was requested shortly after the
 * running one began. */
void sm_probe_join(struct sm *s);
/* Call this function after a trap about this node. The function requests a port probe or a targeted
 * sweep. If the trap makes the running round useless, it also interrupts this round. */
void sm_request_after_trap(struct sm *s, uint64_t node_guid, bool link_changed);
/* Returns true if a port probe or a targeted sweep is requested. */
bool sm_fault_waits(const struct sm *s);
/* Returns true if a trap came that no round has handled yet. */
bool sm_trap_waits(const struct sm *s);
/* Notes that a write to this node failed. The next retry includes the node in a targeted sweep. */
void sm_request_retry_of(struct sm *s, uint64_t node_guid);
/* Requests another sweep after a failure. The delay doubles with each call; sm_request_retry_reset,
 * called after a round succeeded, restores the first delay. */
void sm_request_retry(struct sm *s);
void sm_request_retry_reset(struct sm *s);
/* Notes whether the last round that wrote to this node failed there. */
void sm_refusing_set(struct sm *s, uint64_t node_guid, bool refuses);
void sm_refusing_keep(struct sm *s, const struct sm_guids *nodes); /* forgets all other nodes */
bool sm_is_refusing(const struct sm *s, uint64_t node_guid);
/* Notes that an event names this node because of a failed write. Returns false if an event named it
 * before, and no round has since written to the node without a failure. */
bool sm_refusing_name(struct sm *s, uint64_t node_guid);

/* Sets the cause of the next sweep or repair. If a cause is already set, that cause is kept. */
void sm_cause_set(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Gives the next round the cause and the trap time of the running round. */
void sm_cause_carry_over(struct sm *s);

/* Calls `done` at the end of the next round of this kind, or of another kind that includes its work
 * (struct sm_round.serves). Returns NOMEM, or DENIED if another manager is master. */
int sm_wait(struct sm *s, enum sm_round_kind kind, sm_done *done, void *ctx);
void sm_wait_forget(struct sm *s, void *ctx);
/* Call this function when a background heavy sweep begins. Callers that wait for a heavy sweep then
 * wait for the background heavy sweep. */
void sm_wait_for_background(struct sm *s);

/* ---- rounds (rounds.c, runner.c) ------------------------------------------------------------- */

void sm_schedule(struct sm *s); /* begins the next round if none runs and one is requested */
/* Starts a targeted sweep again that is waiting for answers. */
void sm_round_repeat(struct sm *s);
/* Requests a heavy sweep that begins immediately after the running targeted sweep, because the
 * result of the targeted sweep is uncertain. */
void sm_round_widen(struct sm *s);
/* Aborts the running round because of a fault, and requests the round again. Does nothing if the
 * round cannot be repeated. */
void sm_round_postpone(struct sm *s);
/* Call this function if links failed and no local repair was possible: the next targeted sweep does
 * not wait until traps cease. */
void sm_pace_urgent(struct sm *s);
/* Returns whether so many changes followed each other that targeted sweeps wait, and that only
 * failed links are repaired at once. */
bool sm_targets_wait(const struct sm *s);
/* Returns whether several changes of the tables followed each other, so that events should
 * summarize. */
bool sm_pace_many(const struct sm *s);
/* The alarm is a sentence that tells operators why no new tables are written; "" means that there
 * is none. */
void sm_alarm_set(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sm_alarm_clear(struct sm *s);
const char *sm_alarm(const struct sm *s);

bool sm_run_busy(const struct sm *s);
/* Returns the running phase; NULL: no round runs. */
const struct sm_phase *sm_run_phase(const struct sm *s);
/* Returns the number of requests that the running phase has sent and that are not answered yet. */
uint32_t sm_run_outstanding(const struct sm *s);
/* Sends requests; call this function when new requests may exist. */
void sm_run_pump(struct sm *s);
/* Enters the next phase in the next loop iteration if the running phase is finished. */
void sm_run_check(struct sm *s);
/* Cancels the unanswered requests of the running phase. The phase continues without their
 * answers. */
void sm_run_give_up(struct sm *s);
/* Adds to the CPU time of the running phase's worker task, for the metrics. */
void sm_phase_time_worker(struct sm *s, uint64_t cpu_ns);
void sm_run_abort(struct sm *s); /* drops the running round; waiting callers are not called */

/* Returns whether many targeted sweeps have delayed a change of M_Keys (rounds.c). */
bool sm_keys_overdue(const struct sm *s);

/* Handles a trap from a device (trap.c). */
void sm_on_trap(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                const uint8_t *data, size_t len);
struct sm_trap_counts sm_trap_counts(const struct sm *s);
/* Answers a received MAD. `data` has FAB_SMP_DATA bytes; NULL: the answer repeats the data of the
 * request (reply.c). */
void sm_reply(struct sm *s, const struct transport_mad *to, uint8_t method, uint16_t status,
              const uint8_t *data);

/* ---- M_Keys of requests (m_key.c) ------------------------------------------------------------ */

/* sm_m_key_wanted returns the M_Key that a port of the snapshot must have. sm_m_key_former returns
 * the port's previous M_Key; 0: none. Ports of a switch have the keys of its port 0. If the
 * snapshot does not contain the port, `port` is FAB_NONE. */
uint64_t sm_m_key_wanted(const struct sm *s, uint32_t port);
uint64_t sm_m_key_former(const struct sm *s, uint32_t port);
/* Returns the M_Key that subnet.m_key_file lists for a port of the snapshot, or for port 0 of its
 * switch; 0: none. */
uint64_t sm_m_key_listed(const struct sm *s, uint32_t port);
/* Returns the M_Key for requests to a port of the snapshot: the key that was read from the port, or
 * from port 0 of its switch. If that key is not known, returns sm_m_key_wanted. */
uint64_t sm_m_key_of_port(const struct sm *s, uint32_t port);
/* Returns the id in the snapshot of the port that owns the LID in the published view, or
 * FAB_NONE. */
uint32_t sm_m_key_port_of_lid(const struct sm *s, uint16_t lid);
/* Returns whether a packet with this M_Key proves that its sender knows the operator's keys. The
 * M_Key must be that of the manager's own port (IBA 14.2.5.13). */
bool sm_m_key_proves(const struct sm *s, uint64_t key);
/* Sets the M_Key of an SMP. The directed route of the SMP, or else its destination LID, determines
 * the port whose key is used. */
void sm_m_key_fill(const struct sm *s, struct fab_mads_request *req);
/* Sets the M_Keys of an SMP of a discovery. guid: the node GUID that the device claims; 0: not
 * known. The first tries use the key that sm_m_key_fill chooses. The last tries use the previous
 * key and the listed key, because a device of protection level 2 or 3 does not answer a wrong key.
 */
void sm_m_key_fill_discovery(const struct sm *s, uint64_t guid, struct fab_mads_request *req);
/* Call this function with each answer to a discovery's request. It notes the routes on which only
 * the previous or the listed key was answered. */
void sm_m_key_answered(struct sm *s, const struct fab_mads_answer *a);
/* Call this function when the snapshot, or an M_Key in it, changed. */
void sm_m_key_recount(struct sm *s);
/* Returns whether some port may have an M_Key other than the manager's. False: no port has. */
bool sm_m_keys_are_mixed(const struct sm *s);
/* Returns the M_Keys that the policy had before the last change. Some ports may still have them. */
const struct fab_m_keys *sm_m_key_previous(const struct sm *s);
void sm_m_key_set_previous(struct sm *s, const struct fab_m_keys *keys);
/* Returns whether the port has its own M_Key: port 0 of a switch, or a port of an adapter or
 * router. */
bool sm_m_key_has_own(const struct fab_fabric *f, uint32_t port);
/* Returns the number of ports of a node that have their own M_Key and their own LID, counted from
 * port 0: one for a switch. Searches for such ports need not read the other ports of switches. */
static inline uint32_t sm_own_ports(const struct fab_fabric *f, uint32_t node)
{
    return fab_fabric_node_is_switch(f, node) ? 1 : f->nodes[node].num_ports + UINT32_C(1);
}
/* Returns whether the port has an M_Key that is not known, because PortInfo was read with another
 * key. */
static inline bool sm_m_key_is_hidden(const struct fab_port_info *info)
{
    return info->m_key == 0 && info->m_key_protect > 0;
}

/* ---- a phase's work on a worker (phase_task.c) ----------------------------------------------- */

struct sm_phase_work {
    void (*work)(void *ctx); /* runs on a worker thread */
    /* Frees a result that is no longer needed; s is NULL if sm_free is the caller. */
    void (*drop)(struct sm *s, void *ctx);
};
/* Starts the worker task. On NOMEM, drop() was called. */
int sm_phase_task_begin(struct sm *s, const struct sm_phase_work *work, void *ctx);
/* Returns whether the worker task has ended or none was started. Phases use this function as
 * `finished`. */
bool sm_phase_task_over(const struct sm *s);
/* Returns the ctx of the worker task; the caller then owns it. NULL: no task was started. */
void *sm_phase_task_take(struct sm *s);

#endif
