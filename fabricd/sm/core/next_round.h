/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which round comes next: a function of facts, without side effects, tested as a table
 * (tests/unit/test_next_round.c).
 */
#ifndef FABRICD_SM_CORE_NEXT_ROUND_H
#define FABRICD_SM_CORE_NEXT_ROUND_H

#include "fabricd/sm/core/phase.h"

struct sm_facts {
    bool known;             /* a view is published, and the model has a fabric */
    bool settling;          /* traps may still come: targeted sweeps wait for the pause to end */
    bool repair_ready;      /* a link that fails now is repaired locally */
    bool sweep_overdue;     /* a sweep has waited for port probes for too long */
    bool probes;            /* port probes are requested */
    bool too_many_probes;   /* more than a list holds */
    bool targets;           /* a targeted sweep is requested */
    bool heavy;             /* a heavy sweep is requested, as a round */
    bool background_ready;  /* a background heavy sweep has all answers */
    bool background_behind; /* and nodes that it saw were touched meanwhile */
    bool reroute, rebalance, light;
    bool port; /* a port is to be set */
};
enum sm_next_action {
    SM_NEXT_NOTHING,
    SM_NEXT_PROBES_TO_TARGETS, /* request targeted sweeps in place of the port probes, ask again */
    SM_NEXT_ROUND
};
struct sm_next {
    enum sm_next_action action;
    enum sm_round_kind kind; /* with SM_NEXT_ROUND */
};
struct sm_next sm_next_round(const struct sm_facts *f);

#endif
