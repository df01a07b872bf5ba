/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/apply. For this folder only. */
#ifndef FABRICD_SM_APPLY_STATE_H
#define FABRICD_SM_APPLY_STATE_H

#include "fabricd/sm/apply/apply.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/target/pins.h"

#define SM_REROUTES 256 /* number of reroute records kept in memory */

struct sm_scan { /* position in a walk over ports or switches and their table blocks */
    uint32_t index, block;
};
enum sm_touched {
    SM_WRITTEN = 1,
    SM_UNRESPONSIVE = 2,
    SM_UNSURE = 4,
    SM_LANES_FAILED = 8,
    SM_BY_LID =
        16, /* its LFT is written with LID-routed SMPs; SM_BY_PATH: with directed-route SMPs */
    SM_BY_PATH = 32
};
struct sm_programming {
    struct fab_plan plan;
    struct fab_plan_input in;
    uint32_t next; /* index of the next op to send */
    int stage;
    bool tables_wait;  /* LFT writes wait until the SwitchInfo stage is answered */
    uint32_t awaited;  /* unanswered LFT writes that other writes wait for */
    uint64_t *asked;   /* bitset of unanswered ops */
    uint64_t torn[16]; /* bitset by LFT block number, for all switches together: a write of this
                          block failed, so the later writes that were to wait for it are not sent */
    bool stopped;      /* a later round does the remaining writes */
    uint32_t failed, reported, blocks, switches, writes;
    uint32_t unsure;   /* number of switches whose ports may have changed without a trap; after
                          readback: number of ports that did */
    uint8_t *touched;  /* [node_count] enum sm_touched */
    uint64_t *written; /* bitset of the ports whose state this round wrote; used by the readback */
    uint32_t entries;  /* LFT entries that changed */
    uint32_t to_ends;  /* of these, entries for LIDs of adapters and routers */
    uint64_t first_write_us, last_write_us;
};
struct sm_gain { /* compares an engine's tables with the active ones; less is better */
    bool same;
    uint64_t was, now; /* imbalance of the active tables and of the engine's: the worst link load of
                          all-to-all traffic times that of the worst shift */
};
struct sm_rebalance { /* rebalance.c */
    struct loop_timer *timer;
    uint64_t stirred_us; /* when the fabric last changed or a trap came */
    uint64_t ended_us;   /* end of the last rebalance that replaced tables; 0: none did */
    uint64_t judged; /* generation of the view after the last rebalance; for this view no further
                        rebalance is tried */
    bool asked;      /* a caller requested the next rebalance */
    struct sm_gain gain; /* the gain of the running rebalance */
    char outcome[256];   /* outcome of the last rebalance, a sentence for operators */
};
struct sm_repair_state { /* repair_state.c */
    struct fab_repair_session session;
    uint64_t tables;        /* value of model.tables for which the session is valid */
    uint64_t asked;         /* value of model.tables for which a session was last requested */
    struct loop_task *task; /* the task that makes a session, or NULL */
};
struct sm_classes { /* VLs and guarantees of the traffic classes */
    struct fab_qos_report report;
    uint16_t guaranteed[FAB_CLASSES_MAX]; /* least share of a link, per mille */
};
struct sm_pins { /* pins.c */
    struct fab_pins *set;
    struct fab_pins_arrivals arrivals; /* empty while the worker has them */
    struct fab_map told; /* node GUID to seconds of the clock at its last event, at most
                            FAB_PINS_MAX */
};
struct sm_route_job; /* route.c */
struct sm_apply {
    struct loop_tasks tasks;
    struct sm_scan scan; /* position of the running phase */
    /* The target of this round: at first only LIDs, later also tables. NULL: the active target
     * stays. */
    struct fab_target *fresh;
    struct fab_verdict verdict; /* the verdict on `fresh` */
    struct sm_route_job *job;   /* the routing task of the running round, or NULL */
    struct sm_repair_state repair;
    struct sm_programming program;
    struct sm_rebalance rebalance;
    struct sm_pins pins;
    struct sm_classes classes; /* the result that events last reported */
    uint64_t left_out;  /* generation of the local repair that left some switches without a route to
                           each other, so that an engine must follow; 0: none */
    uint32_t unchecked; /* switches that did not enforce partitions as written, at the last check */
    bool tune;   /* the policy changed, so the next plan also writes port timers and thresholds */
    bool ask;    /* the next plan sets ClientReregister, because the store does not know the hosts'
                    registrations */
    bool asking; /* the running plan sets ClientReregister */

