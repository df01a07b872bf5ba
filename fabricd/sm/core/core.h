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
#include "fabricd/sm/core/freeze.h"
#include "fabricd/sm/core/guids.h"
#include "fabricd/sm/core/next_round.h"
#include "fabricd/sm/core/phase.h"
#include "fabricd/sm/model/model.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/smstate/smstate.h"

/* Maximum number of events of one kind in a round, each about one object. If there would be more, a
 * summary event replaces those beyond this number, or all of them. */
#define SM_EVENTS_A_ROUND 64

/* Facts about the running round. Its first phases set them; later phases, the record of a reroute
 * and the events at the end of the round use them. */
struct sm_run {
    /* The running round; if no round runs, the round that ran last. */
    const struct sm_round *round;
    struct sm_guids suspects; /* nodes that this round sweeps or probes */
    uint64_t started_us, sent_before;
    /* Time (manager's clock) of the trap that caused the round; 0: no trap caused it. */
    uint64_t trap_us;
    /* true: this round takes over the result of a background heavy sweep, and itself reads only
     * nodes that changed while that sweep ran */
    bool from_background;
    /* true: the sweep found the same nodes and links as the previous sweep, and the nodes have the
     * same ids */
    bool same;
    bool computed; /* tables were computed in this round */
    /* The new tables come from a contingency plan, which was computed before the fault. */
    bool by_contingency;
    /* Only if this round is the refinement of a local repair that left out paths
     * (apply/reroutes.c): generation of the view that the local repair published. 0: this round
     * does something else. */
    uint64_t follows;
    /* why the round was begun, as a phrase for operators */
    char cause[96];
    /* Times (manager's clock) of three steps of this round. known_us: the changes of the fabric
     * were known. computed_us: the tables were computed. proved_us: the tables were proved. 0: the
     * round has not made this step (yet). */
    uint64_t known_us, computed_us, proved_us;
    /* Only the numbers of nodes and links that came and left in this round; the other members are
     * not set. */
    struct reroute changed;
};

/* Functions of folders of higher rank, which the core calls only through this struct.
 * wiring/wiring.c sets all members. */
struct sm_wiring {
    const struct sm_round *rounds; /* [SM_ROUND_KINDS] the kinds of round */
    /* Both functions supply the MAD session with requests that belong to no round: first_requests
     * with those that are sent before the requests of the running round, last_requests with those
     * that are sent after them. They return false if they have no request. */
    bool (*first_requests)(struct sm *s, struct fab_mads_request *ret);
    bool (*last_requests)(struct sm *s, struct fab_mads_request *ret);
    /* Returns whether a local repair can handle a link failure now. */
    bool (*repair_ready)(const struct sm *s);
    /* Returns whether this switch will soon be read by a targeted sweep that checks the result of a
     * port probe. */
    bool (*check_waits)(const struct sm *s, uint64_t node_guid);
    /* Returns whether a request of the running targeted sweep to this node is unanswered. */
    bool (*sweep_awaits)(const struct sm *s, uint64_t node_guid);
    /* Called when a switch that did not answer the running round has answered over another directed
     * route. */
    void (*switch_answered)(struct sm *s, uint64_t node_guid);
    void (*trap_came)(struct sm *s);
    /* before_choice is called before the core chooses the next round. add_facts then sets those
     * members of `facts` that only other folders know. */
    void (*before_choice)(struct sm *s);
    void (*add_facts)(const struct sm *s, struct sm_facts *facts);
    /* called when a round has ended, before the next round is chosen */
    void (*round_ended)(struct sm *s, int status);
    /* Called after round_ended; if a next round was requested, it has begun by then. */
    void (*round_over)(struct sm *s);
    void (*repair_state_made)(struct sm *s);
    /* Called when the state of a node has changed, or may have changed. */
    void (*node_touched)(struct sm *s, uint64_t node_guid);
    void (*mastership_lost)(struct sm *s);
    /* called when this manager has become master, and when it has become standby */
    void (*mastership_gained)(struct sm *s);
    void (*standby_began)(struct sm *s);
    /* Called when a frozen manager is resumed: puts the settings into use that were reloaded while
     * it was frozen. */
    void (*use_settings)(struct sm *s);
    /* Called when a host provably misbehaved, and the settings demand that its port is isolated.
     * port: the host's port in the snapshot. cause: what the host did. */
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
    struct sm_take_over *take_over;
    /* the wiring of a rehearsal; unused otherwise */
    struct sm_wiring rehearsing;
    /* why the manager can neither send nor receive at its port; "": it can do both */
    char device_alarm[160];
};

