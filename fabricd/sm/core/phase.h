/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases and rounds. A round is a list of phases run one after the other; a phase is a state that
 * says what to request next and what to do with each answer. runner.c drives them; nothing blocks.
 * What distinguishes one kind of round from another is in the columns of one table
 * (wiring/rounds.c).
 */
#ifndef FABRICD_SM_CORE_PHASE_H
#define FABRICD_SM_CORE_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/mads/mads.h"

struct sm;

/* What enter and leave return beside 0 (go on) and a negative status (the round failed). */
#define SM_ROUND_OVER 1 /* the round ends here, and well */

/* Whether a fault may interrupt a phase, whose round is then repeated later. */
enum sm_yields {
    SM_YIELDS_NEVER,
    SM_YIELDS_OPTIONAL, /* only in a round that could be left out (SM_ENGINE_IF_BETTER) */
    SM_YIELDS
};

struct sm_phase {
    const char *name; /* what status shows */
    int (*enter)(struct sm *s);
    /* Fills path, method, attribute and tag of the next directed request (the runner sets the
     * rest); false: none at present. It is called again after every answer. */
    bool (*next)(struct sm *s, struct fab_mads_request *ret);
    void (*answer)(struct sm *s, uint64_t tag, const struct fab_mads_answer *a);
    /* Asked while nothing is unanswered. NULL: yes. */
    bool (*finished)(const struct sm *s);
    int (*leave)(struct sm *s);
    /* Called now and then while requests are unanswered and no answer came for stalled_us. For
     * phases that do not wait for all tries. May be NULL. */
    void (*stalled)(struct sm *s, uint64_t stalled_us);
    void (*abort)(struct sm *s); /* the round is dropped in this phase. May be NULL */
    enum sm_yields yields;
    bool restarts; /* a targeted sweep begins again when a trap names another node */
};

enum sm_round_kind {
    SM_ROUND_NONE,
    SM_ROUND_HEAVY,     /* the whole fabric anew */
    SM_ROUND_TARGETED,  /* the suspects only */
    SM_ROUND_REROUTE,   /* compute anew from the fabric as known */
    SM_ROUND_REBALANCE, /* the same; the new tables are taken only if they are better */
    SM_ROUND_LIGHT,     /* ask each switch whether a port changed */
    SM_ROUND_PORT,      /* set one port */
    SM_ROUND_REPAIR,    /* links between switches that failed: local repair, and nothing else */
    SM_ROUND_KINDS
};

enum sm_engine_use {
    SM_ENGINE_IF_NEEDED, /* tables stay as long as the fabric has their shape */
    SM_ENGINE_ANEW,
    SM_ENGINE_IF_BETTER /* the tables stay unless the new ones spread load better */
};
enum sm_on_failure { SM_FAILURE_IGNORED, SM_FAILURE_RETRY, SM_FAILURE_HEAVY_SWEEP };

struct sm_round {
    const char *name;
    const struct sm_phase *const *phases; /* NULL-terminated */
    unsigned meets;                       /* enum sm_request bits that its begin clears */
    unsigned serves; /* bit 1 << kind for each kind of round that its callers may wait for */
    enum sm_engine_use engine;
    enum sm_on_failure on_failure;
    bool whole;   /* looks at the whole fabric */
    bool targets; /* takes the requested targets as suspects */
    bool scoped;  /* and looks at nothing else */
    bool probes;  /* takes the requested port probes as suspects: nothing is more urgent */
    bool light;   /* cheap, and dropped when a trap tells more than it would find */
    bool causes;  /* has a cause that people are told */
    bool informs; /* its end tells what a port probe could not find out */
    void (*begun)(struct sm *s);                   /* NULL: nothing more to do */
    void (*ended)(struct sm *s, int status);       /* NULL */
    void (*postponed)(struct sm *s, bool awaited); /* to request it again; NULL: its `meets`, or
                                                      its suspects. awaited: a caller waits */
    const char *(*outcome)(const struct sm *s);    /* a sentence, or ""; may be NULL */
};

#endif
