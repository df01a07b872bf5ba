/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/apply, for this folder only. */
#ifndef FABRICD_SM_APPLY_STATE_H
#define FABRICD_SM_APPLY_STATE_H

#include "fabricd/sm/apply/apply.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/condition.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/repair/standing.h"
#include "libfabmgr/target/pins.h"

#define SM_REROUTES 256 /* number of reroute records kept in memory */

/* Limit of the search for a safe order of the writes: the number of LFT entries and channels that
 * it visits. At this limit the search has taken about 1.5 s of CPU time, during which a local
 * repair must wait. */
#define SM_TRANSITION_VISITS 100000000u

/* Position of a phase that reads tables block by block: index of the port or switch, and number
 * of its table block. */
struct sm_scan {
    uint32_t index, block;
};
enum sm_touched {
    SM_WRITTEN = 1,
    SM_UNRESPONSIVE = 2,
    SM_UNSURE = 4,
    SM_LANES_FAILED = 8,
    /* SM_BY_LID: LFT writes to this node are LID routed. SM_BY_PATH: they have directed routes. */
    SM_BY_LID = 16,
    SM_BY_PATH = 32,
    SM_REFUSED = 64,  /* a write to this node failed */
    SM_TOOK = 128,    /* the node acknowledged a write */
    SM_WITHHELD = 256 /* the switch lacks a block because the manager is frozen */
};
/* The tables that the switches hold when this manager becomes master (standing.c). */
struct sm_standing {
    bool any;           /* false: the other members are not set, and no tables can be adopted */
    struct fab_lft lft; /* a copy of the known tables */
    uint64_t *known;    /* bitset of the known blocks: bit sw * blocks + b */
    uint32_t blocks;
    /* [lost_count] links that were up when the tables were made, as far as is known, and are not in
     * the present snapshot */
    struct fab_silent_link *lost;
    uint32_t lost_count;
    /* The completed tables need fewer writes than those of the engine. */
    bool differs;
    /* The tables that switches held, with the missing entries added, passed the proof and are
     * used. */
    bool adopted;
    /* The engine's tables are used without a comparison with other engines, because few writes are
     * needed. */
    bool near;
    struct fab_standing_count count;
};
struct sm_programming {
    struct fab_plan plan;
    struct fab_plan_input in;
    /* Index in the plan of the next write that may be sent. */
    uint32_t next;
    int stage;
    /* LFT writes wait until all SwitchInfo writes (stage SWITCH, plan.h) are answered. */
    bool tables_wait;
    /* Number of LFT writes that are sent and not answered, and for which other writes wait. */
    uint32_t awaited;
    /* Manager's clock at the last answer to an LFT write for which other writes wait; 0: none
     * yet. */
    uint64_t awaited_us;
    /* lossy_us: manager's clock at the first write that leaves pairs without a path. lost_us: time
     * in microseconds until all pairs have a path again. 0: no pair loses its path. */
    uint64_t lossy_us, lost_us;
    /* Number of pairs that may have no path while tables change. */
    uint64_t lost_pairs;
    /* Bitset, by index in the plan, of writes that are sent and not answered. */
    uint64_t *asked;
    /* Bitset of the LFT block numbers (LID / 64) for which a write failed at any switch. In this
     * round, the manager sends no further write of a block with such a number if the write has to
     * wait for other writes. */
    uint64_t failed_block[16];
    /* The round sends no further writes; a later round sends the rest. */
    bool stopped;
    /* Number of LFT writes that failed or were not sent. */
    uint32_t failed_tables;
    uint32_t failed, reported, blocks, switches, writes;
    /* What was not sent because the manager is frozen: number of all writes, of LFT blocks among
     * them, and of switches that have these blocks. */
    uint32_t withheld, withheld_blocks, withheld_switches;
    bool barred; /* no write of the plan is sent, because the manager is frozen (program.c) */
    /* Until the readback, the number of switches whose ports may have changed without a trap. After
     * the readback, the number of ports that have changed. */
    uint32_t unsure;
    /* Bitset of switches that did not acknowledge an LFT write of stage EARLY (plan.h). Their links
     * must not become Active, because the switches may lack the entries of this write. */
    uint64_t *held;
    /* No link may become Active, because a doubtful LFT block could not be restored. */
    bool hold_all;
    /* [node_count] bits of enum sm_touched for each node. */
    uint16_t *touched;
    /* Bitset of ports whose state this round wrote. The readback skips these ports. */
    uint64_t *written;
    /* Number of LFT entries that this round has changed. */
    uint32_t entries;
    /* Number of LFT entries for LIDs of adapters or routers that this round has changed. */
    uint32_t to_ends;
    uint64_t first_write_us, last_write_us;
};
/* What a rebalance gains: the comparison of an engine's tables with the active tables. */
struct sm_gain {
    bool same;
    /* Congestion products (doc/glossary.md) of the active tables (`was`) and of the engine's tables
     * (`now`); the lower one is better. */
    uint64_t was, now;
    /* No order of the writes is safe: in every order, some mixture may deadlock, pairs lose their
     * path for a while, or hosts need new SLs. */
    bool unsafe;
};
struct sm_rebalance { /* state of rebalance.c */
    struct loop_timer *timer;
    /* Manager's clock when the fabric last changed or a trap last came. */
    uint64_t changed_us;
    /* Manager's clock when a rebalance last replaced the tables; 0: none has. */
    uint64_t ended_us;
    /* Generation of the view at the end of the last rebalance. While this view stays published, a
     * rebalance starts only if a caller requests it. */
    uint64_t judged;
    bool asked;          /* a caller requested the next rebalance */
    struct sm_gain gain; /* the gain of the running rebalance */
    /* Outcome of the last rebalance: a sentence for operators. */
    char outcome[256];
};
/* Input of the task that makes a repair session. */
struct sm_repair_making;
struct sm_repair_state { /* state of repair_state.c */
    struct fab_repair_session session;
    /* The value of model.tables for which the session was made. This number identifies a set of
     * active tables. */
    uint64_t tables;
    /* The value of model.tables for which a session was last requested. */
    uint64_t asked;
    /* The worker task that makes a session; NULL: none runs. */
    struct loop_task *task;
    /* The input of a task that will start when the writes start; NULL: none. */
    struct sm_repair_making *sealed;
};
/* VLs and guaranteed shares of the traffic classes. */
struct sm_classes {
    struct fab_qos_report report;
    /* By traffic class: the lowest guaranteed share of a link, per mille. */
    uint16_t guaranteed[FAB_CLASSES_MAX];
};
struct sm_pins { /* state of pins.c */
    struct fab_pins *set;
    /* The time at which the manager first found each host. The map is empty while the worker task
     * has it. */
    struct fab_pins_arrivals arrivals;
    /* Maps a node GUID to the time of the last event about this node, in seconds of the
     * manager's clock. At most FAB_PINS_MAX entries. */
    struct fab_map told;
};
/* Input and result of a comparison of the fabric with a baseline of devices. While the worker task
 * runs, it owns all members. */