static inline bool sm_is_master(const struct sm *s)
{
    return s->role.state == FAB_SM_MASTER;
}
/* Returns whether this manager is in the state standby, or not active (for example, because it has
 * lost its port). In these states it writes nothing, and runs no rounds except those of a standby
 * manager. */
static inline bool sm_is_standby(const struct sm *s)
{
    return s->role.state == FAB_SM_STANDBY || s->role.state == FAB_SM_NOT_ACTIVE;
}
/* Returns how long the first try of a request waits for an answer, in microseconds. */
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
    return s->wiring->repair_ready(s) && !sm_freeze_bars_writes(s);
}

/* Creates the state of the core and sets the timers of light and heavy sweeps. Returns OK or
 * NOMEM. */
int sm_core_init(struct sm *s);
/* Calls the callbacks of all callers that wait for a round, even if their round has not begun. */
void sm_waiters_end(struct sm *s, int status, const char *text);
/* Drops the worker task of the running phase. Call this function before the state of the other
 * folders is freed. */
void sm_core_stop(struct sm *s);
void sm_core_fini(struct sm *s);
uint64_t sm_uptime_us(const struct sm *s);

/* ---- requests (requests.c) ------------------------------------------------------------------- */

enum sm_request {
    /* a heavy sweep; not in the background, because the snapshot may be wrong */
    SM_REQUEST_HEAVY = 1,
    SM_REQUEST_BACKGROUND = 2, /* a background heavy sweep */
    SM_REQUEST_REROUTE = 4,
    SM_REQUEST_REBALANCE = 8,
    SM_REQUEST_LIGHT = 16,
    /* a round that writes the current M_Key to ports that are known to have another M_Key */
    SM_REQUEST_KEYS = 32,
    SM_REQUEST_STANDBY = 64, /* a round that reads the fabric in standby */
    /* a light sweep that precedes heavy sweeps, so that the repair of a link that failed in the
     * instant of a take-over does not wait for a heavy sweep */
    SM_REQUEST_FIRST_LIGHT = 128,
    /* a round that writes the MasterSMLID of this manager right after a take-over, before the heavy
     * sweep */
    SM_REQUEST_MASTER_LID = 256,
    /* a round that reads in standby what the master has changed, and the same right after a
     * take-over, before all other rounds */
    SM_REQUEST_STANDBY_CHANGES = 512,
    SM_REQUEST_CATCH_UP = 1024
};
/* sm_request sets requests, sm_is_requested tests whether any of them is set, and sm_request_met
 * clears them. The arguments are bitsets of enum sm_request. If the manager is frozen, sm_request
 * passes some requests to freeze.c, which makes them when the manager is resumed. */
void sm_request(struct sm *s, unsigned requests);
bool sm_is_requested(const struct sm *s, unsigned any_of);
void sm_request_met(struct sm *s, unsigned requests);
/* Clears the requests in the bitset `requests`, and returns which of them were set. */
unsigned sm_take_requests(struct sm *s, unsigned requests);
/* Replaces all requested targeted sweeps by one heavy sweep. */
void sm_request_heavy(struct sm *s);
/* Requests a heavy sweep. It runs in the background if a view is published. */
void sm_request_sweep(struct sm *s);
/* Requests a heavy sweep that is due 2 s (HEAVY_LATER_US) after the first of several calls. */
void sm_request_heavy_later(struct sm *s);
/* Request a targeted sweep of a node or of a set of nodes. If there are more nodes than a struct
 * sm_guids can hold, a heavy sweep is requested instead. Nothing is done for GUID 0, or if a heavy
 * sweep is requested already. */
void sm_request_target(struct sm *s, uint64_t node_guid);
void sm_request_targets(struct sm *s, const struct sm_guids *g);
const struct sm_guids *sm_requested_targets(const struct sm *s);
/* Requests a port probe of this switch. A port probe precedes all other rounds, unless sweeps have
 * waited too long (next_round.c). Call this function only if sm_can_repair returns true. */
