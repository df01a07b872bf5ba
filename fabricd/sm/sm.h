/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet manager (IBA 14). It discovers the fabric, assigns LIDs, computes and proves tables,
 * writes them to the switches, and publishes a view of fabric and tables. These are the steps:
 *
 * discover -> model -> compute -> verify -> plan -> program -> publish
 *
 * This is the only header of fabricd/sm that code outside of this folder includes. All functions
 * must be called on the loop thread, unless their comment says otherwise.
 */
#ifndef FABRICD_SM_SM_H
#define FABRICD_SM_SM_H

#include <stdbool.h>
#include <stdint.h>

#include "fabricd/agent/agent.h"
#include "fabricd/base/bus.h"
#include "fabricd/base/reroute.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/replica/replica.h"
#include "fabricd/store/store.h"
#include "fabricd/transport/transport.h"
#include "libfabmgr/health/damping.h"
#include "libfabmgr/health/drain.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/verify/multicast.h"
#include "libfabmgr/view/view.h"

struct sm;
/* The result of a rehearsal: what this manager would write in its first sweep, if it were
 * master. */
struct sm_rehearsal {
    int status;        /* result of the round */
    const char *alarm; /* why there are no new tables; "": there are new tables */
    /* the fabric as it was read; NULL: the sweep failed */
    const struct fab_fabric *fabric;
    const struct fab_observed *observed; /* the tables as they were read */
    /* the new LIDs and tables (target), their proof (verdict), and the writes (plan). If there are
     * no new tables, target and plan are NULL, and the verdict has no meaning */
    const struct fab_target *target;
    const struct fab_verdict *verdict;
    const struct fab_plan *plan;
};
struct sm_input {
    struct loop *loop;
    struct transport *transport;
    struct bus *bus;
    struct store *store;         /* the database; NULL: nothing is stored */
    const struct config *config; /* the configuration, which must outlive the sm */
    /* what the managers of the fabric share with each other; NULL: this manager shares nothing */
    struct replica *replica;
    /* Called when this manager has loaded decisions that another manager had changed in the store.
     * Other folders, such as fabricd/sa, then load their own data again. May be NULL. */
    void (*loaded)(void *ctx);
    void *loaded_ctx;
    /* The folder of the file m_key (fabricd/store/m_key.h). NULL: keys are kept in memory only. */
    const char *keys_dir;
    /* True while a recording is made or replayed. A replay has no worker thread, so computations on
     * which later requests depend run on the loop thread. The scrub is off, because its requests
     * follow the real time. */
    bool recorded;
    /* If this function is set, this is a rehearsal: the manager reads the fabric once, calls the
     * function with the result, and does nothing more. It takes no part in the election. The result
     * is valid only during the call. The transport should pass only Gets
     * (transport_readonly_open). */
    void (*rehearsed)(void *ctx, const struct sm_rehearsal *r);
    void *rehearsed_ctx;
};
/* Creates the subnet manager. Returns OK; NOMEM; IO if the store or the key file cannot be read;
 * DENIED if other users can read the key file; or FORMAT if the store or the key file is
 * damaged. */
int sm_new(const struct sm_input *in, struct sm **ret);
void sm_start(struct sm *s); /* sets IsSM at the manager's port, and begins the first sweep */
/* Call this function when the device of the transport is gone. The manager ends its round. Until
 * sm_device_back is called, it refuses requests, does not sweep, and does not answer MADs. Readers
 * can still use the published view. reason: a phrase for operators. */
void sm_device_lost(struct sm *s, const char *reason);
/* Call this function when the device is open again. Switches may have been restarted meanwhile, so
 * the manager elects, sweeps and reads all tables as after a start. */
void sm_device_back(struct sm *s);
void sm_free(struct sm *s);
/* Call this function when the configuration has a new policy. The manager then uses the new policy,
 * and computes new tables. In mode SM_REPAIRS_ONLY, it uses only the new priority; everything else
 * waits until the manager is resumed. Returns OK or NOMEM; after NOMEM the old policy stays in
 * use. */
int sm_reload(struct sm *s);

#define SM_REROUTE_BOUNDS 14
/* Durations of reroutes are counted in classes. These are the upper bounds of the classes, in us,
 * ascending. */
extern const uint32_t sm_reroute_bounds_us[SM_REROUTE_BOUNDS];
/* Durations of the reroutes since the start that wrote LFT blocks; rebalances and refinements
 * (apply/reroutes.c) do not count. */
