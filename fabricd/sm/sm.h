/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet manager (IBA 14). It discovers the fabric, assigns LIDs, computes and proves tables,
 * writes them to the switches, and publishes a view of fabric and tables. These are the steps:
 *
 * discover -> model -> compute -> verify -> plan -> program -> publish
 *
 * This is the only header of fabricd/sm that code outside of this folder includes. All functions
 * must be called on the loop thread.
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
/* The result of a rehearsal: what the first sweep of this manager as master would write. */
struct sm_rehearsal {
    int status;        /* result of the round */
    const char *alarm; /* why there are no new tables; "": there are new tables */
    /* the fabric as it was read; NULL: the sweep failed */
    const struct fab_fabric *fabric;
    const struct fab_observed *observed; /* the tables as they were read */
    /* the new LIDs and tables, their proof, and the writes; NULL: there are none */
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
    /* What the managers of the fabric share; NULL: this manager knows only its own store. */
    struct replica *replica;
    /* Called after the manager has loaded its decisions from the store again, because another
     * manager changed them. The folders that use this one, such as fabricd/sa, then load their own
     * data again. May be NULL. */
    void (*loaded)(void *ctx);
    void *loaded_ctx;
    /* The folder of the file m_key (fabricd/store/m_key.h). NULL: keys are kept in memory only. */
    const char *keys_dir;
    /* True while a recording is made or replayed. Computations on which later requests depend then
     * run on the loop thread, because a replay has no worker thread. The scrub is off, because it
     * follows the real time. */
    bool recorded;
    /* If it is not NULL, the manager only rehearses: it reads the fabric once, calls this function
     * with the result, and does nothing more. The result is valid during the call. It takes no part
     * in the election. The transport should pass only Gets (transport_readonly_open). */
    void (*rehearsed)(void *ctx, const struct sm_rehearsal *r);
    void *rehearsed_ctx;
};
/* Creates the subnet manager. Returns OK; NOMEM; IO if the store or the key file cannot be read;
 * DENIED if other users can read the key file; or FORMAT if it is damaged. */
int sm_new(const struct sm_input *in, struct sm **ret);
void sm_start(struct sm *s); /* sets IsSM at the manager's port, and begins the first sweep */
/* Call this function when the device of the transport is gone. The manager ends its round, refuses
 * requests, and neither sweeps nor answers until sm_device_back is called. It keeps the published
 * view for readers. reason: a phrase for operators. */
void sm_device_lost(struct sm *s, const char *reason);
/* Call this function when the device is open again. The manager elects, sweeps and reads all
 * tables as after a start, because the switches may have been restarted, too. */
void sm_device_back(struct sm *s);
void sm_free(struct sm *s);
/* Takes over the changed policy of the configuration, and requests new tables. In mode
 * SM_REPAIRS_ONLY, only the priority changes now, and the rest waits until the manager is resumed.
 * Returns OK or NOMEM; after NOMEM the old policy stays. */
int sm_reload(struct sm *s);

#define SM_REROUTE_BOUNDS 14
/* Upper bounds in microseconds, ascending, of the durations that sm_reroute_times.within counts. */
extern const uint32_t sm_reroute_bounds_us[SM_REROUTE_BOUNDS];
/* Durations of the reroutes since the manager started. Reroutes that wrote no tables do not
 * count. */
struct sm_reroute_times {
    uint64_t count, sum_us;
    /* within[i] is the number of reroutes that took longer than bound i-1 and at most bound i. */
    uint64_t within[SM_REROUTE_BOUNDS];
};
/* Total durations of one phase of one kind of round since the manager started. */
struct sm_phase_time {
    const char *round, *phase;
    uint64_t count;               /* number of times that the phase ended */
    uint64_t wall_us, longest_us; /* sum and maximum of the phase's durations in us */
    /* Sums of CPU time in ns. loop_ns: time of the loop thread while the phase ran, including other
     * work. worker_ns: time of the worker task of the phase. */
    uint64_t loop_ns, worker_ns;
};
enum sm_key { SM_KEY_M, SM_KEY_P, SM_KEY_Q, SM_KEYS }; /* the kinds of keys: M_Key, P_Key, Q_Key */
/* Numbers of traps since the start. Only traps that arrived while this manager was master count. */
struct sm_trap_counts {
    uint64_t received;
    /* Traps beyond the rate limit of their source. The manager only answered them with
     * TrapRepress. */
    uint64_t repressed;
    /* Traps whose notice cannot come from their sender, for example because only switches issue
     * it. */
    uint64_t refused;
    /* Notices not forwarded, because the device did not confirm them. */
    uint64_t unconfirmed;
    uint64_t sweeps; /* heavy sweeps caused by unknown source LIDs */
    /* Numbers of packets with a wrong key that devices have counted, indexed by enum sm_key. */
    uint64_t violations[SM_KEYS];
    /* Number of traps 256 to 259 (wrong key) after which the violation counter of the device had
     * not risen. */
    uint64_t violations_unconfirmed;
};
/* The result of a proof of all tables. The proof reads only the tables, and relies on no result
 * of an earlier proof. */
