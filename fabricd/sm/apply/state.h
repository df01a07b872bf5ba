/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/apply, for this folder only. */
#ifndef FABRICD_SM_APPLY_STATE_H
#define FABRICD_SM_APPLY_STATE_H

#include "fabricd/sm/apply/apply.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/condition.h"
#include "libfabmgr/plan/lft_changes.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/repair/standing.h"
#include "libfabmgr/target/pins.h"

#define SM_REROUTES 256 /* number of reroute records kept in memory */

/* Maximum number of LFT entries and channels that the computation of the order of the writes
 * visits. It limits the CPU time of the computation to about 1.5 s, because a local repair must
 * wait meanwhile. */
#define SM_TRANSITION_VISITS 100000000u

/* The position of a phase that reads tables block by block. index: the port or switch that is read
 * next. block: number of the block that is read next. */
struct sm_scan {
    uint32_t index, block;
};
enum sm_touched {
    SM_WRITTEN = 1,
    SM_UNRESPONSIVE = 2,
    SM_UNSURE = 4,
    SM_LANES_FAILED = 8,
    /* SM_BY_LID: LFT writes to this switch are LID-routed SMPs. SM_BY_PATH: they are directed-route
     * SMPs. */
    SM_BY_LID = 16,
    SM_BY_PATH = 32,
    SM_REFUSED = 64,  /* a write to this node failed */
    SM_TOOK = 128,    /* the node acknowledged a write of this round */
    SM_WITHHELD = 256 /* an LFT write to this switch was left out, because the manager is frozen */
};
/* The tables that the switches hold when this manager becomes master, and the result of the attempt
 * to adopt them (standing.c). */