struct sm_reroute_times {
    uint64_t count, sum_us;
    /* within[i]: number of reroutes whose duration was more than bound i - 1 and at most bound i
     * of sm_reroute_bounds_us. Reroutes that took longer than the last bound are only in `count`
     * and `sum_us` */
    uint64_t within[SM_REROUTE_BOUNDS];
};
/* How long one phase of one kind of round took, in all such rounds since the start. */
struct sm_phase_time {
    const char *round, *phase;
    uint64_t count;               /* number of times that the phase ended */
    uint64_t wall_us, longest_us; /* sum and maximum of the phase's durations in us */
    /* Sums of CPU time in ns. loop_ns: CPU time of the loop thread while the phase ran, with all
     * work that did not belong to the phase. worker_ns: CPU time of the phase's worker tasks. */
    uint64_t loop_ns, worker_ns;
};
enum sm_key { SM_KEY_M, SM_KEY_P, SM_KEY_Q, SM_KEYS }; /* the kinds of keys: M_Key, P_Key, Q_Key */
/* Numbers of traps since the start. Only traps that arrived while this manager was master count. */
struct sm_trap_counts {
    uint64_t received;
    /* Traps beyond the rate limit of their source. The manager only answered them with TrapRepress,
     * and may have read the device later. */
    uint64_t repressed;
    /* traps that were refused, because their sender cannot have issued the notice
     * (core/trap_check.c) */
    uint64_t refused;
    /* notices that were not forwarded to subnet administration: a read of the device did not
     * confirm them, too many were waiting for a read, or this manager was no longer master */
    uint64_t unconfirmed;
    uint64_t sweeps; /* heavy sweeps because of traps from unknown LIDs */
    /* Numbers of packets with a wrong key that devices have counted, indexed by enum sm_key. */
    uint64_t violations[SM_KEYS];
    /* traps 256 to 259 (wrong key) that were not confirmed: the violation counter of the device had
     * not risen */
    uint64_t violations_unconfirmed;
};
/* A proof of all tables, which looks only at the tables and does not rely on earlier proofs. */
struct sm_whole_proof {
    /* generation of the first view that had these tables; 0: there was no proof yet */
    uint64_t generation;
    /* Unix time in microseconds at which the proof ended. */
    int64_t time_us;
    /* Duration of the proof; for a background proof, its pauses are included. */
    uint64_t duration_us;
    /* true: the proof was made in the background, after local repairs; false: as a part of a
     * round */
    bool background;
};
struct sm_proof {
    struct sm_whole_proof last; /* the last proof that found no failure */
    /* A background proof is due: local repairs have changed the tables since the proof `last`, and
     * each repair has proved only its own changes. */
    bool due;
    /* proofs: number of background proofs since the start. failures: number of those that
     * failed. */
    uint64_t proofs, failures;
    uint64_t cpu_us; /* processor time of the background proofs */
};
struct sm_status {
    uint8_t role; /* enum fab_sm_state */
    /* the running phase or, if no phase runs, what the manager does: "idle", "standby", ... */
    const char *state;
    /* Generation of the view that is shown to operators (sm_view_to_show); 0: there is none yet. */
    uint64_t generation;
    uint64_t sweeps; /* heavy sweeps since the start */
    /* Durations of the last sweep and of the last reroute in microseconds; 0: there was none
     * yet. */
    uint64_t last_sweep_us, last_reroute_us;
    uint64_t smps_sent, smps_retried, smps_timed_out;
    /* Number of responses with a known transaction ID whose sender or attribute does not match the
     * request. Either they are forged, or a device is faulty. */
    uint64_t smps_mismatched;
    uint32_t window, in_flight;
    /* Number of unresponsive ports and of silent switches. Devices that are not approved do not
     * count. */
    uint32_t unresponsive;
    uint32_t master_lid;
    uint64_t master_guid;
    /* what is wrong with the multicast trees, as a text; "": nothing */
    char multicast_alarm[1280];
    /* Why there are no new tables, or what is wrong with the tables in the switches; "": no
     * alarm. */
    char alarm[1280];
    /* Why the manager can neither send nor receive at its port; "": it can. */
    char device_alarm[160];
    /* the mode in which the manager is frozen, and who froze it; "": it is not frozen */
    char frozen[160];
    uint64_t uptime_us;
    /* outdated: this manager is in standby, and sm_view_to_show returns a view of what it last
     * read. view_age_us: time in us since this reading of the fabric began. */
    bool outdated;
    uint64_t view_age_us;
    uint32_t links_held;               /* number of links held down */
    uint32_t links_isolated;           /* number of isolated links */
    uint64_t links_lost, links_gained; /* links lost and gained since the start */
    struct sm_reroute_times reroutes;
    /* true: a local repair can handle a link failure now */
    bool ready;
    /* Number of active LFT entries that local repairs changed since an engine last computed the
     * tables. */
    uint64_t repaired;
    /* true: a rebalance will start after the quiet time */
    bool rebalance_due;
    /* time in us until the rebalance starts, if the fabric does not change before */
    uint64_t rebalance_in_us;
    /* the progress or the result of the polish (apply/polish.c), as a sentence; "": there is
     * nothing to report. Valid until the caller returns to the event loop. */
    const char *polish;
    struct sm_trap_counts traps;
    /* About the scrub, which reads back what the manager wrote. scrub_turns: number of complete
     * turns. scrub_reads: number of attributes that the last turn has read. settings_changed:
     * number of attributes that were found changed. settings_not_restored: number of nodes whose
     * changed settings are not restored yet. */
    uint64_t scrub_turns, scrub_reads, settings_changed;
    uint32_t settings_not_restored;
    /* Number of devices and links that are not approved at their place. */
    uint32_t unapproved;
    uint32_t waiting_names; /* nodes whose names wait for an approval */
    struct sm_proof proof;  /* the last proof of all tables */
};
void sm_get_status(const struct sm *s, struct sm_status *ret);
#define SM_PHASE_TIMES_MAX 336
/* Writes the times of each phase that has ended at least once to ret[]. Returns the number of these
 * phases. */
uint32_t sm_phase_times(const struct sm *s, struct sm_phase_time ret[SM_PHASE_TIMES_MAX]);
/* Returns the numbers of nodes, ports and links in the view that is shown to operators
 * (sm_view_to_show); all 0: there is no view. They are counted at most once for each view. */
struct fab_census sm_census(struct sm *s);
/* Returns a reference to the published view. The caller owns the reference. NULL: no view is
 * published yet. */
struct fab_view *sm_view(const struct sm *s);
/* Returns a reference to the view that is shown to operators: in standby, the view of what this
 * manager last read (sm_status.view_age_us); otherwise the published view. The caller owns the
 * reference. NULL: there is no view yet. */
struct fab_view *sm_view_to_show(const struct sm *s);
/* Sets the function that is called before a local repair or a step of the incremental rebalance
 * changes the tables; there is only one such function. fn() should release its reference to the
 * view: if nobody else holds a view, the tables are changed in place; otherwise the manager must
 * make a new version of them. fn NULL: no function is called. */