    uint64_t generation; /* generation of the last view */
    uint64_t sweeps, last_sweep_us, last_reroute_us;
    uint64_t links_lost, links_gained; /* numbers since the start */
    struct reroute *reroutes; /* ring of SM_REROUTES records; NULL: there was no reroute yet */
    uint64_t reroute_count;
    struct sm_reroute_times reroute_times;
    struct fab_census census;
    uint64_t counted;              /* generation for which the census was counted; 0: none */
    void (*on_publish)(void *ctx); /* the listener of sm_on_publish, or NULL */
    void *on_publish_ctx;
};

/* repair_state.c */
/* The routing task borrows the repair state, updates it for the new tables and gives it back. The
 * result is empty if the state does not belong to the previous tables. */
void sm_repair_lend(struct sm *s, struct fab_repair_session *ret);
void sm_repair_give_back(struct sm *s, struct fab_repair_session *t);

/* pins.c */
int sm_pins_init(struct sm *s); /* NOMEM, IO */
void sm_pins_fini(struct sm *s);

/* route.c */
void sm_route_fini(struct sm *s);

/* program.c */
void sm_program_fini(struct sm_programming *p);
struct fab_plan_input sm_program_input(const struct sm *s);
/* Sets the plan for phase "programming". NOMEM. */
int sm_program_begin(struct sm *s, struct fab_plan *plan);
/* Stops sending. The round ends when all requests sent are answered. Until another round completes
 * the writes, some switches do not hold the active tables. */
void sm_program_stop(struct sm *s);

/* lid_routed.c: returns the LID for LID-routed writes to a switch. 0: only a directed route is
 * safe, because an LFT entry on the path to the switch or back is unknown or changes. */
uint16_t sm_lid_route_to(const struct sm *s, uint32_t sw);

/* publish.c */
/* Publishes the fabric without tables, as long as there are none. NOMEM. */
int sm_publish_fabric(struct sm *s);

/* changes.c */
/* Emits events about what changed between the published snapshot and the new one. NOMEM. */
int sm_report_changes(struct sm *s, const struct fab_fabric *old, const struct fab_fabric *now,
                      size_t *ret_count);

/* reroutes.c */
void sm_reroute_changes(struct sm *s, const struct fab_change *changes, size_t count);

/* rebalance.c */
int sm_rebalance_init(struct sm *s); /* NOMEM */
void sm_rebalance_fini(struct sm *s);
/* Returns the number of active LFT entries that local repairs changed since an engine computed the
 * tables. */
uint64_t sm_rebalance_entries(const struct sm *s);
bool sm_rebalance_due(const struct sm *s, uint64_t *ret_at_us);
void sm_rebalance_prepare(struct sm *s); /* sets the timer if a rebalance is due later */
/* Compares the load of two sets of tables, on the worker. BUSY: the task was cancelled. */
int sm_rebalance_weigh(const struct fab_fabric *f, const struct fab_target *active,
                       const struct fab_target *fresh, struct loop_task *task, struct sm_gain *ret);
static inline bool sm_gains(const struct sm_gain *g)
{
    return !g->same && g->now < g->was;
}
/* Emits rebalance-skipped. why: the reasons why no engine could compute tables, or NULL. */
void sm_rebalance_skipped(struct sm *s, const struct sm_gain *gain, const char *why);
void sm_rebalance_report(struct sm *s);

/* partition.c: notes the partition enforcement of a port that acknowledged a PortInfo write. */
void sm_partition_acknowledged(struct sm *s, uint32_t port);

/* classes.c */
/* True if the VLs were made for as many traffic classes as the policy has. */
bool sm_classes_fit(const struct fab_policy *p, const struct fab_vls *v);
/* Turns the engine's VLs in of->target into VLs of all classes. NOMEM. */
int sm_classes_compose(const struct sm_sealed *of, struct sm_classes *ret);
/* Emits events if the VLs or guarantees of the classes differ from the last report. */
void sm_classes_report(struct sm *s, const struct sm_classes *now);

#endif