struct sm_standing {
    bool any; /* false: there are no tables that can be adopted, and all other members are empty */
    struct fab_lft lft; /* copy of the tables that the switches hold, as far as they are known */
    uint64_t *known;    /* bitset of the known blocks: bit sw * blocks + b */
    uint32_t blocks;
    /* [lost_count] links that the present snapshot lacks, but that were probably up when the tables
     * were made */
    struct fab_silent_link *lost;
    uint32_t lost_count;
    /* the tables of the switches, with their missing paths added, are to be used if they pass the
     * proof: they need fewer writes than the engine's tables or, if a local repair adds the paths,
     * few writes */
    bool differs;
    /* the tables of the switches, with their missing paths added, have passed the proof, and are
     * the new tables */
    bool adopted;
    /* the engine's tables need so few writes that other engines are not compared */
    bool near;
    struct fab_standing_count count;
};
/* What the event tables-adopted reports. The members mean the same as in struct sm_standing. */
struct sm_adopted {
    bool adopted, near;
    struct fab_standing_count count;
};
/* The tables that a standby manager has read (standby.c). */
struct sm_standby {
    struct loop_timer *timer; /* fires when the next round in standby may be due */
    uint64_t due_us;          /* manager's clock when it is due */
    /* The model has a snapshot, and tables in `target` that were proved, as the last round in
     * standby found them in the switches. */
    bool ready;
    /* A round in standby has changed the model since this manager became standby. */
    bool used;
    /* This manager has become master with these tables, and has not read all blocks since. The
     * blocks that it has not read are doubtful (struct fab_observed). */
    bool unchecked;
    /* A block that was read again differs from the block that was read before. */
    bool differs;
    /* This manager has become master, and first reads what the former master has changed
     * (behind.c). It uses no tables before. */
    bool catching;
    /* The fabric and the tables of the last complete round in standby, for queries; NULL: no round
     * is complete. read_us: Unix time in us at which this round began. */
    struct fab_view *view;
    int64_t read_us;
    bool reported; /* the event sm-standby-ready was emitted since this manager became standby */
    struct sm_adopted adopted;
    /* Revisions of the master's announcement (replica_order_revision). order_begun: the revision at
     * the beginning of the running round in standby. order: the revision at the beginning of the
     * last round that ended with `ready` true. */
    int64_t order_begun, order;
    /* whether the proof of a local repair may rely on the tables that were read (standby.c) */
    enum sm_standby_trust trust;
    struct loop_timer *trust_timer;
    uint64_t trust_until_us; /* manager's clock until which `trust` may be WAITS */
};
/* What a standby manager has not read since the master changed it (behind.c). */
struct sm_behind {
    /* Number of the claim of the leader whose record arrived last, and of the last change in it;
     * claim 0: no record has arrived. */
    int64_t claim;
    uint64_t last;
    uint64_t came_us; /* manager's clock when the last record or decision arrived */
    /* `set`: changes that no round has read yet. `reading`: those that the running round reads, or
     * that an interrupted round was reading. */
    struct fab_lft_changes set, reading;
    bool decided; /* decisions about links have arrived that are not loaded yet */
    /* The running or last round: done: its tables are proved, or equal those before. differs: a
     * block differed. failed: a block could not be read. */
    bool done, differs, failed;
    /* reads_all: a complete round in standby is reading tables. resumes: such a round was
     * interrupted, and the next one reads only what it has not read. interrupted: number of
     * interruptions since the last complete round. */
    bool reads_all, resumes;
    unsigned interrupted;
};
/* The changes of this master that no majority has confirmed yet (changed_blocks.c). */
struct sm_changed {
    struct loop_timer *timer; /* fires when the record may be replaced */
    struct fab_lft_changes set;
    uint64_t last;   /* number of the last change */
    uint64_t put_us; /* manager's clock when the record was last replaced; 0: never */
};
/* An ISL. The first end is the one with the lower port id. */
struct sm_announced_link {
    uint64_t guid[2]; /* node GUIDs */
    uint8_t num[2];   /* port numbers */
    bool up;          /* false: a local repair has removed the link since the list was made */
};
struct sm_announce {          /* state of announce.c */
    struct loop_timer *timer; /* polls whether phase "planning" still waits */
    /* The last announcement says that the tables follow an order. */
    bool follows;
    /* manager's clock when phase "planning" began to wait; 0: it does not wait */
    uint64_t since_us;
    /* the state at the last announcement: which tables were active (the value of model.tables), and
     * how many commits their repair session had made */
    uint64_t tables, commits;
    /* [links] the ISLs that were up then, or that local repairs have brought back since, sorted by
     * their first ends */
    struct sm_announced_link *link;
    size_t links;
    /* Which tables were active when the list was made (the value of model.tables). Local repairs
     * keep the list up to date. 0: there is no list, or it is not up to date. */
    uint64_t listed;
};
struct sm_programming {
    struct fab_plan plan;
    struct fab_plan_input in;
    /* index in the plan of the next write that is not sent yet */
    uint32_t next;
    int stage;
    /* LFT writes wait until all SwitchInfo writes (stage SWITCH, plan.h) are answered. */
    bool tables_wait;
    /* number of LFT writes in flight for whose answers other writes wait */
    uint32_t awaited;
    /* manager's clock when an LFT write for which other writes wait was last answered; 0: none
     * yet */
    uint64_t awaited_us;
    /* lossy_us: manager's clock when the round sent the first write that leaves pairs without a
     * path. lost_us: the time in us from lossy_us until all pairs had a path again. 0: not yet, or
     * no pair loses its path. */
    uint64_t lossy_us, lost_us;
    /* Number of pairs that may have no path while tables change. */
    uint64_t lost_pairs;
    /* bitset, by index in the plan: the write is in flight */
    uint64_t *asked;
    /* Bitset of LFT block numbers (LID / 64). For a block number whose bit is set, this round sends
     * no more writes that must wait for other writes (op->waits), at any switch. A bit is set when
     * a write for which others wait (op->awaited) has failed, or cannot be sent because its switch
     * is silent. In a transition of several steps, one such failed write sets all bits. */
    uint64_t failed_block[16];
    /* The round sends no further writes; a later round sends the rest. */
    bool stopped;
    /* Number of LFT writes that failed or were not sent. */
    uint32_t failed_tables;
    uint32_t failed, reported, blocks, switches, writes;
    /* Writes that were left out because the manager is frozen. withheld: number of these writes.
     * withheld_blocks: number of LFT blocks among them. withheld_switches: number of switches that
     * have these blocks. */
    uint32_t withheld, withheld_blocks, withheld_switches;
    /* no write of the plan is sent, because the frozen manager must not bring up links
     * (program.c) */
    bool barred;
    /* before phase "reading back": number of switches whose ports this phase must read again. After
     * it: number of their ports that have changed. */
    uint32_t unsure;
    /* Bitset of switches that did not acknowledge an LFT write of stage EARLY (plan.h). Their links
     * must not become Active, because the switches may lack the entries of this write. */
    uint64_t *held;
    /* true: no new link may become Active, because a doubtful LFT block could not be restored */
    bool hold_all;
    /* [node_count] bits of enum sm_touched for each node. */
    uint16_t *touched;
    /* Bitset of ports whose state this round wrote. The readback skips these ports. */
    uint64_t *written;
    /* Number of LFT entries that this round has changed. */
    uint32_t entries;
    /* number of the changed entries (`entries`) whose LID belongs to an adapter or router */
    uint32_t to_ends;
    uint64_t first_write_us, last_write_us;
};
/* Compares an engine's tables with the active tables, for a rebalance. */
struct sm_gain {
    bool same;
    /* Congestion products (doc/glossary.md) of the active tables (`was`) and of the engine's tables
     * (`now`); the lower one is better. */
    uint64_t was, now;
    /* The writes have no safe order: in each order some mixture may deadlock, or pairs lose their
     * path for a while, or hosts need new SLs. */
    bool unsafe;
};
struct sm_rebalance { /* state of rebalance.c */
    struct loop_timer *timer;
    /* Manager's clock when the fabric last changed or a trap last came. */
    uint64_t changed_us;
    /* Manager's clock when a rebalance last replaced the tables; 0: none has. */
    uint64_t ended_us;
    /* Generation of the view after the last rebalance. While it stays published, the timer starts
     * no rebalance, because the engine would find the same tables again. */
    uint64_t judged;
    bool asked;          /* true: a caller requested the next rebalance, not the timer */
    struct sm_gain gain; /* the gain of the running rebalance */
    /* Outcome of the last rebalance: a sentence for operators. */
    char outcome[256];
};
/* Input of the task that makes a repair session. */
struct sm_repair_making;
struct sm_repair_state { /* state of repair_state.c */
    struct fab_repair_session session;
    /* the session is for the active tables with this number (model.tables) */
    uint64_t tables;
    /* the number (model.tables) of the active tables for which a session was last requested */
    uint64_t asked;
    /* The worker task that makes a session; NULL: none runs. */
    struct loop_task *task;
    /* the input of a task that starts together with the writes of the new tables; NULL: none */
    struct sm_repair_making *sealed;
};
/* VLs and guaranteed shares of the traffic classes. */
struct sm_classes {
    struct fab_qos_report report;
    /* [traffic class] the lowest share of a link that is guaranteed to the class, per mille */
    uint16_t guaranteed[FAB_CLASSES_MAX];
};
struct sm_pins { /* state of pins.c */
    struct fab_pins *set;
    /* when the manager first found each host; empty while the worker task has the map */
    struct fab_pins_arrivals arrivals;
    /* maps a node GUID to the time of the last event about this node, in seconds of the manager's
     * clock; at most FAB_PINS_MAX entries */
    struct fab_map told;
};
/* The input and the result of a comparison of the fabric with the baseline of devices. No other
 * code uses this struct while the worker task runs. */