void sm_on_patch(struct sm *s, void (*fn)(void *ctx), void *ctx);
/* Sets the function that is called after a sweep, a reroute or a rebalance has published a view;
 * there is only one such function. fn() must return quickly and do its work later. It is not called
 * after local repairs: the writes of a repair must not wait for it, and a repair adds and removes
 * no endports. Nor is it called when a new master publishes the tables that it read in standby; a
 * heavy sweep follows then. fn NULL: no function is called. */
void sm_on_publish(struct sm *s, void (*fn)(void *ctx), void *ctx);
typedef void sm_notice(void *ctx, const struct fab_notice *notice);
typedef bool sm_notice_wanted(void *ctx);
/* Sets the function `fn` that gets the notices of devices (IBA 13.4.8.2) while this manager is
 * master; there is only one such function. The manager drops a notice if its sender cannot have
 * issued it (core/trap_check.c), or if wanted() returns false. It then reads PortInfo of the device
 * to confirm the LID of the sender, and calls fn(). fn NULL: no function is called. */
void sm_on_notice(struct sm *s, sm_notice_wanted *wanted, sm_notice *fn, void *ctx);

/* Writes the last SMInfo (IBA 14.2.5.13) of each other trusted manager to ret[], at most `max`.
 * Returns the number of these managers, even if it is higher than `max`. Managers that were not
 * active at the last election, and a master that stopped answering, do not count. */
uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max);
/* Returns true if this manager may use a new key, because there are no other managers, or because
 * all of them would get the key by the replication (fabricd/replica). The other managers are those
 * that this manager sees, and those in subnet.managers. shared: this manager shares the key. */
bool sm_others_share_keys(const struct sm *s, bool shared);

/* Writes a block of a port's GUIDInfo (IBA 14.2.5.5). `done` is called as libfabmgr/mads/mads.h
 * says, unless sm_guids_cancel was called before. Returns NOMEM, LIMIT, or BUSY while M_Keys are
 * being changed or the manager is frozen. */
int sm_guids_write(struct sm *s, uint16_t lid, uint32_t block, const struct fab_guid_block *guids,
                   fab_mads_done *done, void *ctx, uint64_t tag);
void sm_guids_cancel(struct sm *s, void *ctx);
/* Returns OK if the manager knows a device with this GUID: the device is or was in the fabric (LID
 * leases, last places), it is in the baseline, or it has a pinned name. Returns NOT_FOUND if the
 * manager knows no such device, or BUSY while a sweep changes the leases. */
int sm_find_guid(const struct sm *s, uint64_t guid);

/* Writes records of reroutes to ret[], newest first: those with generations below `before` (0:
 * all), at most `max`. Returns how many were written. Only the last 256 records are in memory;
 * store_reroutes finds older ones. */
uint32_t sm_reroutes(const struct sm *s, uint64_t before, struct reroute *ret, uint32_t max);

/* The state of the contingency plans. Each plan is for the failure of one link or one switch. */
struct sm_contingencies {
    /* The plans computed so far, valid until the caller returns to the event loop; NULL: none. */
    const struct fab_repair_contingencies *all;
    uint32_t cases; /* number of contingencies in the complete set */
    /* current: number of plans that are valid for the active tables. kept: how many of these plans
     * were computed for earlier tables, and then found valid for the active ones. */
    uint32_t current, kept;
    /* true: some plans are missing, or are not checked yet for the active tables */
    bool under_way;
    /* What the computation waits for, for example "the background proof"; "": it does not wait. */
    const char *waits_for;
    /* Limit of the CPU time of the computation, in percent of one core. */
    uint32_t percent;
    uint64_t cpu_us; /* processor time of the computation so far */
    /* `budget`: maximum memory of the contingency plans in bytes (0: contingencies are off).
     * `working`: memory in bytes that the running computation uses. */
    size_t budget, working;
    /* link load of the most loaded channel of the active tables: number of endport pairs whose
     * paths use it */
    uint64_t load;
    uint32_t rate; /* LFT blocks written per second */
    /* true: `rate` was measured in reroutes; false: it is assumed */
    bool rate_measured;
};
void sm_get_contingencies(const struct sm *s, struct sm_contingencies *ret);
/* Call this function when a link had errors; node_guid and `port` name one of its ports. The
 * manager then computes the contingency plan for this link before most other plans. */
void sm_suspect_link(struct sm *s, uint64_t node_guid, uint8_t port);
/* Copies the contingency `row` to *ret, and replaces its node and port ids by those of the
 * published view (FAB_NONE: the node or port has left the fabric). The plan is not copied: *ret and
 * `row` refer to the same plan. */
void sm_contingency_row(const struct sm *s, const struct fab_repair_contingency *row,
                        struct fab_repair_contingency *ret);
/* Returns the contingency for a failure; NULL: not computed yet. is_switch: `id` is the switch
 * that fails; otherwise `id` is a port of the link that fails. The ids are those of the
 * published view. */
const struct fab_repair_contingency *sm_contingency_of(const struct sm *s, bool is_switch,
                                                       uint32_t id);

/* A port whose peer did not answer in the last sweep, or was left out because it has the GUID of
 * another device; or port 0 of a silent switch. place: name of the port. status: why the port is
 * listed (fab_unresponsive.status). */
struct sm_unresponsive {
    char place[128];
    int status;
};
uint32_t sm_unresponsive_ports(const struct sm *s, struct sm_unresponsive *ret, uint32_t max);

