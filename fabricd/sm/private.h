/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of the subnet manager, shared by the files of this room only. */
#ifndef FABRICD_SM_PRIVATE_H
#define FABRICD_SM_PRIVATE_H

#include <stdatomic.h>

#include "fabricd/sm/core/phase.h"
#include "fabricd/sm/sm.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/damping/damping.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/isolation/isolation.h"
#include "libfabmgr/mcast/groups.h"
#include "libfabmgr/plan/mft_writes.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/repair/contingency/contingency.h"
#include "libfabmgr/repair/session/session.h"
#include "libfabmgr/smstate/smstate.h"

#define SM_MAX_SUSPECTS 256 /* more than that: look at everything */
#define SM_MAX_OTHERS 64    /* other managers that are asked for SMInfo */
#define SM_PLACE_LEN 128    /* text of a place: "leaf-3/12" */
#define SM_CAUSE_LEN 160
#define SM_EVENTS_A_ROUND 64 /* single events of one kind; beyond that one summary */
#define SM_REROUTES 256      /* kept in memory */
#define SM_WRITE_RATE 25000  /* table blocks a second, as long as none were written */
#define SM_RETRY_FIRST_US 100000u
#define SM_STALL_US 10000u
#define SM_CAP_IS_SM 0x2u /* PortInfo CapabilityMask, IBA 14.2.5.6 */

/* ---- the model: what is known of the fabric and what stands in it (model.c) -------------------
 */

struct sm_port_path {
    uint32_t port;
    struct fab_path path;
};
struct sm_model {
    struct fab_fabric *fabric; /* as observed, and as acknowledged writes changed it; or NULL */
    struct fab_path *paths;    /* [fabric->node_count] */
    struct sm_port_path *port_paths; /* ports of adapters that have several, by port id */
    uint32_t port_path_count;
    struct fab_observed observed; /* by switch id of fabric; empty when fabric is NULL */
    struct fab_target *target;    /* proved tables for the ids of fabric, or NULL */
    struct fab_target *former;    /* the one before, while there is none */
    uint64_t tables;              /* counts the targets that were here */
    struct fab_lease *leases;     /* by port GUID, rising */
    size_t lease_count;
    struct fab_view *view; /* as published, or NULL */
    bool lent, forgotten;  /* sm_model_lend; and what was forgotten meanwhile */
};
/* Takes over a new snapshot (owned, also on failure): carries knowledge of tables over to it.
 * ret_same: it has the ids and cables of the one before. */
int sm_model_adopt(struct sm_model *m, struct fab_fabric *fabric, bool *ret_same);
/* The tables in force from now on (owned), or NULL: none. */
void sm_model_take_target(struct sm_model *m, struct fab_target *target);
/* The snapshot and the tables for changes in place: the view is gone, what readers still hold is
 * copied. */
int sm_model_own(struct sm_model *m);
/* Room for tables up to `top`. */
int sm_model_reserve(struct sm_model *m, uint32_t top);
/* The snapshot for writing: cloned when readers have it. */
int sm_model_writable(struct sm_model *m, bool in_use);
int sm_model_keep_leases(struct sm_model *m, const struct fab_lids *lids);
/* For a part of a phase on the worker, which may adopt, reserve and keep leases on what it gets: a
 * reference to the snapshot, and, as they are, knowledge of tables and leases, which the model is
 * without until they come back. Then the model has what was made of them. */
void sm_model_lend(struct sm_model *m, struct sm_model *ret);
void sm_model_take_back(struct sm_model *m, struct sm_model *lent);
/* Another manager may write: nothing is known of tables and lanes any more. */
void sm_model_forget(struct sm_model *m);
void sm_model_fini(struct sm_model *m);
int sm_model_find_port_paths(struct sm_model *m); /* for sm_model_adopt */
/* The directed route that ends in this very port (any port of a switch: that of the switch); NULL:
 * none is known. It lives until the next snapshot is taken over. */
const struct fab_path *sm_model_path(const struct sm_model *m, uint32_t port);
/* The node that owns a LID by the published tables; 0: none. */
uint64_t sm_model_guid_of_lid(const struct sm_model *m, uint32_t lid);

/* ---- what is wanted next (rounds.c) -----------------------------------------------------------
 */

