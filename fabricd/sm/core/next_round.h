/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of the next round is a function of the facts below, without side effects.
 * tests/unit/test_next_round.c tests its cases.
 */
#ifndef FABRICD_SM_CORE_NEXT_ROUND_H
#define FABRICD_SM_CORE_NEXT_ROUND_H

#include "fabricd/sm/core/phase.h"

struct sm_facts {
    bool known;    /* a view is published, and the model has a fabric */
    bool settling; /* the pause after a burst of traps has not ended: only port probes may run */
    bool repair_ready;      /* a local repair would answer the failure of a link now */
    bool sweep_overdue;     /* a sweep has waited too long because of port probes */
    bool probes;            /* port probes are requested */
    bool too_many_probes;   /* more port probes are requested than struct sm_guids holds */
    bool targets;           /* a targeted sweep is requested */
    bool heavy;             /* a heavy sweep as a round is requested */
    bool background_ready;  /* a background heavy sweep is complete */
    bool background_behind; /* a background heavy sweep is complete, but nodes changed while it ran
                             */
    bool reroute, rebalance, light;
    bool port; /* a port is to be enabled or disabled */
    bool keys; /* ports have another M_Key than ours, which is known */
};
enum sm_next_action {
    SM_NEXT_NOTHING,
    SM_NEXT_PROBES_TO_TARGETS, /* replace the port probes by targets of a targeted sweep, then call
                                  again */
    SM_NEXT_ROUND
};
struct sm_next {
    enum sm_next_action action;
    enum sm_round_kind kind; /* valid if action is SM_NEXT_ROUND */
};
struct sm_next sm_next_round(const struct sm_facts *f);

#endif