struct sm_baseline_job {
    struct fab_fabric *fabric;
    struct fab_baseline *set;
    struct sm_unapproved *was, *made; /* was: the list before the comparison; made: the new list */
    uint32_t was_count, count;
    struct fab_unapproved *left_out; /* [left_out_count] devices that the sweep left out */
    uint32_t left_out_count;
    uint8_t mode;
    int64_t unix_us;
    int status;
};
/* A change of the baseline, defined in baseline_edit.c. */
struct sm_baseline_edit;
struct sm_baseline {          /* state of baseline.c and baseline_edit.c */
    struct fab_baseline *set; /* the baseline; NULL: there is none */
    /* Devices that are not approved: a list of `count` elements, sorted by place. */
    struct sm_unapproved *list;
    uint32_t count;
    uint64_t version;     /* how often the list has been replaced */
    uint32_t quarantined; /* number of quarantined ports in the list */
    /* Hash of the port GUIDs of the quarantined ports; 0: no port is quarantined. */
    uint64_t quarantine;
    /* enum config_unapproved: the setting subnet.unapproved when the settings were last read. */
    uint8_t mode;
    /* Maps a hash of a switch port to the time of the last event about this port, in seconds of
     * the manager's clock. */
    struct fab_map told;
    /* Manager's clock at the start of the period in which window_told counts the emitted events; 0:
     * no event yet. */
    uint64_t window_us;
    uint32_t window_told, untold;
    /* Manager's clock at the last event nodes-unapproved, which sums up many devices; 0: none
     * yet. */
    uint64_t summary_us;
    /* Queue of changes of the baseline; the first one is being made. */
    struct sm_baseline_edit *edits;
    /* Pending while the first change of the baseline waits for the end of a round, or for the
     * database. */
    struct loop_timer *timer;
};
/* The verification of a mixture of tables, defined in mixture.c. */
struct sm_judging;
struct sm_reproof_job; /* a background proof, defined in reproof.c */
struct sm_reproof {    /* state of reproof.c */
    struct loop_timer *timer;
    struct sm_reproof_job *job; /* the running background proof; NULL: none runs */
    /* The worker task that computes a slice of `job`; NULL: no slice runs. */
    struct loop_task *task;
    /* due_us: manager's clock when the first local repair since the last proof of all tables was
     * published; 0: there was none. repaired_us: manager's clock when the last local repair was
     * published. */
    uint64_t due_us, repaired_us;
    /* Number of local repairs published since the manager started. */
    uint64_t repairs;
    struct sm_whole_proof last; /* the last proof of published tables */
    /* Proof of the new tables of a round, until a view with them is published; time_us is 0 if
     * there is none. */
    struct sm_whole_proof fresh;
    uint64_t proofs, failures; /* numbers of background proofs, and of those that found a failure */
    uint64_t cpu_ns;           /* processor time of the background proofs */
};
struct sm_route_job; /* a routing task, defined in route_job.h */
struct planning;     /* a planning task, defined in plan.c */
/* The tables that phase "routing" of a round without a sweep replaced. If a fault interrupts the
 * round before its first write, the manager restores these tables, so that a local repair can
 * begin. */