struct sm_waiter {
    struct sm_waiter *next;
    sm_done *done;
    void *ctx;
    enum sm_round_kind kind;
    bool surveyed; /* it waits for the sweep of this survey */
    bool running;  /* its round has begun */
};
struct sm_port_op {
    struct sm_port_op *next;
    uint64_t node_guid;
    uint8_t port;
    bool enable;
    const char *note; /* ours, and why; NULL: an operator's */
    sm_done *done;
    void *ctx;
};
struct sm_guids {
    uint64_t guid[SM_MAX_SUSPECTS];
    uint32_t count;
    bool many; /* more than fit */
};
bool sm_guids_have(const struct sm_guids *g, uint64_t guid);
void sm_guids_add(struct sm_guids *g, uint64_t guid);
void sm_guids_remove(struct sm_guids *g, uint64_t guid);
struct sm_requests {
    bool full, reroute, rebalance, light;
    bool sweep; /* a full one, in the background */
    struct sm_guids suspects;
    struct sm_guids glance;   /* of traps, where tables can be mended: they come first */
    struct sm_guids thorough; /* were glanced at; a scoped look follows when it is quiet */
    uint64_t trap_us;         /* when the first trap since the last look came; 0: none */
    uint64_t look_us;         /* since when a look waits for glances, without a repair; 0: none */
    struct sm_port_op *ports;
    char cause[96]; /* of the next look; "": nothing special */
};

/* ---- the running round (run.c) ----------------------------------------------------------------
 */

struct sm_run {
    enum sm_round_kind kind;
    const struct sm_phase *const *phases; /* NULL: idle */
    uint32_t outstanding;                 /* requests of this phase without an answer */
    uint64_t started_us, trap_us, sent_before;
    bool surveyed;    /* it began with a survey */
    bool same;        /* the look found the ids and cables known before */
    bool computed;    /* tables were computed in this round */
    bool at_hand;     /* and that before it began */
    uint64_t follows; /* the reroute that this one follows up, or 0 */
    struct loop_timer *advance, *stall;
    bool answered;       /* since stall was set */
    uint64_t stalled_us; /* how long nothing was answered */
    char cause[96];
    uint64_t known_us, computed_us, proved_us; /* when; 0: not in this round */
    struct reroute changed;                    /* nodes and links lost and gained */
};