struct sm_whole_proof {
    /* Generation of the first view with the proved tables; 0: no proof yet. */
    uint64_t generation;
    /* Unix time in microseconds at which the proof ended. */
    int64_t time_us;
    /* Duration of the proof; for a background proof, its pauses are included. */
    uint64_t duration_us;
    /* The proof was made in the background, after local repairs. False: a round made it. */
    bool background;
};
struct sm_proof {
    struct sm_whole_proof last; /* the last proof that found no failure */
    /* A background proof of all tables will follow, because local repairs have changed the tables
     * since the proof `last` and proved only what they changed. */
    bool due;
    /* Number of background proofs since the start, and how many of them found a failure. */
    uint64_t proofs, failures;
    uint64_t cpu_us; /* processor time of the background proofs */
};
struct sm_status {
    uint8_t role; /* enum fab_sm_state */
    /* Name of the running phase, or "idle", "standby" or a similar word. */
    const char *state;
    /* Generation of the published view; 0: there is none yet. */
    uint64_t generation;
    uint64_t sweeps; /* heavy sweeps since the start */
    /* Durations of the last sweep and of the last reroute in microseconds; 0: there was none
     * yet. */
    uint64_t last_sweep_us, last_reroute_us;
    uint64_t smps_sent, smps_retried, smps_timed_out;
    /* Number of responses with the transaction ID of a request, but from another sender or with
     * another attribute. They are forged, or a device is faulty. */
    uint64_t smps_mismatched;
    uint32_t window, in_flight;
    /* Number of unresponsive ports (the link is up, but the device at its other end does not
     * answer) and of silent switches. Devices that are not approved do not count. */
    uint32_t unresponsive;
    uint32_t master_lid;
    uint64_t master_guid;
    /* A text that says what is wrong with the multicast trees; "": nothing is. */
    char multicast_alarm[1280];
    /* Why the manager writes no new tables; "": no alarm. */
    char alarm[1280];
    /* Why the manager can neither send nor receive at its port; "": it can. */
    char device_alarm[160];
    /* the mode in which the manager is frozen, and who froze it; "": it is not frozen */
    char frozen[160];
    uint64_t uptime_us;
    uint32_t links_held;               /* number of links held down */
    uint32_t links_isolated;           /* number of isolated links */
    uint64_t links_lost, links_gained; /* links lost and gained since the start */
    struct sm_reroute_times reroutes;
    /* A local repair would handle a link failure now. */
    bool ready;
    /* Number of active LFT entries that local repairs changed since an engine last computed the
     * tables. */
    uint64_t repaired;
    /* A rebalance is requested or will start when the fabric is quiet. */
    bool rebalance_due;
    /* Time in microseconds until the rebalance starts, if nothing changes before. */
    uint64_t rebalance_in_us;
    struct sm_trap_counts traps;
    /* Numbers of the scrub, which reads back what the manager wrote: complete turns, attributes
     * read in the last turn, attributes found changed, and nodes whose changed settings are not
     * restored yet. */
    uint64_t scrub_turns, scrub_reads, settings_changed;
    uint32_t settings_not_restored;
    /* Number of devices and links that are not approved at their place. */
    uint32_t unapproved;
    uint32_t waiting_names; /* nodes whose names wait for an approval */
    struct sm_proof proof;  /* the last proof of all tables */
};
void sm_get_status(const struct sm *s, struct sm_status *ret);
#define SM_PHASE_TIMES_MAX 216
/* Fills in the times of the phases that have ended at least once, and returns their number. */
uint32_t sm_phase_times(const struct sm *s, struct sm_phase_time ret[SM_PHASE_TIMES_MAX]);
/* Returns the numbers of nodes, ports and links in the fabric of the view. They are counted once
 * per view. All are 0 if no view is published yet. */