struct sm_replaced {
    struct fab_target *target; /* the replaced tables; NULL: there are none that can be restored */
    uint64_t tables;           /* number of the replaced tables (model.tables) */
    struct fab_verdict verdict;
    uint64_t lost_pairs, left_out;
    bool unproved; /* a background proof of the replaced tables was due */
};
/* Bytes for the list of names in a summary event. */
#define SM_NAMES_LEN 160

/* Degraded links (degraded.c), sorted by the GUID and port of their first end. */
struct sm_degraded_link {
    uint64_t guid[2];
    uint8_t port[2];
    struct fab_link_condition condition;
};
struct sm_degraded {
    struct sm_degraded_link *link; /* [count] */
    uint32_t count;
};

/* Functions of standing.c. */
struct sm_standing;
/* Returns whether this manager may adopt tables, and the switches may hold some. Switches that were
 * just powered on have no routes, and a copy of their tables would only cost time. */
bool sm_standing_exist(const struct sm *s);
/* Copies the tables that the switches hold, on a worker thread. If memory runs out, *ret does not
 * change. */
void sm_standing_copy(const struct fab_observed *o, struct sm_standing *ret);
/* Completes the tables that the switches hold (libfabmgr/repair/standing.h), on a worker thread.
 * few: only if less than a quarter of the blocks must be written. Sets x->differs if the completed
 * tables need fewer writes than `t`, the tables of the engine; *ret is set only then. Returns OK or
 * NOMEM. */
int sm_standing_complete(struct sm_standing *x, const struct fab_fabric *f,
                         const struct fab_target *t, bool few, struct fab_lft *ret);
/* Does the same as sm_standing_complete, but by a local repair for the lost links, which changes
 * only entries that the lost links make necessary. Also makes the repair session. Returns NOT_FOUND
 * if the repair is not possible: no lost links are known, or they are not the only reason for
 * missing paths. */
int sm_standing_repair(struct sm_standing *x, const struct sm_sealed *of, bool few,
                       struct fab_repair_session *ret_session, struct fab_lft *ret);
/* Moves the tables to adopt, and a copy of the list of lost links, to *ret. */
void sm_standing_take(struct sm *s, struct sm_standing *ret);
/* Reports adopted tables, and lets a rebalance follow. Ends the adoption of tables. */
void sm_standing_report(struct sm *s, const struct sm_standing *x);
void sm_standing_fini(struct sm_standing *x);