/* A link that went down recently. */
struct sm_flapping {
    uint64_t guid[2]; /* node GUIDs of the two ends */
    uint8_t port[2];
    char place[2][128];
    uint64_t flaps; /* number of flaps counted so far */
    /* true: the link flapped more often than the settings allow */
    bool flapping;
    /* The link is held down: it flaps, and routes avoid it. Some flapping links are not held down:
     * links of hosts, links without which a part of the fabric would be unreachable, and links that
     * flapping.max_excluded_percent or flapping.min_capacity_percent protects. */
    bool held_down;
    bool up; /* the link is up now */
    /* how long, in us, the link must stay up before routes use it again; 0: it is not flapping */
    uint64_t hold_us;
    /* Unix time in us at which routes may use the link again; 0: not known */
    int64_t due_us;
    /* Unix times of the last flaps in microseconds, newest first. */
    int64_t flap_us[FAB_DAMPING_FLAPS];
    uint32_t flap_time_count;
};
/* Writes the links that went down recently to ret[], at most `max`. Returns the number of these
 * links, even if it is higher than `max`. */
uint32_t sm_flapping(const struct sm *s, struct sm_flapping *ret, uint32_t max);
/* Ends the hold-down or the isolation of a link, and sets its flap count to 0. One port of the link
 * is given. by: who requested it, for the event, such as "alice (uid 1000)". Returns NOT_FOUND if
 * the link is neither flapping nor isolated, or DENIED if another manager is master. */
int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port, const char *by);
/* Returns what sm_link_release would return; changes nothing. */
int sm_link_release_check(const struct sm *s, uint64_t node_guid, uint8_t port);

/* Isolates an ISL: routes avoid it until sm_link_release is called, even after a restart. One
 * port of the ISL is given. cause: a text for operators. operated: an operator requested the
 * isolation.
 *
 * Errors with a sentence in why[]: UNREACHABLE (a node would be cut off), LIMIT (a switch would
 * have more than flapping.max_excluded_percent of its links excluded; or a leaf or pod would have
 * too few uplinks, but only if `operated` is false), NOT_FOUND (the port has no link that is up),
 * EXISTS (the link is isolated already). Other errors: DENIED (another manager is master), BUSY (no
 * fabric is known yet), NOMEM. */
int sm_link_isolate(struct sm *s, uint64_t node_guid, uint8_t port, bool operated,
                    const char *cause, char *why, size_t why_len);
/* Returns what sm_link_isolate would return, and writes the sentence about the error to why[].
 * Isolates nothing. */
int sm_link_isolate_check(struct sm *s, uint64_t node_guid, uint8_t port, bool operated, char *why,
                          size_t why_len);
/* Finds out whether all these links can be isolated, one after the other. Links that are
 * isolated or excluded already are accepted. If one of the links cannot be isolated, returns the
 * error that sm_link_isolate would return to an operator; *ret_link is then the index of this
 * link, and why[] has a sentence. Also returns NOMEM, without a sentence. Call this function
 * only if a fabric is known. */
int sm_isolate_check(struct sm *s, const struct store_port *link, size_t count, size_t *ret_link,
                     char *why, size_t why_len);
struct sm_isolation {
    uint64_t guid[2]; /* node GUIDs of the two ends */
    uint8_t port[2];
    char place[2][128];
    /* true: routes avoid the link; false: the link is reinstated, because routes need it */
    bool out;
    bool operated;    /* an operator requested the isolation */
    int64_t since_us; /* Unix time of the isolation in microseconds */
    char cause[160];
};
/* Writes the isolated links to ret[], at most `max`. Returns the number of isolated links, even if
 * it is higher than `max`. */
uint32_t sm_isolations(const struct sm *s, struct sm_isolation *ret, uint32_t max);
/* Whether a link is an uplink of a leaf or pod, and how many uplinks that leaf or pod has and needs
 * (libfabmgr/health/floor.h). */
struct sm_capacity {
    uint64_t guid; /* the caller sets guid and port to an end of the link */
    uint8_t port;
    /* true: the link is an uplink of a leaf or pod, which the members below describe. If the link
     * is an uplink of several leaves or pods, the members describe the leaf or pod that has the
     * smallest share of its uplinks in use. */
    bool is_uplink;
    bool pod;
    char name[128]; /* name of the leaf, or of a switch of the pod */
    /* number of uplinks of the leaf or pod, with those that failed since the manager started */
    uint32_t uplinks;
    uint32_t in_use; /* number of uplinks that routes may use now */
    uint32_t least;  /* number of uplinks that must stay in use */
};
/* Each element of list[count] names a link by `guid` and `port`; the function fills in the other
 * members, or nothing if there is no snapshot. Returns NOMEM. */
int sm_link_capacities(const struct sm *s, struct sm_capacity *list, uint32_t count);
/* ---- drains: links, switches and hosts under maintenance (libfabmgr/health/drain.h) ---------- */

enum sm_drain_kind {
    SM_DRAIN_LINK,
    SM_DRAIN_SWITCH,
    SM_DRAIN_RACK,
    SM_DRAIN_POD,
    SM_DRAIN_HOST,
    SM_DRAIN_KINDS
};
enum sm_drain_state {
    /* the LFTs of switches still have entries that lead over links of the drain */
    SM_DRAIN_MOVING,
    /* no LFT entry leads over links of the drain, but the counters of some port (sm_drain_ports)
     * may still show traffic */
    SM_DRAIN_DRAINING,
    SM_DRAIN_DRAINED,
    /* The drain has ended, but not all of its links are in the routes again. */
    SM_DRAIN_ENDING
};
extern const char *const sm_drain_kind_name[SM_DRAIN_KINDS]; /* "link", "switch", ... */