/* State of single phases; each belongs to the file of its phase. */
struct sm_scan { /* light, readback, sminfo: a walk over nodes */
    uint32_t index, block;
    uint32_t unanswered;
};
struct sm_sminfo {
    uint32_t ports[SM_MAX_OTHERS], count, asked;
    struct fab_sm_info infos[SM_MAX_OTHERS];
    uint32_t info_count;
    struct fab_path info_paths[SM_MAX_OTHERS];
    uint16_t info_lids[SM_MAX_OTHERS];
};
enum sm_touched {
    SM_WRITTEN = 1,
    SM_UNRESPONSIVE = 2,
    SM_UNSURE = 4,
    SM_LANES_FAILED = 8,
    SM_BY_LID = 16, /* its tables are written so */
    SM_BY_PATH = 32
};
struct sm_programming {
    struct fab_plan plan;
    struct fab_plan_input in;
    uint32_t next; /* op */
    int stage;
    bool tables_wait;  /* for the stage before them */
    uint32_t awaited;  /* table writes without an answer that others wait for */
    uint64_t *asked;   /* set of ops without an answer */
    uint64_t torn[16]; /* bitset of block numbers: one that others wait for failed */
    bool stopped;      /* the rest is left to a later round */
    uint32_t failed, told, blocks, switches, writes;
    uint32_t unsure;   /* switches that may have changed unseen; after recheck: that have */
    uint8_t *touched;  /* [node_count] enum sm_touched */
    uint64_t *written; /* recheck: set of ports whose state was written */
    uint32_t entries;  /* that changed */
    uint32_t to_ends;  /* of these: ways to adapters and routers */
    uint64_t first_write_us, last_write_us;
};
/* What a glance found. */
struct sm_probe {
    struct sm_link {
        uint32_t port, peer;
        bool isolated; /* it is up */
    } * cable;         /* between switches, that died or shall be avoided; each once */
    uint32_t count;
    uint32_t held;        /* cables that are held, and changed */
    struct sm_guids mute; /* were asked, or no way leads there, and did not answer */
    bool more;            /* there is more to it than that */
};
struct sm_repair_job;
struct sm_repair { /* mend.c */
    struct fab_repair_session stand;
    uint64_t tables;           /* model.tables that it is of */
    uint64_t asked;            /* tables that one was made for, or could not be */
    struct sm_repair_job *job; /* making one on the worker, or NULL */
};
struct sm_contingency_job;
struct sm_contingency_state {                   /* ahead.c */
    struct fab_repair_contingencies all;        /* of the state that stands; base NULL: none */
    struct fab_repair_contingency_maker *maker; /* NULL: all done, or its job has it */
    struct sm_contingency_job *job;             /* on the worker, or NULL */
    struct loop_timer *timer;
    uint32_t cases;
    uint64_t load; /* as they are in force, the worst */
};
struct sm_flaps { /* flapping.c */
    struct sm_flap {
        uint64_t guid[2]; /* both ends */
        uint8_t port[2];
        char place[2][SM_PLACE_LEN];
        struct fab_damping damping;
        bool trunk;          /* between switches */
        bool out;            /* left out of the model's fabric */
        bool isolated;       /* until it is released by command (isolate.c), with what follows */
        bool operated;       /* by an operator */
        bool setting;        /* one of its ports is being set */
        int64_t isolated_us; /* Unix time */
        char cause[SM_CAUSE_LEN];
    } * list;
    uint32_t count, room;
    struct loop_timer *timer;
    uint32_t told; /* since told_us */
    uint64_t told_us;
};
struct sm_gain { /* of tables that an engine gives over those in force: less is better */
    bool same;
    uint64_t was, now; /* the worst load of all-to-all times the worst shift */
};
struct sm_rebalance { /* rebalance.c */
    struct loop_timer *timer;
    uint64_t stirred_us; /* when something last happened */
    uint64_t ended_us;   /* the last one that took tables; 0: none did */
    uint64_t judged;     /* generation that it was found not to be worth it for */
    bool asked;          /* the next one was */
    struct sm_gain gain; /* of the running one */
    char said[256];      /* of the last one */
};
struct sm_absent {
    uint64_t guid;      /* of a member */
    uint64_t port_guid; /* that it is, or is an alias of */
    uint64_t since_us;
};
struct sm_multicast { /* multicast.c */
    struct sm *s;
    struct fab_mcast_groups *groups; /* NULL: no fabric is known yet */
    bool stale;                      /* the trees' fabric is not the published one */
    bool configured;                 /* groups of the configuration are as it says */
    bool full;                       /* was told: no multicast LID is left */
    uint16_t *top;            /* LinearFDBTop of the switches of the trees' net, as last seen */
    struct sm_absent *absent; /* members that are not there */
    size_t absents, absent_room;
    struct loop_timer *timer, *absent_timer;
    /* mfts.c: all by the ids of the trees' net */
    struct fab_blocks held;             /* what switches are known to hold */
    uint64_t open[FAB_MFT_GROUPS / 64]; /* groups of LIDs that may differ from it */
    uint64_t *silent;                   /* bitset of switches */
    uint32_t silents;
    struct loop_timer *retry;
    uint64_t retry_us, writes;
    struct fab_plan_mft plan; /* that is carried out; with `busy`: */
    bool busy, failed;
    unsigned stage;
    size_t next, outstanding; /* ops of the stage */
    struct fab_path *path;    /* of each */
    uint64_t *asked;          /* bitset of ops without an answer */
};
struct sm_background_job;
struct sm_background { /* survey.c */
    struct sm *s;
    struct fab_discover *discover; /* the look that asks, or NULL */
    struct sm_background_job *job; /* on the worker, or NULL */
    struct fab_fabric *fabric;     /* what was found; with discover: that starts from it */
    uint32_t outstanding, looks;
    uint64_t *touched; /* node GUIDs: by others, since the look began */
    uint64_t *asked;   /* that the look begins with */
    uint32_t touched_count, asked_count;
    struct fab_silent *silent;
    uint32_t silent_count;
    uint64_t started_us, sent_before;
    struct loop_timer *timer;
};
struct sm_job; /* a computation on the worker (route.c) */

/* ---- apart.c ---- */
struct sm_phase_work {
    void (*work)(void *ctx);               /* on a worker */
    void (*drop)(struct sm *s, void *ctx); /* nobody wants it; s NULL: the sm is gone */
};
struct sm_phase_task;
/* The running phase has a part that is computed apart. Failure: it was dropped. */
int sm_phase_task_begin(struct sm *s, const struct sm_phase_work *part, void *ctx);
bool sm_phase_task_over(const struct sm *s); /* for `finished`; also when there is none */
void *sm_phase_task_take(struct sm *s);      /* its ctx, now the caller's; NULL: there is none */
void sm_phase_task_abort(struct sm *s);
void sm_phase_task_orphan(struct sm *s); /* before the sm goes */