struct sm_apply {
    /* This manager has become master and has no tables of its own yet, so it may adopt those that
     * the switches hold. */
    bool adopts;
    bool routes_read; /* since the start, the manager has read an LFT block that has a route */
    /* The tables to adopt, from the phase "addressing" to the phase "routing". */
    struct sm_standing standing;
    /* [lost_count] the links that sweeps found lost since this manager last had tables of its own;
     * filled while `adopts` is set */
    struct fab_silent_link *lost;
    uint32_t lost_count;
    /* The active tables are adopted ones, so a rebalance follows. */
    bool adopted;
    /* engine of the newest tables in the store; "": not known */
    char last_engine[32];
    struct loop_tasks tasks;
    struct sm_scan scan; /* how far the running phase has come */
    /* Target of the running round: at first it has only LIDs, later also tables. NULL: the active
     * target stays. */
    struct fab_target *fresh;
    struct fab_verdict verdict; /* result of the proof of `fresh` */
    struct sm_replaced replaced;
    /* Routing task of the running round, or NULL. */
    struct sm_route_job *job;
    /* Planning task of the running round, or NULL. */
    struct planning *planning;
    struct sm_repair_state repair;
    struct sm_programming program;
    /* Fires when packets have left the fabric and the next writes may be sent. */
    struct loop_timer *settle;
    struct sm_rebalance rebalance;
    struct sm_dry_run *dry_run; /* the running dry run of a reroute or rebalance, or NULL */
    struct sm_reproof reproof;
    struct sm_pins pins;
    struct sm_baseline baseline;
    /* VLs and guaranteed shares of the traffic classes, as sm_classes_report last got them; all
     * zero: none yet. */
    struct sm_classes classes;
    /* Number of pairs without a path in the active tables because of the entries of silent
     * switches. */
    uint64_t lost_pairs;
    /* Generation of the last local repair that left some switches without a route to each other,
     * or that would have had to write fixed tables. An engine must compute new tables after such
     * a repair. 0: none. */
    uint64_t left_out;
    /* Number of switches that show another setting for the enforcement of partitions than the one
     * that they acknowledged, as of the last check. */
    uint32_t unchecked;
    /* The policy changed, so the next plan also writes the timers (for example HOQLife) and the
     * error thresholds of ports. */
    bool tune;
    /* The next plan sets ClientReregister at all hosts, because the store does not have their
     * registrations. */
    bool ask;
    bool asking; /* the running plan sets ClientReregister */
    /* LID of the former master, as in fab_plan_input.former_sm_lid; 0: none. */
    uint32_t former_sm_lid;

    /* mixed: table writes failed, so `verdict` is that of a mixture of old and new tables.
     * mixture_alarm: s->alarm is about this mixture. */
    bool mixed, mixture_alarm;
    /* Table writes of a local repair failed, and the mixture that the switches now hold is not yet
     * verified. */
    bool unjudged;
    /* [failed_count] LFT writes that failed or were not sent (failed_blocks.c). */
    struct sm_failed_block *failed;
    uint32_t failed_count;
    /* The verification of a mixture on the worker; NULL: none runs. */
    struct sm_judging *judging;

    uint64_t generation; /* generation of the last published view */
    uint64_t sweeps, last_sweep_us, last_reroute_us;
    uint64_t links_lost, links_gained; /* numbers of links lost and gained since the start */
    /* Ring buffer of SM_REROUTES records; NULL: no reroute yet. */
    struct reroute *reroutes;
    uint64_t reroute_count;
    struct sm_reroute_times reroute_times;
    /* Links that were reported as degraded, and not as restored. */
    struct sm_degraded degraded;
    struct fab_census census;
    /* Generation of the view whose nodes, ports and links `census` counts; 0: none. */
    uint64_t counted;
    void (*on_publish)(void *ctx); /* the listener of sm_on_publish, or NULL */
    void *on_publish_ctx;
};

/* Functions of repair_state.c. */
/* sm_repair_lend moves the repair session to the routing task, which updates it for the new tables.
 * sm_repair_give_back takes it back. The session is empty if it does not belong to the tables that
 * the routing task replaces. */