struct fab_census sm_census(struct sm *s);
/* Returns a reference to the published view. The caller owns the reference. NULL: no view is
 * published yet. */
struct fab_view *sm_view(const struct sm *s);
/* Sets the only listener that is called before a local repair changes fabric and tables. The
 * listener should drop its view. The repair changes the tables in place if no reader holds a view
 * of them; otherwise the repair must first make a new version of the tables. fn NULL removes the
 * listener. */
void sm_on_patch(struct sm *s, void (*fn)(void *ctx), void *ctx);
/* Sets the only listener that is called after a sweep or reroute published a view. The listener
 * must defer its work. It is not called after a local repair: such a repair adds and removes no
 * endport, and its writes must not be delayed. fn NULL removes the listener. */
void sm_on_publish(struct sm *s, void (*fn)(void *ctx), void *ctx);
typedef void sm_notice(void *ctx, const struct fab_notice *notice);
typedef bool sm_notice_wanted(void *ctx);
/* Sets the only listener `fn` for the notices of devices (IBA 13.4.8.2). The listener is called
 * while this manager is master. Before each call, the manager checks that this kind of device can
 * issue the notice, and reads PortInfo of the device to confirm its LID. If `wanted` returns
 * false, the manager neither reads PortInfo nor calls the listener. fn NULL removes the
 * listener. */
void sm_on_notice(struct sm *s, sm_notice_wanted *wanted, sm_notice *fn, void *ctx);

/* Fills in the last received SMInfo (IBA 14.2.5.13) of the other subnet managers that are trusted.
 * Leaves out managers in the state not-active, and a master that stopped answering. Returns how
 * many managers there are; ret gets at most `max` of them. */
uint32_t sm_others(const struct sm *s, struct fab_sm_info *ret, uint32_t max);
/* Returns whether a new key may come into use. It may if all other managers would get the key
 * (fabricd/replica). The other managers are those that this manager sees and those that
 * subnet.managers lists. shared: this manager shares the key. */
bool sm_others_share_keys(const struct sm *s, bool shared);

/* Writes a block of a port's GUIDInfo (IBA 14.2.5.5). `done` is called as libfabmgr/mads/mads.h
 * says, unless sm_guids_cancel was called before. Returns NOMEM, LIMIT, or BUSY while M_Keys are
 * being changed or the manager is frozen. */
int sm_guids_write(struct sm *s, uint16_t lid, uint32_t block, const struct fab_guid_block *guids,
                   fab_mads_done *done, void *ctx, uint64_t tag);
void sm_guids_cancel(struct sm *s, void *ctx);
/* Returns OK if a GUID belongs to a device that the manager knows. Such a device is or was in the
 * fabric (LID leases, last places), is in the baseline, or has a pinned name. Returns NOT_FOUND if
 * the GUID is free, or BUSY while a sweep changes the leases. */
int sm_find_guid(const struct sm *s, uint64_t guid);

/* Fills in the records of the last reroutes with generations below `before`, newest first. `before`
 * 0: no bound. Returns how many it filled in. Memory keeps the last 256 records; store_reroutes has
 * older ones. */
uint32_t sm_reroutes(const struct sm *s, uint64_t before, struct reroute *ret, uint32_t max);

/* The contingency plans that are computed so far, for the failure of any single link or switch,
 * with the effects of each failure. */
struct sm_contingencies {
    /* The plans computed so far, valid until the caller returns to the event loop; NULL: none. */
    const struct fab_repair_contingencies *all;
    uint32_t cases; /* number of contingencies in the complete set */
    /* `current`: number of plans that are valid for the active tables. `kept`: how many of them
     * were computed for earlier tables and then checked. */
    uint32_t current, kept;
    /* Some plans are not yet computed or checked for the active tables. */
    bool under_way;
    /* What the computation waits for, for example "the background proof"; "": it does not wait. */
    const char *waits_for;
    /* Limit of the CPU time of the computation, in percent of one core. */
    uint32_t percent;
    uint64_t cpu_us; /* processor time of the computation so far */
    /* `budget`: maximum memory of the contingency plans in bytes (0: contingencies are off).
     * `working`: memory in bytes that the running computation uses. */
    size_t budget, working;
    /* Number of endport pairs whose paths use the most loaded channel of the active tables. */
    uint64_t load;
    uint32_t rate; /* LFT blocks written per second */
    /* The manager has measured `rate` in earlier reroutes. False: `rate` is an assumed value. */
    bool rate_measured;
};
void sm_get_contingencies(const struct sm *s, struct sm_contingencies *ret);
/* Notes that a link had errors. The link is named by the port at one of its ends. Its contingency
 * plan is among the first that are computed. */
