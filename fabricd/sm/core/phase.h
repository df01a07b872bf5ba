/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases and rounds. A round is a list of phases that run one after the other. A phase supplies the
 * next request and handles each answer. runner.c drives them; nothing blocks. One table
 * (wiring/rounds.c) defines the kinds of round.
 */
#ifndef FABRICD_SM_CORE_PHASE_H
#define FABRICD_SM_CORE_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/mads/mads.h"

struct sm;

/* The functions enter and leave return FAB_OK to continue, SM_ROUND_OVER, or a negative status if
 * the round failed. */
#define SM_ROUND_OVER 1 /* the round ends in this phase, without failure */

/* Says whether a fault may interrupt the phase. An interrupted round is repeated later. */
enum sm_yields {
    SM_YIELDS_NEVER,
    SM_YIELDS_OPTIONAL, /* only in an optional round (SM_ENGINE_IF_BETTER) */
    SM_YIELDS
};

struct sm_phase {
    const char *name; /* shown in the status */
    int (*enter)(struct sm *s);
    /* Fills in path, method, attribute and tag of the next request; the runner sets the rest.
     * Returns false if there is no request at present. The runner calls it again after every
     * answer. */
    bool (*next)(struct sm *s, struct fab_mads_request *ret);
    void (*answer)(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
    /* Called when no request is unanswered. Returns true if the phase is over. NULL: the phase is
     * over as soon as no request is unanswered. */
    bool (*finished)(const struct sm *s);
    int (*leave)(struct sm *s);
    /* Called every 10 ms while requests are unanswered; no answer came for stalled_us. A phase that
     * does not wait for all retries gives up here. May be NULL. */
    void (*stalled)(struct sm *s, uint64_t stalled_us);
    void (*abort)(struct sm *s); /* the round is aborted in this phase. May be NULL */
    enum sm_yields yields;
    bool restarts; /* in this phase a targeted sweep restarts when a trap names another node */
};

enum sm_round_kind {
    SM_ROUND_NONE,
    SM_ROUND_HEAVY,     /* sweeps the whole fabric */
    SM_ROUND_TARGETED,  /* sweeps only the suspects */
    SM_ROUND_REROUTE,   /* computes new tables without a sweep */
    SM_ROUND_REBALANCE, /* computes new tables, but keeps the active ones unless the new ones are
                           better */
    SM_ROUND_LIGHT,     /* reads SwitchInfo of each switch to see whether a port changed */
    SM_ROUND_PORT,      /* enables or disables one port */
    SM_ROUND_REPAIR,    /* port probe and local repair of failed ISLs */
    SM_ROUND_KEYS,      /* gives our M_Key to ports that have another one */
    SM_ROUND_KINDS
};

enum sm_engine_use {
    SM_ENGINE_IF_NEEDED, /* the tables stay as long as the nodes and links are the same */
    SM_ENGINE_ANEW,
    SM_ENGINE_IF_BETTER /* the active tables stay unless the new ones spread load better */
};
enum sm_on_failure { SM_FAILURE_IGNORED, SM_FAILURE_RETRY, SM_FAILURE_HEAVY_SWEEP };

struct sm_round {
    const char *name;
    const struct sm_phase *const *phases; /* NULL-terminated */
    unsigned meets;  /* enum sm_request bits that are cleared when the round begins */
    unsigned serves; /* bitset of 1 << kind: callers that wait for these kinds are served by this
                        round */
    enum sm_engine_use engine;
    enum sm_on_failure on_failure;
    bool whole;   /* sweeps the whole fabric */
    bool targets; /* its suspects are the requested targets */
    bool scoped;  /* it sweeps only its suspects */
    bool probes;  /* its suspects are the switches whose port probes are requested; this round
                     precedes all others */
    bool light;   /* a light sweep: aborted when a trap causes a targeted sweep */
    bool causes;  /* takes over the pending cause, which the status and records show */
    bool alone;   /* while it runs, no requests but its own are sent */
    bool informs; /* when it ends, switches that did not answer port probes may be probed again */
    void (*begun)(struct sm *s);             /* may be NULL */
    void (*ended)(struct sm *s, int status); /* may be NULL */
    /* Requests the round again. awaited: a caller waits for it. NULL: sm_round_postpone requests
     * the suspects, or the `meets` bits, of the round again. */
    void (*postponed)(struct sm *s, bool awaited);
    const char *(*outcome)(const struct sm *s); /* a sentence for callers, or ""; may be NULL */
};

#endif