struct sm_baseline_job {
    struct fab_fabric *fabric;
    struct fab_baseline *set;
    /* the lists of unapproved devices before the comparison (`was`) and after it (`made`) */
    struct sm_unapproved *was, *made;
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
    uint64_t version;     /* number of times that `list` was replaced */
    uint32_t quarantined; /* number of quarantined ports in the list */
    /* Hash of the port GUIDs of the quarantined ports; 0: no port is quarantined. */
    uint64_t quarantine;
    /* enum config_unapproved: the setting subnet.unapproved when the settings were last read. */
    uint8_t mode;
    /* maps a hash of a switch port to the time of the last event about this port, in seconds of the
     * manager's clock */
    struct fab_map told;
    /* window_us: manager's clock when the present period of TELL_EVERY_US began; 0: no event yet.
     * window_told: number of events in this period. untold: number of devices that the next summary
     * event counts. */
    uint64_t window_us;
    uint32_t window_told, untold;
    /* Manager's clock at the last event nodes-unapproved, which sums up many devices; 0: none
     * yet. */
    uint64_t summary_us;
    /* Queue of changes of the baseline; the first one is being made. */
    struct sm_baseline_edit *edits;
    /* fires when the first change of the baseline checks again whether the round has ended, or
     * whether the database has committed the change */
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
    /* number of local repairs that were published since the start */
    uint64_t repairs;
    /* the last proof of all published tables that found no failure, in a round or in the
     * background */
    struct sm_whole_proof last;
    /* the proof of all new tables of the running round; becomes `last` when they are published;
     * time_us is 0 if there is none */
    struct sm_whole_proof fresh;
    /* proofs: number of background proofs that have ended. failures: number of those that
     * failed. */
    uint64_t proofs, failures;
    uint64_t cpu_ns; /* processor time of the background proofs */
};
struct sm_polish_job; /* a search, defined in polish.c */
struct sm_polish {    /* state of polish.c */
    struct loop_timer *timer;
    struct sm_polish_job *job; /* the running search; NULL: none runs */
    /* the worker task that computes a slice of `job`; NULL: no slice runs */
    struct loop_task *task;
    /* ready: `job` has tables that wait for their rebalance. lent: the running rebalance has
     * taken them. */
    bool ready, lent;
    /* The tables that need no further search: their number (model.tables; 0: none), and the record
     * of the run of engines that made them (a reference, or NULL). */
    uint64_t done_tables;
    struct fab_choice *done_run;
    uint64_t cpu_ns; /* processor time of the last search */
    char text[200];  /* what the search does or has done, for operators; "": nothing yet */
};
struct sm_route_job; /* a routing task, defined in route_job.h */
struct planning;     /* a planning task, defined in plan.c */
/* The tables that were active before phase "routing" of this round. (A round has none if its sweep
 * found changes.) If a fault interrupts the round before its first write, they become active again,
 * so that a local repair can begin. */