void sm_request_probe(struct sm *s, uint64_t node_guid);
/* Call this function if ports of this switch may have changed. It requests a port probe if a local
 * repair is possible and the switch has not left a probe unanswered (sm_probe_unanswered),
 * otherwise a targeted sweep. */
void sm_request_ports(struct sm *s, uint64_t node_guid);
/* Call this function with the SwitchInfo that a switch has sent. PortStateChange (IBA 14.2.5.4)
 * means that the state of a port changed: the function calls sm_request_ports, unless a targeted
 * sweep will read the switch soon anyway. A LinearFDBTop that the manager has not written means
 * that the switch was reset: the function requests a targeted sweep. */
void sm_request_if_changed(struct sm *s, uint32_t sw, const struct fab_switch_info *info);
/* Call this function when the switch did not answer a port probe. Until a sweep ends or routes
 * change, traps of this switch then cause a targeted sweep instead of another probe. */
void sm_probe_unanswered(struct sm *s, uint64_t node_guid);
/* Adds to the running port probe those switches whose probes were requested while it ran. found:
 * the running probe has already found a change; it then takes further switches only in its first 20
 * ms (JOIN_US). */
void sm_probe_join(struct sm *s, bool found);
/* Call this function after a trap about this node. link_changed: the trap says that a link changed.
 * Requests a port probe (after a change of a link) or a targeted sweep. If the running round works
 * with facts that the trap has made outdated, interrupts it. */
void sm_request_after_trap(struct sm *s, uint64_t node_guid, bool link_changed);
/* Returns true if a fault may be waiting: a port probe or a targeted sweep is requested. */
bool sm_fault_waits(const struct sm *s);
/* Returns true if a trap came that no round has handled yet. */
bool sm_trap_waits(const struct sm *s);
/* Notes that a write to this node failed, so that the targeted sweep after the next
 * sm_request_retry reads the node. */
void sm_request_retry_of(struct sm *s, uint64_t node_guid);
/* Requests another sweep after a failure, unless such a request waits already. The delay before the
 * sweep doubles with each request, up to 60 s. Call sm_request_retry_reset after a round without a
 * failure; the delay is then short again. */
void sm_request_retry(struct sm *s);
void sm_request_retry_reset(struct sm *s);
/* Notes whether writes to this node failed in the last round that wrote to it. */
void sm_refusing_set(struct sm *s, uint64_t node_guid, bool refuses);
/* Replaces the list of nodes at which writes fail by `nodes`. */
void sm_refusing_keep(struct sm *s, const struct sm_guids *nodes);
bool sm_is_refusing(const struct sm *s, uint64_t node_guid);
/* Call this function before an event about failed writes to this node. Returns false if the event
 * would be a repetition: an earlier event named the node, and writes to it have failed in each
 * round since then. */
bool sm_refusing_name(struct sm *s, uint64_t node_guid);

/* Sets the cause of the next sweep or repair, a phrase for operators. Does nothing if a cause is
 * already set. */