void sm_repair_lend(struct sm *s, struct fab_repair_session *ret);
void sm_repair_give_back(struct sm *s, struct fab_repair_session *t);
/* sm_repair_seal collects the input for a new repair session, unless the present session belongs to
 * the new active tables. If sm_repair_is_sealed returns true, the snapshot is a part of this input
 * and must not be changed in place. sm_repair_begin starts the task that makes the session. */
void sm_repair_seal(struct sm *s);
void sm_repair_drop_sealed(struct sm *s);
bool sm_repair_is_sealed(const struct sm *s);
void sm_repair_begin(struct sm *s);
/* Moves the delta of the last update of the repair session to *ret, if the active tables are the
 * result of this update. Otherwise *ret is empty. */
void sm_repair_take_last(struct sm *s, struct fab_repair_delta *ret);
void sm_repair_state_fini(struct sm *s);

/* Functions of pins.c. */
int sm_pins_init(struct sm *s);
int sm_pins_load(struct sm *s); /* replaces the pins by those in the store */
/* Replaces the baseline by that in the store. Returns OK, NOMEM or IO. */
int sm_baseline_load(struct sm *s);
void sm_pins_fini(struct sm *s);

/* Functions of baseline.c. */
int sm_baseline_init(struct sm *s); /* returns OK, NOMEM or IO */
void sm_baseline_fini(struct sm *s);
/* Copies the port GUIDs of the quarantined ports, in ascending order, to a new array *ret. Returns
 * OK or NOMEM. */
int sm_baseline_quarantined(const struct sm *s, uint64_t **ret, size_t *ret_count);

/* sm_baseline_job_new makes the input of a comparison, and returns OK or NOMEM. sm_baseline_job_run
 * makes the comparison, on a worker thread. */
int sm_baseline_job_new(const struct sm *s, struct fab_fabric *f, struct fab_baseline *set,
                        struct sm_baseline_job **ret);
void sm_baseline_job_run(struct sm_baseline_job *j);
void sm_baseline_job_free(struct sm_baseline_job *j); /* j may be NULL */
/* Takes over the list of unapproved devices that the job made; j NULL: no device is unapproved.
 * Returns whether new P_Key tables are needed, because the set of quarantined ports changed. */
bool sm_baseline_take_list(struct sm *s, struct sm_baseline_job *j);

/* Functions of baseline_edit.c. */
int sm_baseline_edit_init(struct sm *s); /* returns OK or NOMEM */
/* Frees all changes. Call this function before the worker tasks that read the snapshot are
 * cancelled. */
void sm_baseline_edit_fini(struct sm *s);

/* Functions of route.c. */
void sm_route_fini(struct sm *s);
/* Makes the tables in s->apply->replaced the active ones again, if there are any. */
void sm_route_restore(struct sm *s);
void sm_route_drop_replaced(struct sm *s);
/* Replaces the line ends of a witness by ';', because the text of an event must be a single line.
 * `text` may be NULL. */
void sm_route_one_line(char *text);

/* Functions of program.c. */
void sm_program_fini(struct sm_programming *p);
struct fab_plan_input sm_program_input(const struct sm *s);
/* Takes ownership of the plan that phase "programming" will send. Returns OK or NOMEM. */
int sm_program_begin(struct sm *s, struct fab_plan *plan);
/* Stops sending writes. The round ends when the writes that are in flight are answered. Another
 * round must then complete the plan, because some switches do not hold the new tables yet. */
void sm_program_stop(struct sm *s);

/* Adds the LFT block of write `op` to the list of blocks that were not written (failed_blocks.c).
 * sent: true if the write was sent but failed, false if it was never sent. */
void sm_failed_note(struct sm *s, const struct fab_plan_op *op, bool sent);
/* Call sm_failed_begin before the writes of a plan for the whole fabric, and sm_failed_prune after
 * the writes of each round. sm_failed_begin removes all blocks from the list, except doubtful
 * ones. sm_failed_prune removes the blocks whose write failed but whose contents are now known. */
void sm_failed_begin(struct sm *s);
/* Returns a new array with one failed write for each doubtful block, which the caller frees; NULL:
 * no memory. */