struct sm_replaced {
    struct fab_target *target; /* the replaced tables; NULL: there are none that can be restored */
    uint64_t tables;           /* number of these tables (model.tables) */
    struct fab_verdict verdict;
    uint64_t lost_pairs, left_out;
    bool unproved; /* these tables were waiting for a background proof */
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
/* Returns whether this manager may adopt tables, and there may be any: it has read a route from
 * some switch, or has published a view before. If all switches were just powered on, there is
 * nothing to adopt. */
bool sm_standing_exist(const struct sm *s);
/* Copies the tables that the switches hold to *ret. Runs on a worker thread. If memory runs out,
 * *ret stays empty. */
void sm_standing_copy(const struct fab_observed *o, struct sm_standing *ret);
/* Makes tables of this size from those that the switches hold. Unknown entries become NO_ROUTE.
 * Returns NOMEM. */
int sm_standing_held(const struct sm_standing *x, uint32_t switches, uint32_t top,
                     struct fab_lft *ret);
/* Adds the missing paths to the tables that the switches hold (libfabmgr/repair/standing.h). Runs
 * on a worker thread. `t`: the engine's tables. Sets x->differs and *ret if the result needs fewer
 * writes than the engine's tables. few: it must also need writes of less than a quarter of all
 * blocks. Returns OK or NOMEM. */
int sm_standing_complete(struct sm_standing *x, const struct fab_fabric *f,
                         const struct fab_target *t, bool few, struct fab_lft *ret);
/* Like sm_standing_complete, but adds the missing paths by a local repair for the lost links. Also
 * makes the repair session. Sets x->differs and *ret also if the repaired tables need more writes
 * than the engine's tables, but writes of less than a quarter of all blocks. Returns NOT_FOUND if
 * such a repair is not possible: no lost links are known, or paths are missing for other reasons,
 * too. */
int sm_standing_repair(struct sm_standing *x, const struct sm_sealed *of, bool few,
                       struct fab_repair_session *ret_session, struct fab_lft *ret);
/* Connects the ends of a lost link again, if both are free. Returns OK or NOMEM. */
int sm_standing_connect(struct fab_fabric *f, const struct fab_silent_link *l);
/* Moves to *ret the copy of the tables that the switches hold, and copies the list of lost links to
 * it. */
void sm_standing_take(struct sm *s, struct sm_standing *ret);
/* Call this function when the tables are chosen. Calls sm_standing_adopted; no tables are adopted
 * after that. In a round in standby, only stores the facts for sm_standing_adopted, which is then
 * called at the take-over. */
void sm_standing_report(struct sm *s, const struct sm_standing *x);
void sm_standing_forget_lost(struct sm *s); /* empties s->apply->lost */
/* If the tables that the switches held were adopted, reports it, and requests a reroute if they
 * came from an engine that is not in the settings any more. Lets a rebalance follow if they were
 * adopted, or if the engine's tables were used without a comparison with other engines (`near`) and
 * changed blocks. */
void sm_standing_adopted(struct sm *s, const struct sm_adopted *x);
void sm_standing_fini(struct sm_standing *x);

struct sm_apply {
    /* This manager has become master and has no tables of its own yet, so it may adopt those that
     * the switches hold. */
    bool adopts;
    bool routes_read; /* this manager has read a route from the LFT of some switch */
    /* copy of the tables that the switches hold; phase "addressing" makes it, and phase "routing"
     * takes it */
    struct sm_standing standing;
    struct sm_standby standby;
    struct sm_behind behind;
    struct sm_announce announce;
    struct sm_changed changed;
    /* [lost_count] links that were found lost since this manager last had tables of its own;
     * collected only while `adopts` is true */
    struct fab_silent_link *lost;
    uint32_t lost_count;
    /* A rebalance must follow, because the active tables were adopted, because they are an engine's
     * and were not compared with those of other engines (sm_standing_adopted), or because they had
     * local repairs when this manager took over. */
    bool adopted;
    /* engine of the newest tables in the store; "": not known */
    char last_engine[32];
    struct loop_tasks tasks;
    struct sm_scan scan; /* position of the running phase, if it reads tables */
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
    /* fires when packets in flight have left the fabric, so that the next writes may be sent */
    struct loop_timer *settle;
    struct sm_rebalance rebalance;
    struct sm_polish polish;
    struct sm_dry_run *dry_run; /* the running dry run of a reroute or rebalance, or NULL */
    struct sm_reproof reproof;
    struct sm_pins pins;
    struct sm_baseline baseline;
    /* VLs and guaranteed shares of the traffic classes in the last report (sm_classes_report); all
     * zero: none yet */
    struct sm_classes classes;
    /* Number of pairs without a path in the active tables because of the entries of silent
     * switches. */
    uint64_t lost_pairs;
    /* Generation of the view of the last local repair that left pairs of switches without a route,
     * or that could not write fixed tables which it had to change. An engine must then compute new
     * tables. 0: none. */
    uint64_t left_out;
    /* number of switches that enforce partitions in another way than they acknowledged, when this
     * was last checked */
    uint32_t unchecked;
    /* timers (such as HOQLife) or error thresholds of ports changed in the policy, so the next plan
     * writes them */
    bool tune;
    /* If one of these is true, the next plan sets ClientReregister at all hosts. ask_first: the
     * store has no note that a manager has asked them; cleared if such a note arrives from another
     * manager. ask: registrations may be missing (sm_apply_ask), or a plan that asked the hosts was
     * stopped before all its writes were sent. */
    bool ask_first, ask;
    bool asking; /* the plan that was last made for all nodes sets ClientReregister */
    /* LID of the former master, as in fab_plan_input.former_sm_lid; 0: none. */
    uint32_t former_sm_lid;