void sm_suspect_link(struct sm *s, uint64_t node_guid, uint8_t port);
/* Copies `row`, which describes a contingency, to *ret. The node and port ids in *ret are those
 * of the published view; FAB_NONE: the node or port has left the fabric. *ret refers to the same
 * plan as `row`. */
void sm_contingency_row(const struct sm *s, const struct fab_repair_contingency *row,
                        struct fab_repair_contingency *ret);
/* Returns the contingency plan for a failure; NULL: the plan is not computed yet. is_switch true:
 * `id` is the switch that fails. is_switch false: `id` is a port of the link that fails. The ids
 * are those of the published view. */
const struct fab_repair_contingency *sm_contingency_of(const struct sm *s, bool is_switch,
                                                       uint32_t id);

/* A port whose peer did not answer in the last sweep, or port 0 of a silent switch. `place` is the
 * name of the port. */
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
    /* The link flapped more often than the configuration allows. */
    bool flapping;
    /* The link is flapping and the routes exclude it. The manager does not hold down a flapping
     * link that connects a host, without which a part of the fabric would be unreachable, or that
     * the limits flapping.max_excluded_percent and flapping.min_capacity_percent protect. */
    bool held_down;
    bool up; /* the link is up now */
    /* Time in microseconds for which the link must stay up before it is released; 0: it is not
     * flapping. */
    uint64_t hold_us;
    /* Unix time in microseconds at which the link is released; 0: not known. */
    int64_t due_us;
    /* Unix times of the last flaps in microseconds, newest first. */
    int64_t flap_us[FAB_DAMPING_FLAPS];
    uint32_t flap_time_count;
};
/* Returns how many links went down recently; ret gets at most `max` of them. */
uint32_t sm_flapping(const struct sm *s, struct sm_flapping *ret, uint32_t max);
/* Releases a link from hold-down or isolation and resets its flap count. The link is named by one
 * of its ports. `by` names the requester in the event, such as "alice (uid 1000)". Returns
 * NOT_FOUND if the link is neither held down nor isolated, or DENIED if another manager is
 * master. */
int sm_link_release(struct sm *s, uint64_t node_guid, uint8_t port, const char *by);
/* Returns what sm_link_release would return. */
int sm_link_release_check(const struct sm *s, uint64_t node_guid, uint8_t port);

/* Isolates an ISL, named by one of its ports: routes avoid the ISL until sm_link_release is
 * called, even after a restart. `cause` is a text for operators. `operated` says whether an
 * operator requested the isolation.
 *
 * Errors with a sentence in why[]: UNREACHABLE (a node would be cut off), LIMIT (a switch would
 * have more than flapping.max_excluded_percent of its links excluded, or a leaf or pod would have
 * too few uplinks), NOT_FOUND (the port has no link that is up), EXISTS (the link is isolated
 * already). Other errors: DENIED (another manager is master), BUSY (no fabric is known yet),
 * NOMEM. */
int sm_link_isolate(struct sm *s, uint64_t node_guid, uint8_t port, bool operated,
                    const char *cause, char *why, size_t why_len);
/* Returns what sm_link_isolate would return, with its sentence. */
int sm_link_isolate_check(struct sm *s, uint64_t node_guid, uint8_t port, bool operated, char *why,
                          size_t why_len);
/* Finds out whether sm_link_isolate would accept all these links, one after the other. Links that
 * are isolated or excluded already are accepted. If sm_link_isolate would refuse a link, the
 * function returns the same error; *ret_link is then the index of this link, and why[] has a
 * sentence. A fabric must be known. */
int sm_isolate_check(struct sm *s, const struct store_port *link, size_t count, size_t *ret_link,
                     char *why, size_t why_len);
struct sm_isolation {
    uint64_t guid[2]; /* node GUIDs of the two ends */
    uint8_t port[2];
    char place[2][128];
    /* Routes avoid the link. False: the link is reinstated, because routes need it. */
    bool out;
    bool operated;    /* an operator requested the isolation */
    int64_t since_us; /* Unix time of the isolation in microseconds */
    char cause[160];
};
/* Returns how many links are isolated; ret gets at most `max` of them. */
uint32_t sm_isolations(const struct sm *s, struct sm_isolation *ret, uint32_t max);
/* Tells whether a link is an uplink of a leaf or pod, and how many uplinks these have and need
 * (libfabmgr/health/floor.h). */