/* What became of the traffic classes. */
struct sm_classes {
    struct fab_qos_report report;
    uint16_t guaranteed[FAB_CLASSES_MAX]; /* per mille of a cable, at least */
};

struct sm {
    struct sm_input in;
    struct agent *agent;
    struct fab_mads *mads;
    struct fab_policy policy;
    struct fab_smstate role;
    struct sm_model model;
    struct sm_requests want;
    struct sm_run run;
    struct sm_waiter *waiters;

    struct fab_discover *discover;
    struct sm_guids suspects; /* of the running look */
    struct sm_guids retry;    /* nodes that did not take a write */
    struct sm_guids mute;     /* did not answer a glance: only a look tells what became of them */
    struct sm_scan scan;
    struct sm_sminfo sminfo;
    struct sm_background survey;
    struct sm_job *jobs; /* on the worker, stale ones too */
    struct sm_job *job;  /* of the running round, or NULL */
    struct sm_phase_task *apart;
    struct fab_fabric *found; /* by the look that runs, not yet the model's; or NULL */
    struct sm_programming program;
    struct sm_probe cut;
    struct sm_repair mend;
    struct sm_contingency_state ahead;
    struct sm_flaps flaps;
    void (*on_patch)(void *ctx); /* sm_on_patch, or NULL */
    void *on_patch_ctx;
    void (*on_publish)(void *ctx); /* sm_on_publish, or NULL */
    void *on_publish_ctx;
    sm_notice *on_notice; /* or NULL */
    void *on_notice_ctx;
    struct sm_rebalance rebalance;
    struct sm_multicast multicast;
    sm_mgroup_fn *on_mgroup; /* sm_on_mgroup, or NULL */
    void *on_mgroup_ctx;
    struct fab_target *fresh;   /* LIDs, then tables, of this round; NULL: keep those in force */
    struct fab_verdict verdict; /* of fresh */
    struct sm_port_op *port_op; /* running */
    struct fab_path port_path;  /* the way to the port that it sets */
    int port_status;

    struct fab_silent *silent; /* places that did not answer */
    uint32_t silent_count;
    struct store_port *disabled; /* ports that an operator disabled */
    size_t disabled_count;

    struct loop_timer *light_timer, *full_timer, *retry_timer, *settle_timer, *poll_timer,
        *thorough_timer;
    uint64_t retry_delay_us;
    uint32_t restarts;           /* of the running look, because of further traps */
    uint32_t put_off;            /* rounds that made room for a glance since a full one ended */
    uint32_t light_aborts;       /* of light looks, because of traps, since one ended */
    bool look_again;             /* the look that ended goes on at once, wider */
    uint32_t stir;               /* looks because of traps, one on the heels of the other */
    bool full_later;             /* when retry_timer rings */
    struct fab_path master_path; /* standby: where the master sits */
    uint64_t master_guid;
    uint32_t master_lid, activity;
    bool is_sm_set;
    uint64_t left_out;  /* the reroute that left ways between switches out: the next tables are an
                           engine's; 0: none did */
    uint32_t unchecked; /* switches that do not check P_Keys as they are told, of late */
    bool tune;          /* the policy changed: write timers and thresholds too */
    bool ask, asking;   /* hosts to register again, as we know nothing of them; and the plan does */

    struct reroute *reroutes; /* ring of SM_REROUTES, or NULL: none yet */
    uint64_t reroute_count;
    struct sm_reroute_times reroute_times;
    uint64_t links_lost, links_gained;
    uint64_t generation, started_us, sweeps, last_sweep_us, last_reroute_us;
    struct sm_classes classes; /* as people were told last */
    char alarm[1280];
    struct fab_census census;
    uint64_t counted; /* the generation of the view that it is of */
};

