/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases and rounds. A round is a list of phases that run one after the other. A phase supplies
 * requests and handles their answers. runner.c runs the phases, and no phase blocks the loop. The
 * table in wiring/rounds.c defines the kinds of round.
 */
#ifndef FABRICD_SM_CORE_PHASE_H
#define FABRICD_SM_CORE_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/mads/mads.h"

struct sm;

/* enter() and leave() of a phase return FAB_OK if the round continues, SM_ROUND_OVER if the round
 * ends after this phase without a failure, or a negative status if the round has failed. */
/* The round ends after this phase, without failure. */
#define SM_ROUND_OVER 1

/* The kinds of rounds in which a fault may interrupt a phase. The interrupted round runs again
 * later. */
enum sm_yields {
    SM_YIELDS_NEVER, /* in no round */
    /* only in a round whose sweep has found the same nodes and links as the sweep before */
    SM_YIELDS_UNCHANGED,
    /* Like SM_YIELDS_UNCHANGED, and also in reroutes and rebalances. Nothing is lost by the
     * interruption of such a round before its first write, because the active tables are usable. */
    SM_YIELDS_OPTIONAL,
    SM_YIELDS /* in every round */
};

struct sm_phase {
    /* Name of the phase, as `fabricctl status` shows it. */
    const char *name;
    int (*enter)(struct sm *s);
    /* Fills in path, method, attribute and tag of the phase's next request; the runner sets the
     * other members. Returns false if there is no request now. The runner calls `next` again after
     * every answer. */
    bool (*next)(struct sm *s, struct fab_mads_request *ret);
    void (*answer)(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
    /* Called when all requests of the phase are answered. Returns whether the phase is over. NULL:
     * the phase is over as soon as all its requests are answered. */
    bool (*finished)(const struct sm *s);
    int (*leave)(struct sm *s);
    /* Called every 10 ms while requests of the phase are unanswered, if no answer came in these 10
     * ms. stalled_us: time in us since the last answer. A phase that need not wait for all retries
     * can give up its requests here. May be NULL. */
    void (*stalled)(struct sm *s, uint64_t stalled_us);
    /* The runner calls `abort` if the round is aborted during this phase. May be NULL. */
    void (*abort)(struct sm *s);
    enum sm_yields yields;
    /* true: `next` sets the M_Key of each request; false: the runner does */
    bool keyed;
    /* true: if a trap about a node that is no suspect arrives during this phase of a targeted
     * sweep, the sweep starts again and also reads this node */
    bool restarts;
};

enum sm_round_kind {
    SM_ROUND_NONE,
    SM_ROUND_HEAVY,    /* sweeps the whole fabric */
    SM_ROUND_TARGETED, /* sweeps only the suspects */
    SM_ROUND_REROUTE,  /* computes new tables without a sweep */
    /* computes new tables, and uses them only if they spread load better than the active ones */
    SM_ROUND_REBALANCE,
    /* asks each switch for SwitchInfo, to see whether a port has changed */
    SM_ROUND_LIGHT,
    SM_ROUND_PORT, /* enables, disables or resets one port */
    /* Probes ports, and repairs the routes around failed ISLs. */
    SM_ROUND_REPAIR,
    /* Carries out a step of the incremental rebalance. */
    SM_ROUND_STEP,
    /* Writes the current M_Key to ports that are known to have another one. */
    SM_ROUND_KEYS,
    /* Reads the fabric and the tables of the master while this manager is in standby. */
    SM_ROUND_STANDBY,
    /* Reads in standby what the master has changed (apply/behind.c). */
    SM_ROUND_STANDBY_CHANGES,
    /* The same right after a take-over. */
    SM_ROUND_CATCH_UP,
    /* A light sweep that precedes heavy sweeps, right after a take-over. */
    SM_ROUND_FIRST_LIGHT,
    /* Writes the MasterSMLID of this manager to the endports and switches that have another one,
     * right after a take-over. */
    SM_ROUND_MASTER_LID,
    SM_ROUND_KINDS
};

enum sm_engine_use {
    /* The engine runs only if nodes or links changed. */
    SM_ENGINE_IF_NEEDED,
    SM_ENGINE_ANEW,
    /* an engine runs, and its tables are used only if they spread load better than the active
     * ones */
    SM_ENGINE_IF_BETTER
};
enum sm_on_failure { SM_FAILURE_IGNORED, SM_FAILURE_RETRY, SM_FAILURE_HEAVY_SWEEP };

struct sm_round {
    const char *name;
    const struct sm_phase *const *phases; /* the phases in their order, NULL-terminated */
    /* bitset of enum sm_request: the requests that this round fulfils; they are cleared when the
     * round begins */
    unsigned meets;
    /* bitset with bits 1 << kind: when this round ends, the callbacks of all callers that wait for
     * a round of one of these kinds are called */
    unsigned serves;
    enum sm_engine_use engine;
    enum sm_on_failure on_failure;
    bool whole; /* true: the round sweeps the whole fabric */
    /* true: the suspects of the round are the nodes for which targeted sweeps are requested */
    bool targets;
    bool scoped; /* true: the round reads only its suspects */
    /* true: the suspects of the round are the switches for which port probes are requested. The
     * round precedes all other rounds. */
    bool probes;
    /* true: the round is a light sweep, and is aborted when a trap requests a targeted sweep */
    bool light;
    /* true: the round takes the cause that sm_cause_set has set; `fabricctl status` and the record
     * of a reroute show this cause */
    bool causes;
    /* true: during the round, no MFT requests and no requests of a background heavy sweep or of the
     * scrub are sent */
    bool alone;
    /* The round runs while this manager is in standby. It sends at most subnet.standby_rate
     * requests a second, and no writes, and ends when the manager leaves the state standby. */
    bool standby;
    /* true: the round only reads what another manager has written, and proves these tables */
    bool reads_only;
    /* true: the round reads only what that manager has changed (apply/behind.c) */
    bool catches;
    /* true: after this round, switches that did not answer a port probe may be probed again */
    bool informs;
    /* Called when the round begins; may be NULL. */
    void (*begun)(struct sm *s);
    /* Called when the round has ended; may be NULL. */
    void (*ended)(struct sm *s, int status);
    /* Called when a fault has interrupted the round; the function must request the round again.
     * awaited: true if a caller waits for the round. If the member is NULL, sm_round_postpone
     * itself requests the round again (if `scoped` is true, for the nodes in run.suspects). */
    void (*postponed)(struct sm *s, bool awaited);
    /* Returns a sentence about the outcome of the round, for the callers that waited for it, or "".
     * May be NULL. */
    const char *(*outcome)(const struct sm *s);
};

#endif