void sm_cause_set(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Lets the next round have the same cause and the same trap time as the running round. */
void sm_cause_carry_over(struct sm *s);

/* Lets the caller wait for the next round of this kind, or of a kind that does the same work
 * (struct sm_round.serves); `done` is called at its end. Returns OK; NOMEM; or DENIED if another
 * manager is master, or if the manager is frozen and does not run such a round. */
int sm_wait(struct sm *s, enum sm_round_kind kind, sm_done *done, void *ctx);
/* Returns what sm_wait would return if there is memory. */
int sm_wait_check(const struct sm *s, enum sm_round_kind kind);
void sm_wait_forget(struct sm *s, void *ctx);
/* Call this function when a background heavy sweep begins. All callers that wait for a heavy sweep
 * then wait for the end of this one. */
void sm_wait_for_background(struct sm *s);

/* ---- rounds (rounds.c, runner.c) ------------------------------------------------------------- */

/* Begins the next round if none runs and one is requested. */
void sm_schedule(struct sm *s);
/* Starts the running targeted sweep again from its beginning, if its phase allows this (struct
 * sm_phase.restarts) and if it was not restarted too often. */
void sm_round_repeat(struct sm *s);
/* Call this function if the running targeted sweep could not read a node that it had to read. A
 * heavy sweep then follows without a pause. */
void sm_round_widen(struct sm *s);
/* Aborts the running round because of a fault, and requests the round again. Does nothing if the
 * running phase must not be interrupted, if port probes must wait (pace.c), if a requested sweep
 * has waited too long (next_round.c), or if faults have postponed too many rounds. */
void sm_round_postpone(struct sm *s);
/* Call this function if links failed and no local repair was possible. Targeted sweeps then need
 * not wait any more (sm_targets_wait). */
void sm_pace_urgent(struct sm *s);
/* Returns true if targeted sweeps must wait for a while, because they have changed the tables
 * several times within seconds (pace.c). While they wait, local repairs still route around failed
 * links, but do not bring back links that returned. */
bool sm_targets_wait(const struct sm *s);
/* Returns true if the tables changed several times within the last seconds. The caller then emits
 * one summary event instead of events about single changes. */
bool sm_pace_many(const struct sm *s);
/* sm_alarm_set sets the alarm, a sentence that tells operators why there are no new tables, or what
 * is wrong with the tables in the switches. sm_alarm returns the alarm; "": there is none. */
void sm_alarm_set(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sm_alarm_clear(struct sm *s);
const char *sm_alarm(const struct sm *s);

bool sm_run_busy(const struct sm *s);
/* Returns the running phase; NULL: no round runs. */
const struct sm_phase *sm_run_phase(const struct sm *s);
/* Returns the number of unanswered requests of the running phase. */
uint32_t sm_run_outstanding(const struct sm *s);
/* Lets the MAD session send as many requests as its window allows. Call this function when there
 * may be new requests. */
void sm_run_pump(struct sm *s);
/* If the running phase is finished, enters the next phase, in the next iteration of the event
 * loop. */
void sm_run_check(struct sm *s);
/* Cancels the unanswered requests of the running phase. The phase continues without their
 * answers. */
void sm_run_give_up(struct sm *s);
/* Does the same as sm_run_give_up, but cancels only the requests for which matches() returns
 * true. */
void sm_run_give_up_if(struct sm *s, fab_mads_match *matches, void *arg);
/* Adds cpu_ns to the sum of CPU time that the metrics show for the worker task of the running
 * phase. */
void sm_phase_time_worker(struct sm *s, uint64_t cpu_ns);
/* Drops the running round. Callers that wait for it continue to wait. */
void sm_run_abort(struct sm *s);

/* Targeted sweeps run before a requested change of M_Keys. Returns true if so many of them
 * (BEFORE_KEYS_MOST, rounds.c) have run since the request that the change must run next. */
bool sm_keys_overdue(const struct sm *s);

/* Handles a trap from a device (trap.c). */
void sm_on_trap(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                const uint8_t *data, size_t len);
struct sm_trap_counts sm_trap_counts(const struct sm *s);
/* Sends the reply to a received MAD (reply.c). data: the FAB_SMP_DATA bytes of the attribute; NULL:
 * the reply repeats the data of the request. */
void sm_reply(struct sm *s, const struct transport_mad *to, uint8_t method, uint16_t status,
              const uint8_t *data);

/* ---- M_Keys of requests (m_key.c) ------------------------------------------------------------ */

/* sm_m_key_wanted returns the M_Key that the port must have by the present policy (the current
 * key). sm_m_key_former returns the M_Key that the port had to have by the policy before the last
 * change of keys (the previous key; 0: none). All ports of a switch have the M_Key of its port 0.
 * port: id in the snapshot; FAB_NONE: the port is not in the snapshot. */
uint64_t sm_m_key_wanted(const struct sm *s, uint32_t port);
uint64_t sm_m_key_former(const struct sm *s, uint32_t port);
/* Returns the M_Key that the file subnet.m_key_file lists for this port of the snapshot, or for
 * port 0 of its switch; 0: none. */
uint64_t sm_m_key_listed(const struct sm *s, uint32_t port);
/* Returns the M_Key that a request to this port of the snapshot must carry: the M_Key that was read
 * from the port or, if none was read, the M_Key that the port must have (sm_m_key_wanted). For a
 * port of a switch, both are those of port 0. */
uint64_t sm_m_key_of_port(const struct sm *s, uint32_t port);
/* Returns the id in the snapshot of the port that owns this LID in the published view; FAB_NONE: no
 * port does. */
uint32_t sm_m_key_port_of_lid(const struct sm *s, uint16_t lid);
/* Returns true if a received packet with this M_Key was sent by somebody who knows the operator's
 * keys: it carries the M_Key of this manager's port (IBA 14.2.5.13) or, during a rotation, the
 * previous M_Key of this port. */
bool sm_m_key_proves(const struct sm *s, uint64_t key);
/* Sets the M_Key of an SMP to the key of the port at which the SMP ends. This port follows from
 * the directed route of the SMP or, if the SMP has none, from its destination LID. If the port
 * is not known, the SMP gets the current key; but if a device has answered only to the previous
 * key on this directed route before, the SMP gets the previous key. */
void sm_m_key_fill(const struct sm *s, struct fab_mads_request *req);
/* Sets the M_Keys of a discovery's SMP. guid: the node GUID that the device claims; 0: not known.
 * If there is no answer, the SMP is sent again. The first tries carry the M_Key that the device is
 * known to have or, if none is known, the current key. If this is the current key, the last tries
 * carry the previous and the listed key, if there are such keys: a device of protection level 2 or
 * 3 does not answer a wrong key. */
void sm_m_key_fill_discovery(const struct sm *s, uint64_t guid, struct fab_mads_request *req);
/* Call this function with each answer to an SMP of a discovery. If the device has answered only to
 * the previous or the listed key, notes this for its directed route. */
void sm_m_key_answered(struct sm *s, const struct fab_mads_answer *a);
/* Call this function when the snapshot or an M_Key in the snapshot has changed. It finds out again
 * whether ports may need different M_Keys (sm_m_keys_are_mixed), and forgets what sm_m_key_answered
 * noted for directed routes. */
void sm_m_key_recount(struct sm *s);
/* Returns true if ports may need different M_Keys. Reasons: subnet.m_key is "derived", or was
 * before the last change, or the M_Key of a port is known to differ from the one that the port must
 * have. */
bool sm_m_keys_are_mixed(const struct sm *s);
/* Returns the M_Keys that the policy had before the last change. Some ports may still have them. */
const struct fab_m_keys *sm_m_key_previous(const struct sm *s);
void sm_m_key_set_previous(struct sm *s, const struct fab_m_keys *keys, bool rotating);
void sm_m_key_set_rotating(struct sm *s, bool rotating);
/* Returns whether the port has its own M_Key. Ports of adapters and routers and port 0 of a switch
 * have one; the other ports of a switch share that of port 0. */
bool sm_m_key_has_own(const struct fab_fabric *f, uint32_t port);
/* Returns a bound for port numbers: only ports of the node with lower numbers can have their own
 * M_Key and LID. It is 1 for a switch, because all its ports share the M_Key and the LID of port 0.
 * (Adapters and routers have no port 0.) */
static inline uint32_t sm_own_ports(const struct fab_fabric *f, uint32_t node)
{
    return fab_fabric_node_is_switch(f, node) ? 1 : f->nodes[node].num_ports + UINT32_C(1);
}
/* Returns whether the answer with this PortInfo may have hidden the M_Key. At protection level 1 or
 * higher, a port shows its M_Key only to requests that carry it. */
static inline bool sm_m_key_is_hidden(const struct fab_port_info *info)
{
    return info->m_key == 0 && info->m_key_protect > 0;
}

/* ---- a phase's work on a worker (phase_task.c) ----------------------------------------------- */

struct sm_phase_work {
    void (*work)(void *ctx); /* runs on a worker thread */
    /* Called instead of `leave` if the result of the task is not needed any more; must free ctx. s
     * is NULL if struct sm is being freed. */
    void (*drop)(struct sm *s, void *ctx);
};
/* Starts the worker task of the running phase. Returns OK, or NOMEM after it has called drop(). */
int sm_phase_task_begin(struct sm *s, const struct sm_phase_work *work, void *ctx);
/* Returns true if the worker task of the phase has ended, or if the phase has started none. Phases
 * that have a task use this function as their `finished`. */
bool sm_phase_task_over(const struct sm *s);
/* Returns the ctx of the ended worker task, which the caller then owns; NULL: no task was
 * started. */
void *sm_phase_task_take(struct sm *s);

#endif