#define SM_DRAIN_NAME_LEN 160
#define SM_DRAIN_TEXT_LEN 256
/* What to drain. */
struct sm_drain_request {
    enum sm_drain_kind kind;
    const char *name;     /* name of the link, switch, rack, pod or host */
    const uint64_t *node; /* [nodes] GUIDs of the switches, or of the adapters of the host */
    uint32_t nodes;
    /* only for SM_DRAIN_LINK: node GUID and number of one port of the link */
    uint64_t link_guid;
    uint8_t link_port;
    /* true: the drain does not wait until the counters of the hosts' ports show no more traffic */
    bool force;
    int64_t until_us; /* Unix time in microseconds at which the drain ends; 0: no time limit */
    const char *by, *reason;
};
struct sm_drain_info {
    uint32_t id; /* number of the drain, from 1 */
    enum sm_drain_kind kind;
    enum sm_drain_state state;
    bool force;
    char name[SM_DRAIN_NAME_LEN], by[128], reason[SM_DRAIN_TEXT_LEN];
    /* Unix times in microseconds; until_us 0: the drain has no time limit */
    int64_t since_us, until_us;
    uint32_t links; /* number of links that routes must avoid */
    /* number of links of the drain over which routes or entries in the switches still lead */
    uint32_t used;
    uint32_t hosts; /* number of endports connected to the drained switches */
    /* busy: name of the port with the most traffic between its last two readings; "": no port has
     * traffic, or there are no readings. busy_bytes_per_s: this traffic in bytes per second. */
    char busy[128];
    uint64_t busy_bytes_per_s;
};
/* Finds the links of snapshot `f` that routes would have to avoid if the drain started. Starts
 * no drain. v: the view with the active tables. Returns OK; NOT_FOUND (the link of a drain
 * SM_DRAIN_LINK is not up in the snapshot) or INVAL (it is not an ISL), with a sentence in
 * why[]; or NOMEM. The caller frees the result with fab_health_drain_fini. */
int sm_drain_preview(const struct fab_view *v, const struct fab_fabric *f,
                     const struct sm_drain_request *q, struct fab_drain *ret, char *why,
                     size_t why_len);
/* Decides whether a drain must be refused. `found` has the links that routes would avoid because of
 * the drain. Returns UNREACHABLE, with a sentence in why[], if a part of the fabric would then be
 * cut off; otherwise OK. */
int sm_drain_refusal(const struct fab_fabric *f, const struct fab_drain *found, char *why,
                     size_t why_len);
/* Starts a drain. On success *ret_id is its number.
 *
 * Errors with a sentence in why[]: UNREACHABLE (a part of the fabric would be cut off),
 * NOT_FOUND (no link is up at this port, or routes avoid it already), EXISTS (the object, or one
 * of its switches or adapters, is drained already), INVAL (the link is not between two switches,
 * or the time of the end has passed), LIMIT (too many drains or links). Other errors: DENIED
 * (another manager is master), BUSY (no fabric is known yet), NOMEM. */
int sm_drain_start(struct sm *s, const struct sm_drain_request *q, uint32_t *ret_id, char *why,
                   size_t why_len);
/* Ends a drain: routes use its links again. Returns NOT_FOUND or DENIED. */
int sm_drain_end(struct sm *s, uint32_t id, const char *by);
/* Writes the drains to ret[], at most `max`. Returns the number of drains, even if it is higher
 * than `max`. */
uint32_t sm_drain_list(const struct sm *s, struct sm_drain_info *ret, uint32_t max);
/* Returns whether routes avoid the link of this port because of a drain. */
bool sm_drain_excludes(const struct sm *s, uint64_t node_guid, uint8_t port);
/* Returns true if routes avoid the link of this port, because the link is isolated, held down or
 * drained, or because its host misbehaved. *ret_guid and *ret_port are then the node GUID and the
 * number of the port at the other end of the link. */
bool sm_excluded_peer(const struct sm *s, uint64_t node_guid, uint8_t port, uint64_t *ret_guid,
                      uint8_t *ret_port);
/* A port whose counters must show no more traffic before the drain becomes DRAINED. */
struct sm_drain_port {
    uint64_t guid; /* GUID of the node */
    uint8_t port;
};
/* Writes to ret[], at most `max`, the ports whose counters must show no more traffic before this
 * drain becomes DRAINED. Returns the number of these ports, even if it is higher than `max`.
 * Returns 0 if the drain is not in the state DRAINING or DRAINED. */
uint32_t sm_drain_ports(const struct sm *s, uint32_t id, struct sm_drain_port *ret, uint32_t max);
/* Call this function when the counters of all ports of a drain have been read twice. busy: name of
 * the port with the most traffic between the two reads; "": no port had noteworthy traffic.
 * bytes_per_s: the traffic of the port `busy`. If `busy` is "", a drain in the state DRAINING
 * becomes DRAINED; otherwise a drain in the state DRAINED becomes DRAINING again. */
void sm_drain_measured(struct sm *s, uint32_t id, const char *busy, uint64_t bytes_per_s);

/* Returns whether work of low priority may start: this manager is master, a view is published, no
 * round runs and no fault is pending. */
bool sm_is_quiet(const struct sm *s);

/* These functions let a host join or leave a multicast group. The groups change at once; the MFTs
 * are written soon after, without a sweep. Both functions return a MAD status: that of
 * fab_mcast_groups_join or fab_mcast_groups_leave, or FAB_SMP_BUSY if no fabric is known yet or
 * another manager is master. */
uint16_t sm_mgroup_join(struct sm *s, const struct fab_mcast_request *ask,
                        struct fab_wire_mc_member_record *ret);
uint16_t sm_mgroup_leave(struct sm *s, const struct fab_mcast_request *ask,
                         struct fab_wire_mc_member_record *ret);