struct fab_plan_lost *sm_failed_lost(const struct sm *s, uint32_t *ret_count);
void sm_failed_prune(struct sm *s);

/* Ends phase "planning" early (plan.c). Phase "programming" then sends no writes, as after
 * sm_program_stop. */
void sm_plan_stop(struct sm *s);

/* Functions of transition.c. */
struct fab_transition_outcome;
int sm_transition_init(struct sm *s); /* returns OK or NOMEM */
void sm_transition_fini(struct sm *s);
/* Call this function when a plan is made, before its first write is sent. It emits an event if
 * mixtures of tables may have a loop or a cycle of channel dependencies. It emits another event if
 * pairs lose their path for a while. order_us: time in us that proving and ordering the writes
 * took. by_labels: the labels of a local repair proved the order. */
void sm_transition_begin(struct sm *s, const struct fab_transition_outcome *o, bool by_labels,
                         uint64_t order_us);
/* Returns how long to wait until all packets in flight have left the fabric, in microseconds. */
uint64_t sm_transition_settle_us(const struct sm *s);
/* Call sm_transition_sending when write `op` of the plan is sent, and sm_transition_ended when all
 * writes are answered. The functions measure how long pairs have no path during a transition. */
void sm_transition_sending(struct sm *s, uint32_t op);
void sm_transition_ended(struct sm *s);

/* Returns the LID for LID-routed writes to switch `sw` (lid_routed.c); 0: only a directed route is
 * safe, because an LFT entry on the path to the switch or back is unknown or changes. */
uint16_t sm_lid_route_to(const struct sm *s, uint32_t sw);

/* Functions of publish.c. */
/* Publishes the fabric without tables; does nothing if tables exist already. Returns OK or
 * NOMEM. */
int sm_publish_fabric(struct sm *s);
/* Replaces the verdict of the published view, which keeps its generation. Returns OK or NOMEM. */
int sm_publish_verdict(struct sm *s, const struct fab_verdict *verdict);

/* Functions of changes.c. */
/* Emits events about the changes from snapshot `old` to snapshot `now`, as fab_fabric_diff returned
 * them. Reorders the list of changes. */
void sm_report_changes(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                       struct fab_change *changes, size_t count);

/* Returns how many changes of one kind get an event each; more get one summary event. */
size_t sm_events_singly(const struct sm *s);
/* The names in a summary event about links. */
struct sm_link_names {
    /* Name and GUID of the node at which all links end; "": there is no such node. */
    char node[SM_PLACE_LEN];
    uint64_t guid;
    char names[SM_NAMES_LEN + 8]; /* the first links, "leaf-1/5 - spine-2/1, ..." */
};
/* Makes names of links. links: [count] changes; only their GUIDs and ports are read. */
void sm_name_links(const struct fab_fabric *f, const struct fab_change *links, size_t count,
                   struct sm_link_names *ret);

/* Functions of degraded.c. */
/* Lists the `count` degraded links of a snapshot. Runs on a worker thread. Returns OK or NOMEM. */
int sm_degraded_list(const struct fab_fabric *f, uint32_t count, struct sm_degraded *ret);
void sm_degraded_fini(struct sm_degraded *d);
/* Emits events about links that became degraded or were restored since the last report. now: the
 * degraded links of the snapshot f. */
void sm_report_degraded(struct sm *s, const struct fab_fabric *f, const struct sm_degraded *now);

/* Functions of reroutes.c. */
void sm_reroute_changes(struct sm *s, const struct fab_change *changes, size_t count);

/* Functions of rebalance.c. */
int sm_rebalance_init(struct sm *s); /* returns OK or NOMEM */
void sm_rebalance_fini(struct sm *s);
/* Returns the number of active LFT entries that local repairs changed since an engine last computed
 * the tables. */
uint64_t sm_rebalance_entries(const struct sm *s);
bool sm_rebalance_due(const struct sm *s, uint64_t *ret_at_us);
/* Sets the timer of the next rebalance, if one will be due later. */
void sm_rebalance_prepare(struct sm *s);
/* Compares how evenly two sets of tables spread load. Runs on a worker thread. Returns OK, NOMEM,
 * or BUSY if the task was cancelled. */
