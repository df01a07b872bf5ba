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

/* `enter` and `leave` return FAB_OK to continue the round, SM_ROUND_OVER to end it without failure,
 * or a negative status if the round failed. */
#define SM_ROUND_OVER 1 /* the round ends after this phase, without failure */

/* In which rounds a fault may interrupt the phase. An interrupted round is repeated later. */
enum sm_yields {
    SM_YIELDS_NEVER, /* in no round */
    /* in a round whose sweep found the same nodes and links as the sweep before */
    SM_YIELDS_UNCHANGED,
    /* as SM_YIELDS_UNCHANGED; in addition, in a round that replaces the active tables only if new
     * tables are better (SM_ENGINE_IF_BETTER) */
    SM_YIELDS_OPTIONAL,
    SM_YIELDS /* in every round */
};

struct sm_phase {
    const char *name; /* name of the phase, which the status shows */
    int (*enter)(struct sm *s);
    /* Fills in path, method, attribute and tag of the phase's next request; the runner sets the
     * other fields. Returns false if there is no request now. The runner calls `next` again after
     * every answer. */
    bool (*next)(struct sm *s, struct fab_mads_request *ret);
    void (*answer)(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
    /* The runner calls `finished` when no request is unanswered. Returns whether the phase is over.
     * NULL: the phase is over as soon as no request is unanswered. */
    bool (*finished)(const struct sm *s);
    int (*leave)(struct sm *s);
    /* The runner calls `stalled` every 10 ms while requests are unanswered. stalled_us is the time
     * since the last answer. A phase that does not wait for all retries gives up here. May be
     * NULL. */
    void (*stalled)(struct sm *s, uint64_t stalled_us);
    /* Called if the round is aborted during this phase. May be NULL. */
    void (*abort)(struct sm *s);
    enum sm_yields yields;
    bool keyed; /* `next` sets the M_Keys of its requests, and the runner does not */
    /* If a trap names another node during this phase, a targeted sweep starts again with this
     * node. */
    bool restarts;
};

enum sm_round_kind {
    SM_ROUND_NONE,
    SM_ROUND_HEAVY,    /* sweeps the whole fabric */
    SM_ROUND_TARGETED, /* sweeps only the suspects */
    SM_ROUND_REROUTE,  /* computes new tables without a sweep */
    /* Computes new tables. They replace the active tables only if they spread load better. */
    SM_ROUND_REBALANCE,
    SM_ROUND_LIGHT,  /* reads SwitchInfo of each switch to see whether a port changed */
    SM_ROUND_PORT,   /* enables or disables one port */
    SM_ROUND_REPAIR, /* port probe and local repair of failed ISLs */
    SM_ROUND_KEYS,   /* replaces known M_Keys by the current one */
    SM_ROUND_KINDS
};

enum sm_engine_use {
    /* The engine runs only if nodes or links changed. */
    SM_ENGINE_IF_NEEDED,
    SM_ENGINE_ANEW,
    /* The engine runs. Its tables replace the active ones only if they spread load better. */
    SM_ENGINE_IF_BETTER
};
enum sm_on_failure { SM_FAILURE_IGNORED, SM_FAILURE_RETRY, SM_FAILURE_HEAVY_SWEEP };

struct sm_round {
    const char *name;
    const struct sm_phase *const *phases; /* the phases in their order, NULL-terminated */
    /* Bits of enum sm_request that are cleared when the round begins. */
    unsigned meets;
    /* Bitset of 1 << kind. Callers that wait for a round of one of these kinds are called when this
     * round ends. */
    unsigned serves;
    enum sm_engine_use engine;
    enum sm_on_failure on_failure;
    bool whole; /* sweeps the whole fabric */
    /* The suspects of the round are the nodes for which targeted sweeps are requested. */
    bool targets;
    bool scoped; /* the round sweeps only its suspects */
    /* The suspects of the round are the switches for which port probes are requested. Such a round
     * runs before all others. */
    bool probes;
    bool light; /* a light sweep; it is aborted when a trap causes a targeted sweep */
    /* the status and the records show the cause that sm_cause_set has set as the cause of this
     * round */
    bool causes;
    bool alone; /* while the round runs, the manager sends no other requests */
    /* After this round, switches that did not answer a port probe may be probed again. */
    bool informs;
    void (*begun)(struct sm *s);             /* called when the round begins; may be NULL */
    void (*ended)(struct sm *s, int status); /* called when the round has ended; may be NULL */
    /* Called when a fault interrupted the round; requests the round again. `awaited` says whether a
     * caller waits for the round. NULL: sm_round_postpone requests the round again, for the nodes
     * in run.suspects if the round is scoped. */
    void (*postponed)(struct sm *s, bool awaited);
    /* Returns the outcome of the round as a sentence for the callers that waited, or "". May be
     * NULL. */
    const char *(*outcome)(const struct sm *s);
};

#endif