/* Returns the multicast groups. They are valid until the caller returns to the loop. NULL: not
 * known yet. */
const struct fab_mcast_groups *sm_mgroups(const struct sm *s);
typedef void sm_mgroup_fn(void *ctx, const struct fab_wire_mc_member_record *group, bool made);
/* Sets the function `fn` that is called after a multicast group was created (made: true), and
 * before a group is deleted (made: false); there is only one such function. Fields of `group` about
 * a single member (PortGID, JoinState, ProxyJoin) are 0. fn NULL: no function is called. */
void sm_on_mgroup(struct sm *s, sm_mgroup_fn *fn, void *ctx);
/* Returns a block of a switch's MFT: 32 port masks. NULL: its contents are not known. sw: id of the
 * switch in fab_mcast_trees_net. number: number of the block (fab_mft_number). */
const uint16_t *sm_mft_block(const struct sm *s, uint32_t sw, uint32_t number);
struct sm_multicast_status {
    uint32_t groups, mlids;
    uint64_t members;
    /* Number of MLIDs for which the smallest MFT of all switches has room. */
    uint32_t room;
    /* node GUID of the switch with the smallest MFT; 0: each switch has room for all MLIDs */
    uint64_t smallest;
    /* Number of member ports that are not in the fabric. */
    uint32_t absent;
    /* Number of switches that did not answer MFT requests, or refused one. */
    uint32_t unresponsive;
    /* MFTs are being written or wait to be written. */
    bool pending;
    uint64_t writes; /* MFT blocks written since the start */
    bool spanning;   /* all trees follow one spanning tree */
};
void sm_get_multicast(const struct sm *s, struct sm_multicast_status *ret);
/* Writes what is wrong with the multicast trees to `text`; "": nothing. */
void sm_multicast_alarm(const struct sm *s, char *text, size_t len);
/* A copy of the MFT blocks that switches are known to hold, and of the members of the groups. */
struct sm_mft_copy;
/* Makes a copy of the known MFT blocks and of the members of the groups. Returns OK; NOT_FOUND
 * if no groups are known yet; or NOMEM. */
int sm_copy_mfts(const struct sm *s, struct sm_mft_copy **ret);
void sm_mft_copy_free(struct sm_mft_copy *c); /* c may be NULL */
/* Verifies the multicast trees in the copy. If they are for the same fabric as the unicast tables,
 * also verifies that the channel dependencies of both together have no cycle. Any thread may call
 * this function. Returns what fab_verify_multicast returns; sm_mft_copy_text is like
 * fab_verify_multicast_text. */
int sm_mft_copy_verify(const struct sm_mft_copy *c, const struct fab_verify_input *unicast,
                       struct fab_multicast_verdict *ret);
int sm_mft_copy_text(const struct sm_mft_copy *c, const struct fab_multicast_verdict *v,
                     char **ret_text);

/* The functions below request a round, and return at once: OK, NOMEM, or DENIED if another manager
 * is master (sm_reroute and sm_rebalance: or if this manager is frozen). The manager later calls
 * `done`, which may be NULL, with a status and a sentence. The caller must call sm_forget before it
 * frees ctx. */
typedef void sm_done(void *ctx, int status, const char *message);
int sm_sweep(struct sm *s, sm_done *done, void *ctx);   /* requests a heavy sweep */
int sm_sweep_check(const struct sm *s);                 /* returns what sm_sweep would return */
int sm_reroute(struct sm *s, sm_done *done, void *ctx); /* computes new tables without a sweep */
/* Requests a rebalance: an engine computes new tables, which replace the active ones only if they
 * spread load better. */
int sm_rebalance(struct sm *s, sm_done *done, void *ctx);
/* Computes and proves the tables of a reroute (or of a rebalance, if if_better is true) in the
 * background, and changes nothing. `done` gets OK, and a sentence: which writes would follow, or
 * why the active tables would stay. It gets REFUSED if no engine has tables that pass the proof
 * (for a rebalance OK, because the active tables would stay), or the error with which the
 * computation failed. Returns what sm_reroute would return; or BUSY if no tables are published, a
 * round runs, another dry run has not ended, or the snapshot has other nodes than the published
 * view. */
int sm_reroute_dry_run(struct sm *s, bool if_better, sm_done *done, void *ctx);
/* Disables or enables a port (PortPhysicalState, IBA 14.2.5.6). Returns DENIED if another manager
 * is master or the manager is frozen, BUSY if no fabric is known yet, or NOMEM. `done` gets DENIED
 * if the manager must not disable the port: the link is the manager's own, or the manager could not
 * reach the port any more to enable it again, or a part of the fabric would be cut off. It gets
 * NOT_FOUND if there is no such port, BUSY if the request was interrupted, or the error of the
 * write. `by` is as for sm_link_release. */
int sm_port_set(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *by,
                sm_done *done, void *ctx);
/* Finds out what sm_port_set would do, and changes nothing. Returns the error that sm_port_set
 * would return, or the error with which it would call `done`. After DENIED, *ret_why is a sentence
 * or "". */
int sm_port_check(const struct sm *s, uint64_t node_guid, uint8_t port, bool enable,
                  const char **ret_why);
/* Returns true if an operator disabled the port. */
bool sm_port_is_disabled(const struct sm *s, uint64_t node_guid, uint8_t port);
/* Returns the pins of node descriptions (libfabmgr/policy/pins.h) and the list of nodes that wait
 * for an approval. The result is valid until the caller returns to the loop. */