int sm_rebalance_weigh(const struct fab_fabric *f, const struct fab_target *active,
                       const struct fab_target *fresh, struct loop_task *task, struct sm_gain *ret);
/* Checks whether the writes of the new tables have a safe order, and sets gain->unsafe if not. Runs
 * on a worker thread, only if the new tables spread load better. Returns OK, NOMEM or INVAL. */
int sm_rebalance_order(const struct fab_fabric *f, const struct fab_target *active,
                       const struct fab_target *fresh, const struct fab_pool *pool,
                       struct sm_gain *gain);
static inline bool sm_gains(const struct sm_gain *g)
{
    return !g->same && g->now < g->was && !g->unsafe;
}
/* Writes why a rebalance keeps the active tables. `why` is described at sm_rebalance_skipped. */
#define SM_OBJECTION_LEN 220
void sm_rebalance_objection(const struct sm_gain *gain, const char *why,
                            char ret[SM_OBJECTION_LEN]);
/* Emits rebalance-skipped. why: the reasons why no engine could compute tables. NULL: the tables of
 * an engine were no better than the active ones, or had no safe order. */
void sm_rebalance_skipped(struct sm *s, const struct sm_gain *gain, const char *why);
void sm_rebalance_report(struct sm *s);

/* Functions of dry_run.c. */
void sm_dry_run_fini(struct sm *s);

/* Functions of reproof.c. */
int sm_reproof_init(struct sm *s); /* returns OK or NOMEM */
void sm_reproof_fini(struct sm *s);
/* Call this function when the view of a local repair was published. It notes that the tables
 * need a background proof. */
void sm_reproof_repaired(struct sm *s);
/* sm_reproof_whole notes that a round has proved all new tables, and drops the background proof,
 * which is no longer needed. sm_reproof_published notes that the view with these tables was
 * published. */
void sm_reproof_whole(struct sm *s, uint64_t duration_us);
void sm_reproof_published(struct sm *s);
void sm_reproof_get_status(const struct sm *s, struct sm_proof *ret);

/* Notes whether a switch port enforces partitions (partition.c), after its answer to a PortInfo
 * write has updated the snapshot. */
void sm_partition_acknowledged(struct sm *s, uint32_t port);

/* Functions of classes.c. */
/* Returns whether the VLs were made for the number of traffic classes that the policy has. */
bool sm_classes_fit(const struct fab_policy *p, const struct fab_vls *v);
/* Divides the VLs of the engine in of->target among all traffic classes. Returns OK or NOMEM. */
int sm_classes_compose(const struct sm_sealed *of, struct sm_classes *ret);
/* The entries that silent switches hold, with the switch ids of a snapshot (fixed.c). */
struct sm_fixed {
    uint32_t count;  /* number of silent switches */
    uint32_t needed; /* number of silent switches that routes cannot avoid */
    uint32_t *sw;    /* [count] ids of the silent switches */
    /* [count] 1: entries of this silent switch are known; 0: none is known. */
    uint8_t *known;
    uint32_t top;
    uint8_t *entry; /* [count][top + 1] LFT entries that the silent switches hold */
};
int sm_fixed_take(const struct sm *s, struct sm_fixed *ret); /* returns OK or NOMEM */
void sm_fixed_fini(struct sm_fixed *x);
/* Gives the silent switches in the new tables the entries that they hold. *ret_changed says whether
 * this changed an entry of a switch that routes cannot avoid. Returns OK or NOMEM. */
int sm_fixed_apply(const struct sm_fixed *x, const struct fab_fabric *f, struct fab_target *t,
                   bool *ret_changed);
/* Returns whether the fabric can change from the VLs `was` to the VLs `now`. If routes cannot avoid
 * a silent switch, `now` and `was` must be the same, because the SL-to-VL tables of this switch
 * cannot be written. */
bool sm_fixed_accepts_vls(const struct sm_fixed *x, const struct fab_vls *was,
                          const struct fab_vls *now);

/* Emits events if the VLs or guaranteed shares of the classes differ from the last report. */
void sm_classes_report(struct sm *s, const struct sm_classes *now);

#endif