struct sm_capacity {
    uint64_t guid; /* the caller sets guid and port to an end of the link */
    uint8_t port;
    /* The link is an uplink of a leaf or pod. The members below describe the leaf or pod that has
     * the smallest share of its uplinks in use. */
    bool is_uplink;
    bool pod;
    char name[128]; /* name of the leaf, or of a switch of the pod */
    /* number of uplinks of the leaf or pod, with those that failed since the manager started */
    uint32_t uplinks;
    uint32_t in_use; /* number of uplinks that routes may use now */
    uint32_t least;  /* number of uplinks that must stay in use */
};
/* Describes the links of list[count]. Returns NOMEM. */
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
    /* Entries of forwarding tables still lead over links of the drain. */
    SM_DRAIN_MOVING,
    /* No entry leads over these links, but their counters are not yet known to be idle. */
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
    /* The drain counts as drained even if the counters of the hosts are not idle. */
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
    uint32_t used;  /* number of links of the drain that routes or old entries still use */
    uint32_t hosts; /* number of endports connected to the drained switches */
    /* Name of the port that had the most traffic between its last two readings, and this traffic in
     * bytes per second; "": no port has traffic, or there are no readings. */
    char busy[128];
    uint64_t busy_bytes_per_s;
};
/* Finds the links of snapshot f that routes would avoid because of a drain. v: the view with the
 * active tables. Returns OK, INVAL, NOT_FOUND or NOMEM. The caller calls fab_health_drain_fini. */
int sm_drain_preview(const struct fab_view *v, const struct fab_fabric *f,
                     const struct sm_drain_request *q, struct fab_drain *ret, char *why,
                     size_t why_len);
/* Returns UNREACHABLE, with a sentence in why[], if the drain would cut off a part of the fabric.
 * Otherwise returns OK. */
int sm_drain_refusal(const struct fab_fabric *f, const struct fab_drain *found, char *why,
                     size_t why_len);
/* Starts a drain. On success *ret_id is its number.
 *
 * Errors with a sentence in why[]: UNREACHABLE (a part of the fabric would be cut off), NOT_FOUND
 * (a switch or the link is not in the fabric), EXISTS (the object is drained already), INVAL (the
 * link is not between two switches, or the time of the end has passed), LIMIT (too many drains or
 * links). Other errors: DENIED (another manager is master), BUSY (no fabric is known yet),
 * NOMEM. */
int sm_drain_start(struct sm *s, const struct sm_drain_request *q, uint32_t *ret_id, char *why,
                   size_t why_len);
/* Ends a drain: routes use its links again. Returns NOT_FOUND or DENIED. */
int sm_drain_end(struct sm *s, uint32_t id, const char *by);
/* Returns the number of drains, and writes at most `max` of them to ret[]. */
uint32_t sm_drain_list(const struct sm *s, struct sm_drain_info *ret, uint32_t max);
/* Returns whether routes avoid the link of this port because of a drain. */
bool sm_drain_excludes(const struct sm *s, uint64_t node_guid, uint8_t port);
/* A port whose counters must be idle before the drain counts as drained. */
struct sm_drain_port {
    uint64_t guid; /* GUID of the node */
    uint8_t port;
};
/* Returns the number of ports whose counters must be idle, for a drain in the state DRAINING or
 * DRAINED. Writes at most `max` of them to ret[]. */
uint32_t sm_drain_ports(const struct sm *s, uint32_t id, struct sm_drain_port *ret, uint32_t max);
/* Tells the manager how much traffic the ports of a drain had between two readings. `busy` is the
 * name of the port with the most traffic; "": all ports are idle. A drain in the state DRAINING
 * whose ports are idle becomes DRAINED. */
void sm_drain_measured(struct sm *s, uint32_t id, const char *busy, uint64_t bytes_per_s);

/* Returns whether work of low priority may start: this manager is master, a view is published, no
 * round runs and no fault is pending. */
bool sm_is_quiet(const struct sm *s);