const struct fab_pins *sm_pins(const struct sm *s);
/* Returns false if the setting subnet.pin_names is "off". */
bool sm_pins_are_on(const struct sm *s);
/* sm_pin_approve pins a node to the name that the node shows. sm_pin_approve_all does this for all
 * nodes that wait for an approval. sm_pin_forget removes the pin of a GUID, which need not be in
 * the fabric.
 *
 * All three then request new tables; `done` is called after that round. `by` is the operator's
 * name. Errors: NOT_FOUND (there is no such node or pin), EXISTS (the node, or all nodes, have
 * nothing to approve), BUSY (no fabric is known yet, or subnet.pin_names is off), DENIED (another
 * manager is master, or this one is frozen), NOMEM. */
int sm_pin_approve(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx);
int sm_pin_approve_all(struct sm *s, const char *by, uint32_t *ret_count, sm_done *done, void *ctx);
int sm_pin_forget(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx);

/* ---- the baseline of approved devices (libfabmgr/discover/baseline.h) ------------------------ */

enum sm_unapproved_effect {
    /* The device is used like an approved device. */
    SM_ADMITTED,
    /* The ports of the device are in the quarantine partition and in no other, except perhaps
     * the default partition (libfabmgr/partition/partition.h). */
    SM_QUARANTINED,
    /* The device gets no LID and no routes. */
    SM_EXCLUDED,
};
/* A device, or a link between switches, that no operator has approved at its place. */
struct sm_unapproved {
    struct fab_unapproved what;
    uint8_t effect; /* enum sm_unapproved_effect */
    /* a sweep has found the device at this place, and the manager has then reset its link */
    bool reset;
    /* Unix time in microseconds at which a sweep first found the device at this place. */
    int64_t since_us;
    bool told; /* an event about this device was emitted */
};
/* sm_baseline returns the baseline; NULL: there is none. sm_unapproved returns the list of devices
 * that are not approved, sorted by place. Both are valid until the caller returns to the loop. */
const struct fab_baseline *sm_baseline(const struct sm *s);
const struct sm_unapproved *sm_unapproved(const struct sm *s, uint32_t *ret_count);
/* sm_baseline_take makes the present fabric the baseline. sm_baseline_approve approves devices at
 * these places; an earlier approval of the same port or place is replaced. sm_baseline_disapprove
 * removes the approval of the nodes with these names (a name, its first word, or a GUID) and, if a
 * node is a switch, of the hosts connected to it. sm_baseline_clear removes the baseline. A worker
 * thread makes the changes, one after the other. `done` is called when the change is in the
 * database, and therefore survives a crash. At that time the manager may not have finished acting
 * on the change. `by` is the operator's name. Errors: NOT_FOUND (a node is not in the baseline, or
 * there is no baseline), INVAL (several nodes have one of these names), BUSY (no fabric is known
 * yet), DENIED (another manager is master), NOMEM. `done` may get the same errors. */
int sm_baseline_take(struct sm *s, const char *by, sm_done *done, void *ctx);
int sm_baseline_approve(struct sm *s, const struct fab_place *place, uint32_t count, const char *by,
                        sm_done *done, void *ctx);
int sm_baseline_disapprove(struct sm *s, char *const *name, uint32_t count, const char *by,
                           sm_done *done, void *ctx);
int sm_baseline_clear(struct sm *s, const char *by, sm_done *done, void *ctx);
/* sm_baseline_disapprove_check only finds out what sm_baseline_disapprove would do. It returns the
 * same errors. `done` gets such an error, or a sentence about the changes that would be made.
 * sm_baseline_clear_check returns what sm_baseline_clear would return. */
int sm_baseline_disapprove_check(struct sm *s, char *const *name, uint32_t count, sm_done *done,
                                 void *ctx);
int sm_baseline_clear_check(const struct sm *s);
void sm_forget(struct sm *s, void *ctx);

/* ---- several managers (IBA 14.4.1) ---- */

#define SM_PRIORITY_MAX 15
#define SM_MANAGERS_MAX 64 /* maximum number of other managers that are known */

/* The role of this manager. */
struct sm_ha_status {
    uint8_t state; /* enum fab_sm_state */
    /* priority: the present priority in this manager's SMInfo; after a hand-over by command, it is
     * lower than own_priority. own_priority: the priority that sm_set_priority or the settings gave
     * it. set_priority: the priority in the settings. */
    uint8_t priority, own_priority, set_priority;
    uint64_t guid; /* GUID of this manager's port */
    uint64_t master_guid;
    bool handing_over; /* a hand-over is under way */
    int64_t since_us;  /* Unix time in us at which the state last changed */
    char why[200];     /* why the state last changed */
};
void sm_get_ha_status(const struct sm *s, struct sm_ha_status *ret);
/* Returns true if this manager is master, and has not yet loaded all decisions of the managers that
 * were master before it (fabricd/replica). A decision made now could contradict or overwrite one of
 * them. */
bool sm_lacks_decisions(struct sm *s);
/* Another manager that this one sees. */
struct sm_manager {
    uint64_t guid, node_guid; /* guid: GUID of the manager's port */
    char name[128];           /* name of the manager's node; "": not known */
    char place[128];          /* name of the switch port to which the manager is connected */
    uint16_t lid;
    uint8_t priority, state;
    bool trusted;
    uint32_t activity;  /* ActCount in the manager's last SMInfo */
    bool advancing;     /* the last two values of ActCount differ */
    uint64_t silent_us; /* time in us since the manager's last SMInfo */
    /* Time in us for which this manager does not hand over to the other one, because that manager
     * repeatedly lost the role of master. 0: a hand-over is allowed now. */
    uint64_t held_us;
};
/* Writes the other managers that the last election found, or that answered later, to ret[], at most
 * `max`. Returns how many were written. */
uint32_t sm_managers(const struct sm *s, struct sm_manager *ret, uint32_t max);
/* Hands the role of master over to the manager with this port GUID; 0: to the best manager in
 * standby. `done` is called as for sm_sweep. DENIED: the hand-over is refused, and *ret_why has the
 * reason. */