/* ---- run.c ---- */
int sm_run_init(struct sm *s);
void sm_run_fini(struct sm *s);
void sm_run_start(struct sm *s, enum sm_round_kind kind);
void sm_run_abort(struct sm *s); /* drops what is in flight; no one is told */
void sm_run_pump(struct sm *s);  /* there may be something new to ask */
void sm_run_check(struct sm *s); /* go on soon if the phase is finished */
/* What is unanswered will not be: the phase goes on without. */
void sm_run_give_up(struct sm *s);
/* Something is awaited, and nothing was answered for run.stalled_us: glance.c, program.c. */
void sm_probe_stalled(struct sm *s);
void sm_program_stalled(struct sm *s);
static inline uint64_t sm_first_try_us(const struct sm *s)
{
    return (uint64_t)s->in.config->smp.timeout_ms * 1000;
}
static inline bool sm_run_busy(const struct sm *s)
{
    return s->run.phases != NULL;
}
static inline const struct sm_phase *sm_run_phase(const struct sm *s)
{
    return s->run.phases ? *s->run.phases : NULL;
}

/* ---- rounds.c ---- */
int sm_rounds_init(struct sm *s);
void sm_rounds_fini(struct sm *s);
void sm_schedule(struct sm *s); /* starts the next round if none runs and one is wanted */
void sm_round_begun(struct sm *s);
void sm_round_postpone(struct sm *s); /* a look that runs makes room, and comes again */
void sm_round_ended(struct sm *s, int status);
void sm_request_target(struct sm *s, uint64_t node_guid);
void sm_request_targets(struct sm *s, const struct sm_guids *g);
void sm_request_heavy(struct sm *s);       /* at once: what is known is in doubt */
void sm_request_sweep(struct sm *s);       /* in the background, where something is known */
void sm_request_heavy_later(struct sm *s); /* a full sweep in a while, one for many calls */
void sm_retry_later(struct sm *s);

/* ---- survey.c ---- */
void sm_background_begin(struct sm *s);
void sm_background_drop(struct sm *s);     /* if there is one */
void sm_background_schedule(struct sm *s); /* begins one that is wanted, or goes on */
int sm_background_init(struct sm *s);
void sm_background_fini(struct sm *s);
bool sm_background_active(const struct sm *s);
bool sm_background_ready(const struct sm *s); /* for its sweep */
bool sm_background_next(struct sm *s, struct fab_mads_request *ret);
/* The model's knowledge of this node changes, or is in doubt. */
void sm_background_touch(struct sm *s, uint64_t guid);
void sm_background_touch_all(struct sm *s, const struct sm_guids *g);
bool sm_background_touched(const struct sm *s, uint64_t guid);