/* sm_mgroup_join and sm_mgroup_leave change multicast groups at once. The MFTs are written soon
 * after, without a sweep. Both functions return a MAD status: that of fab_mcast_groups_join or
 * fab_mcast_groups_leave, or FAB_SMP_BUSY if no fabric is known yet or another manager is
 * master. */
uint16_t sm_mgroup_join(struct sm *s, const struct fab_mcast_request *ask,
                        struct fab_wire_mc_member_record *ret);
uint16_t sm_mgroup_leave(struct sm *s, const struct fab_mcast_request *ask,
                         struct fab_wire_mc_member_record *ret);
/* Returns the multicast groups. They are valid until the caller returns to the loop. NULL: not
 * known yet. */
const struct fab_mcast_groups *sm_mgroups(const struct sm *s);
typedef void sm_mgroup_fn(void *ctx, const struct fab_wire_mc_member_record *group, bool made);
/* Sets the only listener `fn`. It is called after a multicast group was created (`made` is
 * true), and before a group is deleted (`made` is false). The fields of `group` that describe a
 * single member (PortGID, JoinState, ProxyJoin) are 0. fn NULL removes the listener. */
void sm_on_mgroup(struct sm *s, sm_mgroup_fn *fn, void *ctx);
/* Returns the contents of a block of a switch's MFT: 32 port masks, or NULL if they are not known.
 * `sw` is the switch's id in fab_mcast_trees_net. `number` is the block's number from
 * fab_mft_number. */
const uint16_t *sm_mft_block(const struct sm *s, uint32_t sw, uint32_t number);
struct sm_multicast_status {
    uint32_t groups, mlids;
    uint64_t members;
    /* Number of MLIDs for which the smallest MFT of all switches has room. */
    uint32_t room;
    /* Node GUID of the switch with the smallest MFT; 0: all MFTs have room for all MLIDs. */
    uint64_t smallest;
    /* Number of member ports that are not in the fabric. */
    uint32_t absent;
    /* Number of switches that did not answer MFT requests. */
    uint32_t unresponsive;
    /* MFTs are being written or wait to be written. */
    bool pending;
    uint64_t writes; /* MFT blocks written since the start */
    bool spanning;   /* all trees follow one spanning tree */
};
void sm_get_multicast(const struct sm *s, struct sm_multicast_status *ret);
/* Writes what is wrong with the multicast trees; "" if nothing is. */
void sm_multicast_alarm(const struct sm *s, char *text, size_t len);
/* A copy of the MFT blocks that switches are known to hold, and of the members of the groups. */
struct sm_mft_copy;
/* Makes a copy of the known MFT blocks and of the members of the groups. Returns OK; NOT_FOUND
 * if no groups are known yet; or NOMEM. */
int sm_copy_mfts(const struct sm *s, struct sm_mft_copy **ret);
void sm_mft_copy_free(struct sm_mft_copy *c); /* c may be NULL */
/* Verifies the multicast trees in the copy, and the channel dependencies of multicast and unicast
 * packets together. Does not check the dependencies if the unicast tables are for another fabric.
 * Any thread may call this function. Returns what fab_verify_multicast returns. sm_mft_copy_text
 * works like fab_verify_multicast_text. */
int sm_mft_copy_verify(const struct sm_mft_copy *c, const struct fab_verify_input *unicast,
                       struct fab_multicast_verdict *ret);
int sm_mft_copy_text(const struct sm_mft_copy *c, const struct fab_multicast_verdict *v,
                     char **ret_text);

/* The following functions request a round and return at once. Later, `done` is called with a status
 * and a sentence; `done` may be NULL. They return DENIED if another manager is master, or NOMEM.
 * Before a ctx is freed, sm_forget must drop its callbacks. */
typedef void sm_done(void *ctx, int status, const char *message);
int sm_sweep(struct sm *s, sm_done *done, void *ctx);   /* requests a heavy sweep */
int sm_sweep_check(const struct sm *s);                 /* returns what sm_sweep would return */
int sm_reroute(struct sm *s, sm_done *done, void *ctx); /* computes new tables without a sweep */
/* Requests a rebalance: an engine computes new tables, which replace the active ones only if they
 * spread load better. */
int sm_rebalance(struct sm *s, sm_done *done, void *ctx);
/* Computes and proves the tables of a reroute (or of a rebalance, if if_better is true) in the
 * background, and changes nothing. `done` gets OK and a sentence that says which writes would
 * follow, or why the active tables would stay. REFUSED: no engine has tables that pass their proof.
 * Returns what sm_reroute would return; or BUSY if no tables are active, a sweep runs, or another
 * dry run has not ended. */