    /* mixed: table writes failed, so the switches hold a mixture, and `verdict` is its verdict.
     * mixture_alarm: the present alarm is about this mixture. */
    bool mixed, mixture_alarm;
    /* table writes of a local repair failed, and the resulting mixture of tables is not verified
     * yet */
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
    /* generation of the view for which `census` has the numbers of nodes, ports and links; 0:
     * none */
    uint64_t counted;
    void (*on_publish)(void *ctx); /* the listener of sm_on_publish, or NULL */
    void *on_publish_ctx;
};

/* Functions of standby.c. */
int sm_standby_init(struct sm *s); /* returns OK or NOMEM */
void sm_standby_fini(struct sm *s);
void sm_standby_get_status(const struct sm *s, struct sm_status *ret);
/* Call these functions in the phase "reading tables". sm_standby_read_again makes a round in
 * standby read all blocks again. sm_standby_compare is called before a block that was read enters
 * the model. sm_standby_compared is called when all blocks are read: it drops the tables of the
 * model if the switches hold others. It returns OK, SM_ROUND_OVER (a round in standby has found no
 * change) or NOMEM. */
void sm_standby_read_again(struct sm *s);
void sm_standby_compare(struct sm *s, uint32_t sw, uint32_t block, const uint8_t *entries);
int sm_standby_compared(struct sm *s);

/* Lets the timer of rounds in standby fire within this time. */
void sm_standby_look(struct sm *s, uint64_t within_us);
/* A round has read what the master had changed. sm_standby_caught_up: in standby.
 * sm_standby_conclude: after a take-over. good: the tables are proved. */
void sm_standby_caught_up(struct sm *s, bool good);
void sm_standby_conclude(struct sm *s, bool good);
/* The settings were read again: what was read in standby is not used any more. */
void sm_standby_reload(struct sm *s);

/* Functions of behind.c. */
void sm_behind_init(struct sm *s);
void sm_behind_fini(struct sm *s);
void sm_behind_drop(struct sm *s); /* This manager has stopped being master. */
/* Returns whether the leader that announced the order last has a record, which then tells when
 * something must be read again. The setting `replication` must be in use. */
bool sm_behind_hears(const struct sm *s);
/* Returns whether everything may have changed since the last complete round in standby began. */
bool sm_behind_lost(const struct sm *s);
/* Returns whether a round can read what has changed, and follow it. */
bool sm_behind_can_catch_up(const struct sm *s);
/* Returns the manager's clock when this round is due; UINT64_MAX: no such round is needed. */
uint64_t sm_behind_due_us(const struct sm *s);
/* A complete round in standby begins; the phase "reading tables" begins in it; it has ended.
 * sm_behind_resumes returns whether it reads only what the interrupted round has not read. */
void sm_behind_reads_all(struct sm *s);
bool sm_behind_resumes(struct sm *s);
void sm_behind_read_all(struct sm *s, bool done);
/* Returns whether a complete round in standby was interrupted, and none has ended since. */
bool sm_behind_interrupted(const struct sm *s);
/* Moves *block to the next block of this switch that must be read. Returns false if there is none
 * below `end`. */
bool sm_behind_next(struct sm *s, uint32_t sw, uint32_t end, uint32_t *block);
/* Compares a block before it enters the model; entries NULL: it could not be read. */
void sm_behind_answer(struct sm *s, uint32_t sw, uint32_t block, const uint8_t *entries);
/* All blocks are read. Returns OK if tables must be proved; otherwise SM_ROUND_OVER. */
int sm_behind_compared(struct sm *s);
/* The round has proved the tables of the switches, or has failed to do so. */
void sm_behind_proved(struct sm *s, bool good);
/* This manager has become master. Returns true if it first reads what the former master has
 * changed; sm_standby_conclude is then called. */
bool sm_behind_take_over(struct sm *s);

/* Functions of changed_blocks.c. */
int sm_changed_init(struct sm *s); /* returns OK or NOMEM */
void sm_changed_fini(struct sm *s);
/* Records the LFT blocks of the running plan. Call this function before its first write and after
 * its last one. */
void sm_changed_plan(struct sm *s);
void sm_changed_all(struct sm *s); /* Records that all blocks may change. */
/* Record links that a local repair has removed or brought back, and changes of the fabric. */
void sm_changed_repair(struct sm *s, const struct sm_link *link, uint32_t count);
void sm_changed_fabric(struct sm *s, const struct fab_change *change, size_t count);

/* Functions of announce.c. */
/* *ret_hash: the hash of the ISLs of f that are up, as an announcement has it. Returns NOMEM. */
int sm_announce_links(const struct fab_fabric *f, uint64_t *ret_hash);
int sm_announce_init(struct sm *s); /* returns OK or NOMEM */
void sm_announce_fini(struct sm *s);
/* Call sm_announce_plan before a plan for the active tables is made. While sm_announce_waits
 * returns true, the caller must not send any write of the plan; sm_run_check is called when it
 * would return false. */
void sm_announce_plan(struct sm *s);
bool sm_announce_waits(const struct sm *s);

/* Functions of repair_state.c. */
/* The routing task updates the repair session for the new tables. sm_repair_lend moves the session
 * to the task; *ret is empty if the session is not for the tables that are replaced.
 * sm_repair_give_back takes it back. */
void sm_repair_lend(struct sm *s, struct fab_repair_session *ret);
void sm_repair_give_back(struct sm *s, struct fab_repair_session *t);
/* These functions prepare a repair session for new active tables. sm_repair_seal collects the
 * input, unless the present session already is for these tables. While sm_repair_is_sealed returns
 * true, the snapshot is a part of the input and must not be changed in place. sm_repair_begin
 * starts the task that makes the session. */
void sm_repair_seal(struct sm *s);
void sm_repair_drop_sealed(struct sm *s);
bool sm_repair_is_sealed(const struct sm *s);
void sm_repair_begin(struct sm *s);
/* If the active tables were made by an update of the repair session, moves the delta of this update
 * to *ret. Otherwise *ret is empty. */
void sm_repair_take_last(struct sm *s, struct fab_repair_delta *ret);
void sm_repair_state_fini(struct sm *s);

/* Functions of pins.c. */
int sm_pins_init(struct sm *s);
int sm_pins_load(struct sm *s); /* replaces the pins by those in the store */
/* Replaces the baseline by that in the store. Returns OK, NOMEM, IO or FORMAT. */
int sm_baseline_load(struct sm *s);
void sm_pins_fini(struct sm *s);

/* Functions of baseline.c. */
int sm_baseline_init(struct sm *s); /* returns OK, NOMEM, IO or FORMAT */
void sm_baseline_fini(struct sm *s);
/* Copies the port GUIDs of the quarantined ports (effect SM_QUARANTINED), in ascending order, to a
 * new array *ret. Returns OK or NOMEM. */
int sm_baseline_quarantined(const struct sm *s, uint64_t **ret, size_t *ret_count);

/* sm_baseline_job_new makes the input for a comparison of the fabric `f` with the baseline `set`.
 * It returns OK or NOMEM. sm_baseline_job_run makes this comparison, on a worker thread. */
int sm_baseline_job_new(const struct sm *s, struct fab_fabric *f, struct fab_baseline *set,
                        struct sm_baseline_job **ret);
void sm_baseline_job_run(struct sm_baseline_job *j);
void sm_baseline_job_free(struct sm_baseline_job *j); /* j may be NULL */
/* Replaces the list of unapproved devices by the one that the job has made (j NULL: by an empty
 * list). Returns true if other ports are quarantined than before, so that new P_Key tables are
 * needed. */
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
/* The text of an event is a single line. Replaces line ends in the text of a witness by ';'. `text`
 * may be NULL. */
void sm_route_one_line(char *text);

/* Functions of program.c. */
void sm_program_fini(struct sm_programming *p);
struct fab_plan_input sm_program_input(const struct sm *s);
/* Takes ownership of the plan that phase "programming" will send. asks: fab_plan_input.ask when the
 * plan was made; if a request to ask the hosts came later, the next plan asks them. Returns OK or
 * NOMEM. */
int sm_program_begin(struct sm *s, struct fab_plan *plan, bool asks);
/* The round sends no more writes, and ends when those in flight are answered. Switches may then
 * lack entries of the new tables, so another round must follow. */
void sm_program_stop(struct sm *s);

/* Notes that the LFT block of write `op` is not written (failed_blocks.c). sent: true if the write
 * was sent and failed; false if it was not sent. */
void sm_failed_note(struct sm *s, const struct fab_plan_op *op, bool sent);
/* Removes from the list of failed blocks all blocks that are not doubtful. Call this function
 * before a plan for the whole fabric is sent, which repeats all writes. */
void sm_failed_begin(struct sm *s);
/* Returns a new array with the failed writes of all doubtful blocks, which the caller frees; NULL:
 * no memory. */
struct fab_plan_lost *sm_failed_lost(const struct sm *s, uint32_t *ret_count);
/* Removes from the list of failed blocks those whose write failed and whose contents are known
 * again. Call this function after the writes of each round. */
void sm_failed_prune(struct sm *s);

/* Ends phase "planning" early (plan.c). Phase "programming" then sends no writes, as after
 * sm_program_stop. */
void sm_plan_stop(struct sm *s);

/* Functions of transition.c. */
struct fab_transition_outcome;
int sm_transition_init(struct sm *s); /* returns OK or NOMEM */
void sm_transition_fini(struct sm *s);
/* Call this function when a plan is made, before its first write is sent. It emits
 * transition-unproved if there is no proof that all mixtures of old and new tables are free of
 * loops and of cycles of channel dependencies, and paths-paused if pairs lose their path for a
 * while. order_us: time in us that proving and ordering the writes took. by_labels: the labels
 * of a local repair proved the order. */
void sm_transition_begin(struct sm *s, const struct fab_transition_outcome *o, bool by_labels,
                         uint64_t order_us);
/* Returns how long to wait for packets in flight to leave the fabric, in microseconds. The time is
 * usually enough, but no guarantee (transition.c). */
uint64_t sm_transition_settle_us(const struct sm *s);
/* Call sm_transition_sending when write `op` of the plan is sent, and sm_transition_ended after
 * the last write, when each write was answered or has failed. The functions measure how long pairs
 * have no path during a transition. */
void sm_transition_sending(struct sm *s, uint32_t op);
void sm_transition_ended(struct sm *s);

/* Returns the LID for LID-routed writes to switch `sw` (lid_routed.c); 0: only a directed route is
 * safe, because an LFT entry on the path to the switch or back is unknown or changes. */
uint16_t sm_lid_route_to(const struct sm *s, uint32_t sw);

/* Functions of publish.c. */
/* Makes a view of the snapshot, with these tables (NULL: without tables) and the next generation.
 * Returns OK or NOMEM. */
int sm_make_view(struct sm *s, struct fab_target *target, struct fab_view **ret);
/* Publishes the present snapshot without tables. Does nothing if the published view has tables (of
 * any snapshot), or is already a view of the present snapshot. Returns OK or NOMEM. */
int sm_publish_fabric(struct sm *s);
/* Replaces the verdict of the published view, which keeps its generation. Returns OK or NOMEM. */
int sm_publish_verdict(struct sm *s, const struct fab_verdict *verdict);

/* Functions of changes.c. */
/* Emits events about the changes from snapshot `old` to snapshot `now`, as fab_fabric_diff returned
 * them. Reorders the list of changes, and may overwrite some of them. */
void sm_report_changes(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                       struct fab_change *changes, size_t count);

/* Returns the maximum number of changes of one kind that get an event each. If there are more
 * changes, one summary event replaces these events. */
size_t sm_events_singly(const struct sm *s);
/* The names in a summary event about links. */
struct sm_link_names {
    /* Name and GUID of the node at which all links end; "": there is no such node. */
    char node[SM_PLACE_LEN];
    uint64_t guid;
    char names[SM_NAMES_LEN + 8]; /* the names of the first links, as "leaf-1/5 - spine-2/1, ..." */
};
/* Writes the names for a summary event. links[count]: of each change, only GUIDs and ports are
 * used. */
void sm_name_links(const struct fab_fabric *f, const struct fab_change *links, size_t count,
                   struct sm_link_names *ret);
/* Makes *ret the places of a summary event about these changes: the nodes, or both ends of the
 * links. Returns their number; 0 if there is no memory. The caller frees *ret. */
uint32_t sm_list_places(const struct fab_change *change, size_t count, struct event_place **ret);

/* Functions of degraded.c. */
/* Lists the `count` degraded links of a snapshot. Runs on a worker thread. Returns OK or NOMEM. */
int sm_degraded_list(const struct fab_fabric *f, uint32_t count, struct sm_degraded *ret);
void sm_degraded_fini(struct sm_degraded *d);
/* `now` has all degraded links of the snapshot f. Emits link-degraded for each link that was not
 * degraded in the last report, or whose active or enabled width or speed has changed since.
 * Emits link-restored for each link that is up and no longer degraded. */
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
/* Computes how evenly the active and the new tables spread load, for a rebalance. Runs on a worker
 * thread. Returns OK, NOMEM, or BUSY if the task was cancelled. */
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
/* Writes a sentence about why a rebalance keeps the active tables; for `why` see
 * sm_rebalance_skipped. */
#define SM_OBJECTION_LEN 220
void sm_rebalance_objection(const struct sm_gain *gain, const char *why,
                            char ret[SM_OBJECTION_LEN]);
/* Emits rebalance-skipped. why: why no engine could compute tables. NULL: an engine could, but its
 * tables were no better than the active ones, or its writes had no safe order. */
void sm_rebalance_skipped(struct sm *s, const struct sm_gain *gain, const char *why);
void sm_rebalance_report(struct sm *s);

/* Functions of polish.c. */
int sm_polish_init(struct sm *s); /* returns OK or NOMEM */
void sm_polish_fini(struct sm *s);
/* Returns true if polished tables wait for a rebalance. */
bool sm_polish_waits(const struct sm *s);
/* Gives the polished tables to a rebalance that begins, as a reference, with their gain. Returns
 * false if there are none. */
bool sm_polish_lend(struct sm *s, struct fab_lft *ret, struct sm_gain *ret_gain);
/* Call this function when a rebalance has ended. complete: nothing stopped or postponed it. Returns
 * true if it had polished tables. */
bool sm_polish_ended(struct sm *s, bool complete);
/* Returns a sentence for operators: what the search does or has done; "": there was none. */
const char *sm_polish_text(const struct sm *s);

/* Functions of dry_run.c. */
void sm_dry_run_fini(struct sm *s);

/* Functions of reproof.c. */
int sm_reproof_init(struct sm *s); /* returns OK or NOMEM */
void sm_reproof_fini(struct sm *s);
/* Call this function when the view of a local repair was published. It notes that the tables
 * need a background proof. */
void sm_reproof_repaired(struct sm *s);
/* The tables of a round are proved as a whole, so they need no background proof. Call
 * sm_reproof_whole after this proof; it drops the background proof. Call sm_reproof_published when
 * the view with these tables was published. */
void sm_reproof_whole(struct sm *s, uint64_t duration_us);
void sm_reproof_published(struct sm *s);
void sm_reproof_get_status(const struct sm *s, struct sm_proof *ret);

/* Call this function when a switch has acknowledged a write of PortInfo and the snapshot was
 * updated. Notes how the port enforces partitions (partition.c). */
void sm_partition_acknowledged(struct sm *s, uint32_t port);

/* Functions of classes.c. */
/* Returns whether the VLs are divided for as many traffic classes as the policy has. */
bool sm_classes_fit(const struct fab_policy *p, const struct fab_vls *v);
/* Divides the VLs of the engine in of->target among all traffic classes. Returns OK or NOMEM. */
int sm_classes_compose(const struct sm_sealed *of, struct sm_classes *ret);
/* The entries that silent switches hold (fixed.c). Switches are identified by their ids in a
 * snapshot. */
struct sm_fixed {
    uint32_t count;  /* number of silent switches */
    uint32_t needed; /* number of silent switches that routes cannot avoid */
    uint32_t *sw;    /* [count] ids of the silent switches */
    /* [count] 1: at least one entry of this silent switch is known; 0: none */
    uint8_t *known;
    uint32_t top;
    /* [count][top + 1] LFT entries that the silent switches hold; NO_ROUTE: not known */
    uint8_t *entry;
};
int sm_fixed_take(const struct sm *s, struct sm_fixed *ret); /* returns OK or NOMEM */
void sm_fixed_fini(struct sm_fixed *x);
/* In the new tables, replaces the entries of silent switches by the entries that these switches
 * hold. *ret_changed: this has changed an entry of a silent switch that routes cannot avoid.
 * Returns OK or NOMEM. */
int sm_fixed_apply(const struct sm_fixed *x, const struct fab_fabric *f, struct fab_target *t,
                   bool *ret_changed);
/* SL-to-VL tables of silent switches cannot be written. Returns whether the VLs may change from
 * `was` to `now`: always if routes can avoid all silent switches; otherwise only if both use a
 * single VL, or if both use the same number of VLs, map SLs to VLs in the same way, and have
 * only one class of ports. */
bool sm_fixed_accepts_vls(const struct sm_fixed *x, const struct fab_vls *was,
                          const struct fab_vls *now);

/* Emits events about the VLs and guaranteed shares of the traffic classes, if these have changed
 * since the last report. */
void sm_classes_report(struct sm *s, const struct sm_classes *now);

#endif
