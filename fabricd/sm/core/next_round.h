/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the next round. The choice depends only on the facts in struct sm_facts and has no side
 * effects, so that tests/unit/test_next_round.c can test each case.
 */
#ifndef FABRICD_SM_CORE_NEXT_ROUND_H
#define FABRICD_SM_CORE_NEXT_ROUND_H

#include "fabricd/sm/core/phase.h"

struct sm_facts {
    bool known; /* a view is published, and the model has a snapshot of the fabric */
    /* Traps came recently, and the pause after them (sweep.trap_settle) has not ended. Only port
     * probes may run. */
    bool settling;
    bool repair_ready;     /* a local repair would handle a link failure now */
    bool sweep_overdue;    /* a sweep has waited too long because of port probes */
    bool probes;           /* port probes are requested */
    bool too_many_probes;  /* more port probes are requested than struct sm_guids holds */
    bool targets;          /* a targeted sweep is requested */
    bool heavy;            /* a heavy sweep is requested that is not a background heavy sweep */
    bool background_ready; /* a background heavy sweep is complete */
    /* A background heavy sweep is complete, but nodes changed while it ran. */
    bool background_behind;
    bool reroute, rebalance, light;
    bool port; /* enabling or disabling a port is requested */
    /* Some ports have a known M_Key other than the current one. */
    bool keys;
};
enum sm_next_action {
    SM_NEXT_NOTHING,
    /* Replace the requested port probes by a targeted sweep of the same switches, then choose
     * again. */
    SM_NEXT_PROBES_TO_TARGETS,
    SM_NEXT_ROUND
};
struct sm_next {
    enum sm_next_action action;
    enum sm_round_kind kind; /* the round to begin; valid if action is SM_NEXT_ROUND */
};
struct sm_next sm_next_round(const struct sm_facts *f);

#endif