int sm_reroute_dry_run(struct sm *s, bool if_better, sm_done *done, void *ctx);
/* Disables or enables a port (PortPhysicalState, IBA 14.2.5.6). Returns DENIED if another manager
 * is master or the manager is frozen, BUSY if no fabric is known yet, or NOMEM. `done` gets DENIED
 * if disabling would cut off the manager, the port itself or a part of the fabric. `by` is as for
 * sm_link_release. */
int sm_port_set(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *by,
                sm_done *done, void *ctx);
/* Returns what sm_port_set and its `done` would return now. DENIED: *ret_why may have a sentence,
 * or it is "". */
int sm_port_check(const struct sm *s, uint64_t node_guid, uint8_t port, bool enable,
                  const char **ret_why);
/* Returns true if an operator disabled the port. */
bool sm_port_is_disabled(const struct sm *s, uint64_t node_guid, uint8_t port);
/* Returns the pins of node descriptions (libfabmgr/policy/pins.h) and the list of nodes that wait
 * for an approval. The result is valid until the caller returns to the loop. */
const struct fab_pins *sm_pins(const struct sm *s);
/* Returns whether the setting subnet.pin_names is not off. */
bool sm_pins_are_on(const struct sm *s);
/* sm_pin_approve pins a node to the name that the node shows. sm_pin_approve_all does this for
 * all nodes that wait for an approval. sm_pin_forget removes the pin of a GUID, which need not
 * be in the fabric.
 *
 * All three then request new tables; `done` is called after that round. `by` is the operator's
 * name. Errors: NOT_FOUND (no such node or pin), EXISTS (nothing waits for an approval), BUSY
 * (no fabric is known yet, or subnet.pin_names is off), DENIED (another manager is master),
 * NOMEM. */
int sm_pin_approve(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx);
int sm_pin_approve_all(struct sm *s, const char *by, uint32_t *ret_count, sm_done *done, void *ctx);
int sm_pin_forget(struct sm *s, uint64_t guid, const char *by, sm_done *done, void *ctx);

/* ---- the baseline of approved devices (libfabmgr/discover/baseline.h) ------------------------ */

enum sm_unapproved_effect {
    /* The device is used like an approved device. */
    SM_ADMITTED,
    /* The ports of the device are only in the quarantine partition. */
    SM_QUARANTINED,
    /* The device gets no LID and no routes. */
    SM_EXCLUDED,
};
/* A device, or a link between switches, that no operator has approved at its place. */
struct sm_unapproved {
    struct fab_unapproved what;
    uint8_t effect; /* enum sm_unapproved_effect */
    /* The manager has reset the link of the device since a sweep found the device at this place. */
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
 * node is a switch, of the hosts connected to it. sm_baseline_clear removes the baseline.
 *
 * A worker thread makes the changes, one after the other. `done` is called when the change is in
 * the database, so that it survives a crash. At that time the manager may not have finished acting
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
    /* priority: the priority in the SMInfo of this manager, which is lower than own_priority after
     * a hand-over by command. own_priority: the priority from the settings or from sm_set_priority.
     * set_priority: the priority from the settings. */
    uint8_t priority, own_priority, set_priority;
    uint64_t guid; /* GUID of this manager's port */
    uint64_t master_guid;
    bool handing_over; /* a hand-over is under way */
    int64_t since_us;  /* Unix time at which the state last changed */
    char why[200];     /* why the state last changed */
};
void sm_get_ha_status(const struct sm *s, struct sm_ha_status *ret);
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
    /* Time in microseconds until this manager may hand over to the other manager, which repeatedly
     * lost the role of master; 0: no wait. */
    uint64_t held_us;
};
/* Fills in the other managers that the last election or a later answer showed, and returns their
 * number, at most `max`. */
uint32_t sm_managers(const struct sm *s, struct sm_manager *ret, uint32_t max);
/* Hands the role of master over to the manager with this port GUID; 0: to the best manager in
 * standby. `done` is called as for sm_sweep. DENIED: the hand-over is refused, and *ret_why has the
 * reason. */
int sm_hand_over(struct sm *s, uint64_t guid, sm_done *done, void *ctx, char *ret_why, size_t len);
/* Returns what sm_hand_over would return. OK: *ret_guid is the port GUID of the manager that would
 * get the role, and *ret_priority the priority that this manager would then have. */
