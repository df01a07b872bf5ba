/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/apply, for the files of this folder only. */
#ifndef FABRICD_SM_APPLY_STATE_H
#define FABRICD_SM_APPLY_STATE_H

#include "fabricd/sm/apply/apply.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/plan.h"
#include "libfabmgr/qos/qos.h"

#define SM_REROUTES 256 /* kept in memory */

struct sm_scan { /* a walk over ports or switches, and their table blocks */
    uint32_t index, block;
};
enum sm_touched {
    SM_WRITTEN = 1,
    SM_UNRESPONSIVE = 2,
    SM_UNSURE = 4,
    SM_LANES_FAILED = 8,
    SM_BY_LID = 16, /* its tables are written LID routed */
    SM_BY_PATH = 32
};
struct sm_programming {
    struct fab_plan plan;
    struct fab_plan_input in;
    uint32_t next; /* op */
    int stage;
    bool tables_wait;  /* for the stage before them */
    uint32_t awaited;  /* table writes without an answer that other writes wait for */
    uint64_t *asked;   /* set of ops without an answer */
    uint64_t torn[16]; /* bitset of block numbers: a write failed that others wait for */
    bool stopped;      /* the rest is left to a later round */
    uint32_t failed, reported, blocks, switches, writes;
    uint32_t unsure;   /* switches that may have changed unseen; after readback: that have */
    uint8_t *touched;  /* [node_count] enum sm_touched */
    uint64_t *written; /* readback: set of ports whose state was written */
    uint32_t entries;  /* that changed */
    uint32_t to_ends;  /* of these: routes to adapters and routers */
    uint64_t first_write_us, last_write_us;
};
struct sm_gain { /* of an engine's tables over the active ones: less is better */
    bool same;
    uint64_t was, now; /* the worst link load of all-to-all times that of the worst shift */
};
struct sm_rebalance { /* rebalance.c */
    struct loop_timer *timer;
    uint64_t stirred_us; /* when something last happened */
    uint64_t ended_us;   /* the last one that took tables; 0: none did */
    uint64_t judged;     /* generation that it was found not to be worth it for */
    bool asked;          /* the next one was requested */
    struct sm_gain gain; /* of the running one */
    char outcome[256];   /* of the last one, for people */
};
struct sm_repair_state { /* repair_state.c */
    struct fab_repair_session session;
    uint64_t tables;        /* model.tables that it is of */
    uint64_t asked;         /* tables that one was made for, or could not be */
    struct loop_task *task; /* making one on the worker, or NULL */
};
struct sm_classes { /* what became of the traffic classes */
    struct fab_qos_report report;
    uint16_t guaranteed[FAB_CLASSES_MAX]; /* per mille of a link, at least */
};
struct sm_route_job; /* route.c */
struct sm_apply {
    struct loop_tasks tasks;
    struct sm_scan scan;        /* of the running phase */
    struct fab_target *fresh;   /* LIDs, then tables, of this round; NULL: the active ones stay */
    struct fab_verdict verdict; /* of fresh */
    struct sm_route_job *job;   /* of the running round, or NULL */
    struct sm_repair_state repair;
    struct sm_programming program;
    struct sm_rebalance rebalance;
    struct sm_classes classes; /* as last reported */
    uint64_t left_out;  /* the reroute that has no routes between some switches: the next tables
                           are an engine's; 0: none */
    uint32_t unchecked; /* switches that recently did not check P_Keys as they are told */
    bool tune;          /* the policy changed: write timers and thresholds too */
    bool ask;           /* the next plan asks hosts to register again, of whom we know nothing */
    bool asking;        /* the plan that is carried out does */

    uint64_t generation; /* of the last view */
    uint64_t sweeps, last_sweep_us, last_reroute_us;
    uint64_t links_lost, links_gained; /* since the start */
    struct reroute *reroutes;          /* ring of SM_REROUTES, or NULL: none yet */
    uint64_t reroute_count;
    struct sm_reroute_times reroute_times;
    struct fab_census census;
    uint64_t counted;              /* generation that the census is of; 0: none */
    void (*on_publish)(void *ctx); /* sm_on_publish, or NULL */
    void *on_publish_ctx;
};

/* repair_state.c */
/* The state goes along with a computation that replaces the active tables; it is empty if it is not
 * of the tables before. It comes back for the new tables. */
void sm_repair_lend(struct sm *s, struct fab_repair_session *ret);
void sm_repair_give_back(struct sm *s, struct fab_repair_session *t);

/* route.c */
void sm_route_fini(struct sm *s);

/* program.c */
void sm_program_fini(struct sm_programming *p);
struct fab_plan_input sm_program_input(const struct sm *s);
int sm_program_begin(struct sm *s, struct fab_plan *plan); /* for "programming"; NOMEM */
/* Sends no more; the round ends when all that was sent is answered. Until another round completes
 * the writes, switches do not hold the active tables. */
void sm_program_stop(struct sm *s);

/* lid_routed.c: the LID by which a switch can be written to, over entries in both directions that
 * are known and do not change; 0: by a directed route only. */
uint16_t sm_lid_route_to(const struct sm *s, uint32_t sw);

/* publish.c */
/* The fabric alone, while there are no tables yet. NOMEM. */
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
uint64_t sm_rebalance_entries(const struct sm *s); /* active entries that are not the engine's */
bool sm_rebalance_due(const struct sm *s, uint64_t *ret_at_us);
void sm_rebalance_prepare(struct sm *s); /* sets the timer, if one is due */
/* On the worker. BUSY: the task was cancelled. */
int sm_rebalance_weigh(const struct fab_fabric *f, const struct fab_target *active,
                       const struct fab_target *fresh, struct loop_task *task, struct sm_gain *ret);
static inline bool sm_gains(const struct sm_gain *g)
{
    return !g->same && g->now < g->was;
}
/* why: what the engines said, or NULL. */
void sm_rebalance_skipped(struct sm *s, const struct sm_gain *gain, const char *why);
void sm_rebalance_report(struct sm *s);

/* partition.c: a port has acknowledged a PortInfo of ours. */
void sm_partition_acknowledged(struct sm *s, uint32_t port);

/* classes.c */
/* Whether the virtual lanes are those of the classes that the policy has. */
bool sm_classes_fit(const struct fab_policy *p, const struct fab_vls *v);
/* Makes of the engine's virtual lanes in of->target those of all classes. NOMEM. */
int sm_classes_compose(const struct sm_sealed *of, struct sm_classes *ret);
void sm_classes_report(struct sm *s, const struct sm_classes *now); /* if it changed */

#endif