int sm_hand_over(struct sm *s, uint64_t guid, sm_done *done, void *ctx, char *ret_why, size_t len);
/* Finds out what sm_hand_over would do, and changes nothing. Returns what sm_hand_over would
 * return. After OK, *ret_guid is the port GUID of the manager that would become master, and
 * *ret_priority the priority that this manager would have then. */
int sm_hand_over_check(const struct sm *s, uint64_t guid, uint64_t *ret_guid, uint8_t *ret_priority,
                       char *ret_why, size_t len);
/* Returns true while this manager hands over the role of master: from the command or decision until
 * the role has changed or the hand-over has failed. In this time, registrations of hosts must not
 * be accepted, because the new master would not know them. */
bool sm_is_handing_over(const struct sm *s);
/* Sets the priority of this manager until its next start. RANGE: it is above SM_PRIORITY_MAX. */
int sm_set_priority(struct sm *s, uint8_t priority);

/* ---- freezing the manager -------------------------------------------------------------------- */

enum sm_freeze {
    SM_NOT_FROZEN,
    /* The manager routes around lost links and switches, and writes nothing else. */
    SM_REPAIRS_ONLY,
    SM_NO_WRITES /* The manager only reads, and takes part in elections. */
};
struct sm_freeze_status {
    enum sm_freeze mode;
    /* Unix times in us. since_us: when the mode was set. until_us: when the freeze will end without
     * a command; 0: only sm_resume ends it. */
    int64_t since_us, until_us;
    char by[128], reason[256]; /* who set the mode, and why */
    /* Writes that the last sweep left out because of the mode. writes: number of these writes.
     * blocks: number of LFT blocks among them. switches: number of switches that have these
     * blocks. */
    uint32_t writes, blocks, switches;
    /* numbers of new nodes and links that the last sweep found, and that are not used because of
     * the mode */
    uint32_t new_nodes, new_links;
    /* number of Sets that the transport did not send, because the mode forbids them */
    uint64_t refused;
    char postponed[400]; /* what waits until the manager is resumed; "": nothing */
    /* A sudden loss, on which the manager acts only if a further sweep confirms it; "": none. This
     * is no freeze, but it postpones writes, too. */
    char confirming[160];
};
void sm_get_freeze(const struct sm *s, struct sm_freeze_status *ret);
bool sm_is_frozen(const struct sm *s);
const char *sm_freeze_mode_name(enum sm_freeze mode);
/* Freezes the manager until sm_resume is called, but at most for the time for_us (us; 0: no limit).
 * by, reason: texts for operators. If the manager has left out writes in mode SM_NO_WRITES, the
 * mode cannot be changed to SM_REPAIRS_ONLY: returns DENIED, with a sentence in why[]. */
int sm_freeze(struct sm *s, enum sm_freeze mode, uint64_t for_us, const char *by,
              const char *reason, char *why, size_t why_len);
/* Returns what sm_freeze would return, with the same sentence in why[]. Changes nothing. */
int sm_freeze_check(const struct sm *s, enum sm_freeze mode, char *why, size_t why_len);
/* Ends the freeze, and requests the work that was postponed. Returns EXISTS if the manager is not
 * frozen. */
int sm_resume(struct sm *s, const char *by);

/* The state of the M_Keys, for operators. It does not contain the keys. */
struct sm_key_status {
    /* set: ports must have an M_Key; generated: fabricd made this key. */
    bool set, generated;
    /* Each port has its own key, derived from a secret. */
    bool derived;
    /* the rotation is running: ports of the fabric may still have the previous key */
    bool rotating;
    /* Number of the current key, and Unix time in seconds at which it came into use. */
    uint64_t generation, since_s;
    /* true: the key file still has the previous key, for ports that come back with it */
    bool has_previous;
    /* Number of ports in the fabric that can hold an M_Key: port 0 of each switch, and each port of
     * an adapter or router. */
    uint32_t ports;
    /* Number of ports in the fabric that are known to have the current M_Key. */
    uint32_t current;
    /* number of ports in the fabric whose M_Key is known to differ from the current one, and must
     * still be changed */
    uint32_t previous;
    /* Number of ports in the fabric whose M_Key is not known, or that did not answer when the
     * manager changed it. */
    uint32_t unknown;
    /* Number of ports outside of the fabric that may have the previous key. */
    uint32_t absent;
    /* names of some of the ports that are counted by `previous` and `unknown`, separated by
     * commas */
    char names[256];
};
void sm_get_key_status(const struct sm *s, struct sm_key_status *ret);
/* Starts a rotation: makes a new random M_Key, writes the new and the present key to the key file,
 * and requests a round that writes the new key to all ports. If managers share the key and `local`
 * is false, the new key comes into use only when a majority of the etcd servers has confirmed it.
 * If give_up is true, ports outside of the fabric that may still have the previous key do not
 * prevent the rotation.
 *
 * On an error, why[] has a sentence. Returns UNSUPPORTED if fabricd did not generate the key.
 * Returns DENIED if another manager is master, if this manager is frozen, or if another manager is
 * present or configured that would not learn the new key. Returns BUSY if no fabric is known yet, a
 * sweep runs, or the last rotation is not complete. Returns EXISTS if ports outside of the fabric
 * would be lost and give_up is false. Also returns IO or NOMEM. */
int sm_key_rotate(struct sm *s, bool give_up, bool local, char *why, size_t why_len);
/* Returns what sm_key_rotate would return now, with the same sentence in why[]; but does not make a
 * key. */
int sm_key_rotate_check(const struct sm *s, bool give_up, char *why, size_t why_len);

#endif