int sm_hand_over_check(const struct sm *s, uint64_t guid, uint64_t *ret_guid, uint8_t *ret_priority,
                       char *ret_why, size_t len);
/* Returns true while this manager hands over: from the command or decision until the role has
 * changed or the hand-over has failed. Meanwhile, no registration of a host may be accepted,
 * because the other manager would not know it. */
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
    /* Unix times in microseconds at which the mode began, and at which the manager resumes by
     * itself. 0: never. */
    int64_t since_us, until_us;
    char by[128], reason[256]; /* who set the mode, and why */
    /* What the last sweep would have written. writes: number of all writes. blocks: number of LFT
     * blocks among them. switches: number of switches that have these blocks. */
    uint32_t writes, blocks, switches;
    /* New nodes and links that the last sweep found, and that are not used yet. */
    uint32_t new_nodes, new_links;
    /* number of Sets that the transport did not send, because the mode forbids them */
    uint64_t refused;
    char postponed[400]; /* what waits until the manager is resumed; "": nothing */
    /* the loss that a further sweep must confirm before the manager acts on it; "": none */
    char confirming[160];
};
void sm_get_freeze(const struct sm *s, struct sm_freeze_status *ret);
bool sm_is_frozen(const struct sm *s);
const char *sm_freeze_mode_name(enum sm_freeze mode);
/* Freezes the manager until sm_resume, or, if for_us is not 0, for at most for_us. `by` and
 * `reason` are texts for operators. Returns DENIED, with a sentence in *why, if the manager has
 * withheld writes in mode SM_NO_WRITES and `mode` is another mode. */
int sm_freeze(struct sm *s, enum sm_freeze mode, uint64_t for_us, const char *by,
              const char *reason, char *why, size_t why_len);
/* Returns what sm_freeze would return, with its sentence. */
int sm_freeze_check(const struct sm *s, enum sm_freeze mode, char *why, size_t why_len);
/* Ends the freeze, and requests the postponed work. Returns EXISTS if the manager is not frozen. */
int sm_resume(struct sm *s, const char *by);

/* The state of the M_Keys, for operators. It does not contain the keys. */
struct sm_key_status {
    /* set: ports must have an M_Key; generated: fabricd made this key. */
    bool set, generated;
    /* Each port has its own key, derived from a secret. */
    bool derived;
    /* The rotation to the current key is not complete. */
    bool rotating;
    /* Number of the current key, and Unix time in seconds at which it came into use. */
    uint64_t generation, since_s;
    /* The previous key is kept, for ports that return with it. */
    bool has_previous;
    /* Number of ports in the fabric that hold an M_Key: port 0 of each switch, and each port of an
     * adapter or router. */
    uint32_t ports;
    /* Number of ports in the fabric that are known to have the current M_Key. */
    uint32_t current;
    /* Number of ports in the fabric that are known to have another M_Key, which will be
     * replaced. */
    uint32_t previous;
    /* Number of ports in the fabric whose M_Key is not known, or that did not answer when the
     * manager changed it. */
    uint32_t unknown;
    /* Number of ports outside of the fabric that may have the previous key. */
    uint32_t absent;
    /* Names of some of the ports that `previous` and `unknown` count, separated by commas. */
    char names[256];
};
void sm_get_key_status(const struct sm *s, struct sm_key_status *ret);
/* Starts a rotation: makes a new random M_Key, writes the new and the present key to the key file,
 * and requests a round that writes the new key to all ports. If managers share the key, this
 * happens when a majority has confirmed the new key. If `local` is true, it happens at once. If
 * give_up is true, ports outside of the fabric that may still have the previous key do not prevent
 * the rotation.
 *
 * On an error, why[] has a sentence. Returns UNSUPPORTED if fabricd did not generate the key.
 * Returns DENIED if another manager is master, if this manager is frozen, or if another manager is
 * present or configured that would not learn the new key. Returns BUSY if no fabric is known yet, a
 * sweep runs, or the last rotation is not complete. Returns EXISTS if ports outside of the fabric
 * would be lost and give_up is false. Also returns IO or NOMEM. */
int sm_key_rotate(struct sm *s, bool give_up, bool local, char *why, size_t why_len);
/* Returns what sm_key_rotate would return before it makes the new key, with its sentence. */
int sm_key_rotate_check(const struct sm *s, bool give_up, char *why, size_t why_len);

#endif