/* ---- reroutes.c ---- */
/* Why the next look is wanted; the first word counts. */
void sm_cause_set(struct sm *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sm_cause_take(struct sm *s); /* for the round that begins */
void sm_cause_keep(struct sm *s); /* of the running round, for one that takes its place */
void sm_reroute_changes(struct sm *s, const struct fab_change *changes, size_t count);
void sm_reroute_record(struct sm *s); /* after its view was published */

/* ---- discover.c ---- */
int sm_sweep_judge(struct sm *s); /* what was found; as `leave` of a phase */

/* ---- glance.c, mend.c ---- */
int sm_probe_add(struct sm_probe *c, const struct sm_link *cable); /* NOMEM */
void sm_probe_fini(struct sm_probe *c);
bool sm_repair_ready(const struct sm *s); /* the tables in force can be mended */
void sm_repair_prepare(struct sm *s);     /* for the tables in force, on the worker */
void sm_repair_fini(struct sm *s);
void sm_repair_forget(struct sm *s); /* the next tables are an engine's */
/* For a computation that replaces the tables: what stands goes along, empty if it is of none that
 * were in force just before; it comes back for the new ones. */
void sm_repair_lend(struct sm *s, struct fab_repair_session *ret);
void sm_repair_give_back(struct sm *s, struct fab_repair_session *t);
/* ---- ahead.c ---- */
int sm_contingency_init(struct sm *s);
void sm_contingency_fini(struct sm *s);
void sm_contingency_prepare(struct sm *s); /* drops what does not hold any more, and begins anew */
/* The repair for exactly these dead cables, by the ids of the baseline, where there is a plan. */
int sm_contingency_find(struct sm *s, const uint32_t *dead, size_t count,
                        struct fab_repair_delta *ret);

/* ---- program.c, publish.c ---- */
struct fab_plan_input sm_program_input(const struct sm *s);
int sm_program_take(struct sm *s, struct fab_plan *plan);  /* for "rewriting" */
int sm_program_begin(struct sm *s, struct fab_plan *plan); /* for "programming" */
/* After a round: half a million writes are not freed on the way of the next repair. */
void sm_program_tidy(struct sm *s);
/* Sends no more; the round ends when all that was sent is answered. The tables in force are not the
 * ones that stand, then, until a round carries them out. */
void sm_program_stop(struct sm *s);
/* by_lid.c: the LID by which a switch can be written to, there and back by entries that stand and
 * stay; 0: by a directed route only. */
uint16_t sm_lid_route_to(const struct sm *s, uint32_t sw);
int sm_publish(struct sm *s);            /* publish.c: what the model has is the view from now on */
int sm_publish_fabric(struct sm *s);     /* the fabric alone, where there are no tables yet */
void sm_report_lost_links(struct sm *s); /* changes.c: cables that a glance found dead */

/* ---- flapping.c ---- */
int sm_flap_init(struct sm *s);
void sm_flap_fini(struct sm *s);
void sm_flap_arm(struct sm *s); /* the timer of those that are held, after anything changed */
/* A cable of that snapshot fell. */
void sm_flap_note_down(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* The same of a cable that is gone, unless it went with a switch or is held. */
void sm_flap_removed(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                     const struct fab_change *c);
uint32_t sm_flap_held(const struct sm *s); /* how many are held */
/* Of a new snapshot, before the model takes it over: what is held goes from it. NOMEM. */
int sm_flap_exclude(struct sm *s, struct fab_fabric *f);
/* False: the port's cable is not held. Else what a glance saw of it is noted. */
bool sm_flap_probed(struct sm *s, uint32_t port, bool up);
/* The cable goes from a snapshot, what its ports say of themselves stays. */
void sm_link_exclude(struct fab_fabric *f, uint32_t port);

struct sm_flap *sm_flap_find(const struct sm *s, uint64_t guid, uint8_t port);
struct sm_flap *sm_flap_room(struct sm *s); /* NULL: no memory, or too many */
/* Likewise. */
struct sm_flap *sm_flap_add(struct sm *s, const struct fab_fabric *f, const struct sm_link *c);
/* Its port in the snapshot where it is up, else FAB_NONE. */
uint32_t sm_flap_up_at(const struct fab_fabric *f, const struct sm_flap *e);
/* All that is to be out, those first that are. at[]: by entry of the list, its port where it is up
 * and to be out, or FAB_NONE. cable, entry: room for the whole list. */
void sm_flap_candidates(const struct sm *s, const struct fab_fabric *f, const uint32_t *at,
                        struct fab_isolation_cable *cable, uint32_t *entry, size_t *ret_count);

/* ---- rebalance.c ---- */
int sm_rebalance_init(struct sm *s);
void sm_rebalance_fini(struct sm *s);
uint64_t sm_rebalance_entries(const struct sm *s); /* in force unlike the engine's */
bool sm_rebalance_due(const struct sm *s, uint64_t *ret_at_us);
void sm_rebalance_prepare(struct sm *s); /* sets the timer, if one is due */
void sm_rebalance_begun(struct sm *s);
void sm_rebalance_ended(struct sm *s, int status); /* any round */
void sm_rebalance_yield(struct sm *s);             /* a trap: it makes room */
/* On the worker. BUSY: stopped. */
int sm_rebalance_weigh(const struct fab_fabric *f, const struct fab_target *in_force,
                       const struct fab_target *fresh, atomic_bool *stop, struct sm_gain *ret);
static inline bool sm_gains(const struct sm_gain *g)
{
    return !g->same && g->now < g->was;
}
/* why: what the engines said, or NULL. */
void sm_rebalance_skipped(struct sm *s, const struct sm_gain *gain, const char *why);
void sm_rebalance_report(struct sm *s);

/* ---- isolate.c ---- */
int sm_isolate_load(struct sm *s); /* what an earlier life isolated */
/* A snapshot was taken in: it is out or not, as it was or was not. */
void sm_isolate_taken(struct sm *s, struct sm_flap *e, bool was_out);
void sm_isolate_moved(struct sm *s, struct sm_flap *e); /* another cable is in its place */
void sm_isolate_end(struct sm *s, struct sm_flap *e);   /* by command */
void sm_isolate_settle(struct sm *s);                   /* after publishing: ports are disabled */
bool sm_isolate_due(const struct sm *s, uint32_t port); /* its cable goes with the next repair */
void sm_isolate_done(struct sm *s, const struct sm_link *c); /* it went */
uint32_t sm_isolated_count(const struct sm *s);

/* ---- silent.c ---- */
int sm_unresponsive_update(struct sm *s, const struct fab_silent *found, uint32_t count,
                           bool scoped);
void sm_unresponsive_suspect(struct sm *s); /* look at them again */

/* ---- changes.c ---- */
/* Tells what changed between what was published and what is now. */
int sm_report_changes(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                      size_t *ret_count);

/* ---- multicast.c ---- */
int sm_multicast_init(struct sm *s);
void sm_multicast_fini(struct sm *s);
void sm_multicast_kick(struct sm *s);     /* something may have to be done, soon */
void sm_multicast_swept(struct sm *s);    /* the model has another fabric; not published yet */
void sm_multicast_changed(struct sm *s);  /* it is */
void sm_multicast_repaired(struct sm *s); /* cables were cut in place: likewise, in a while */
void sm_multicast_reload(struct sm *s);
void sm_multicast_forget(struct sm *s); /* another manager may write */

/* ---- multicast_store.c ---- */
int sm_multicast_load(struct sm *s); /* what an earlier life left; from now on it is kept. NOMEM */

/* ---- mfts.c ---- */
int sm_mfts_init(struct sm *s);
void sm_mfts_fini(struct sm *s);
int sm_mfts_go_on(struct sm *s); /* NOMEM */
void sm_mfts_drop(struct sm *s); /* what is under way */
void sm_mfts_open_all(struct sm *s);
int sm_mfts_move(struct sm *s, const struct fab_fabric *now); /* before the trees follow; NOMEM */
void sm_mfts_reset(struct sm *s); /* nothing is known of what switches hold; sm_mfts_move is next */
/* urgent: only if there are few. */
bool sm_mfts_next(struct sm *s, bool urgent, struct fab_mads_request *ret);

/* ---- partition.c ---- */
/* A port has acknowledged a PortInfo of ours. */
void sm_partition_told(struct sm *s, uint32_t port);

/* ---- model.c: what a worker gets ---- */
struct sm_sealed {
    struct fab_fabric *fabric;
    struct fab_target *target;
    struct fab_policy policy;
};
/* The fabric and the policy as they are, and that target. NOMEM. */
int sm_seal(const struct sm *s, const struct fab_target *target, struct sm_sealed *ret);
void sm_sealed_fini(struct sm_sealed *x);

/* ---- classes.c ---- */
/* Whether the lanes are those of the classes that the policy has. */
bool sm_classes_fit(const struct fab_policy *p, const struct fab_vls *v);
/* Makes of the engine's lanes in of->target those of all classes. */
int sm_classes_compose(const struct sm_sealed *of, struct sm_classes *ret);
void sm_classes_report(struct sm *s, const struct sm_classes *now); /* when it is not as before */

/* ---- route.c ---- */
void sm_jobs_orphan(struct sm *s); /* before the sm goes: jobs find nobody */
void sm_job_drop(struct sm *s);    /* of the running round: nobody waits for it any more */

/* ---- trap.c, ha.c ---- */
void sm_on_trap(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                const uint8_t *data, size_t len);
void sm_on_sminfo(struct sm *s, const struct transport_mad *mad, const struct fab_mad *head,
                  const uint8_t *data, size_t len);
void sm_reply(struct sm *s, const struct transport_mad *to, uint8_t method, uint16_t status,
              const uint8_t *data);
int sm_ha_init(struct sm *s);
void sm_ha_elect(struct sm *s); /* after the other managers were asked */
void sm_ha_fini(struct sm *s);

/* ---- port.c ---- */
void sm_port_abort(struct sm *s);
void sm_port_recheck(struct sm *s); /* disabled ports that came up again */
/* On our own account; note: why, as the end of a sentence; a constant. */
int sm_port_request(struct sm *s, uint64_t node_guid, uint8_t port, bool enable, const char *note);

/* ---- names.c ---- */
const char *sm_attr_name(uint16_t attr_id); /* "PortInfo" */
/* "leaf-3" or, without a description, "0x0002c90200000010". */
void sm_node_name(const struct fab_fabric *f, uint32_t node, char name[SM_PLACE_LEN]);
/* "leaf-3/12" */
void sm_port_name(const struct fab_fabric *f, uint32_t port, char name[SM_PLACE_LEN]);
void sm_place_name(const struct fab_fabric *f, uint64_t guid, uint8_t port,
                   char name[SM_PLACE_LEN]);

#endif
