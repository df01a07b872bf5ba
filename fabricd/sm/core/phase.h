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

/* The functions `enter` and `leave` of a phase return FAB_OK to continue the round, or
 * SM_ROUND_OVER to end the round without failure. A negative status means that the round failed. */
/* The round ends after this phase, without failure. */
#define SM_ROUND_OVER 1

/* Says in which kinds of round a fault may interrupt a phase. The interrupted round is repeated
 * later. */
enum sm_yields {
    SM_YIELDS_NEVER, /* in no round */
    /* only in a round whose sweep found the same nodes and links as the sweep before it */
    SM_YIELDS_UNCHANGED,
    /* Like SM_YIELDS_UNCHANGED, and also in a reroute or rebalance. Until the first write of such a
     * round, the active tables are as good as before. */
    SM_YIELDS_OPTIONAL,
    SM_YIELDS /* in every round */
};

struct sm_phase {
    /* Name of the phase, as `fabricctl status` shows it. */
    const char *name;
    int (*enter)(struct sm *s);
    /* Fills in path, method, attribute and tag of the phase's next request; the runner sets the
     * other fields. Returns false if there is no request now. The runner calls `next` again after
     * every answer. */
    bool (*next)(struct sm *s, struct fab_mads_request *ret);
    void (*answer)(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
    /* Returns whether the phase is over. The runner calls it when all requests of the phase are
     * answered. NULL: the phase is over as soon as all requests are answered. */
    bool (*finished)(const struct sm *s);
    int (*leave)(struct sm *s);
    /* The runner calls `stalled` every 10 ms while requests of the phase are unanswered.
     * stalled_us: the time since the last answer, in microseconds. A phase that does not wait for
     * all retries gives up the requests here. May be NULL. */
    void (*stalled)(struct sm *s, uint64_t stalled_us);
    /* The runner calls `abort` if the round is aborted during this phase. May be NULL. */
    void (*abort)(struct sm *s);
    enum sm_yields yields;
    /* True: the function `next` sets the M_Key of each request. False: the runner sets it. */
    bool keyed;
    /* If a trap names another node during this phase of a targeted sweep, the sweep starts again
     * and includes the node. */
    bool restarts;
};

enum sm_round_kind {
    SM_ROUND_NONE,
    SM_ROUND_HEAVY,    /* sweeps the whole fabric */
    SM_ROUND_TARGETED, /* sweeps only the suspects */
    SM_ROUND_REROUTE,  /* computes new tables without a sweep */
    /* Computes new tables, which replace the active tables only if they spread load better. */
    SM_ROUND_REBALANCE,
    /* Reads SwitchInfo of each switch to see whether a port changed. */
    SM_ROUND_LIGHT,
    SM_ROUND_PORT, /* enables or disables one port */
    /* Probes ports, and repairs the routes around failed ISLs. */
    SM_ROUND_REPAIR,
    /* Carries out a step of the incremental rebalance. */
    SM_ROUND_STEP,
    /* Writes the current M_Key to ports that are known to have another one. */
    SM_ROUND_KEYS,
    SM_ROUND_KINDS
};

enum sm_engine_use {
    /* The engine runs only if nodes or links changed. */
    SM_ENGINE_IF_NEEDED,
    SM_ENGINE_ANEW,
    /* The engine runs, but its tables replace the active ones only if they spread load better. */
    SM_ENGINE_IF_BETTER
};
enum sm_on_failure { SM_FAILURE_IGNORED, SM_FAILURE_RETRY, SM_FAILURE_HEAVY_SWEEP };

struct sm_round {
    const char *name;
    const struct sm_phase *const *phases; /* the phases in their order, NULL-terminated */
    /* Bitset of enum sm_request: the requests that this round fulfils. They are cleared when the
     * round begins. */
    unsigned meets;
    /* Bitset of 1 << kind, for kinds of rounds. When this round ends, the core calls the callbacks
     * of the callers that wait for a round of one of these kinds. */
    unsigned serves;
    enum sm_engine_use engine;
    enum sm_on_failure on_failure;
    bool whole; /* sweeps the whole fabric */
    /* Before the round begins, the nodes for which targeted sweeps are requested become its
     * suspects. */
    bool targets;
    bool scoped; /* the round sweeps only its suspects */
    /* Before the round begins, the switches for which port probes are requested become its
     * suspects. Such a round runs before all others. */
    bool probes;
    /* The round is a light sweep, which is aborted if a trap requests a targeted sweep. */
    bool light;
    /* `fabricctl status` and the reroute record show the text of sm_cause_set as the cause of this
     * round. */
    bool causes;
    /* While the round runs, the manager sends no other requests. */
    bool alone;
    /* After this round, the manager may again probe switches that did not answer a port probe. */
    bool informs;
    /* Called when the round begins; may be NULL. */
    void (*begun)(struct sm *s);
    /* Called when the round has ended; may be NULL. */
    void (*ended)(struct sm *s, int status);
    /* Called when a fault has interrupted the round; the function requests the round again.
     * awaited: a caller waits for the round. NULL: sm_round_postpone requests the round again, for
     * the nodes in run.suspects if the member `scoped` is true. */
    void (*postponed)(struct sm *s, bool awaited);
    /* Returns a sentence about the outcome of the round, for the callers that waited for it, or "".
     * May be NULL. */
    const char *(*outcome)(const struct sm *s);
};

#endif
