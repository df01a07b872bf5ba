/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the next round. The choice depends only on the facts in struct sm_facts and has no side
 * effects, so that tests/unit/test_next_round.c can test each case.
 */
#ifndef FABRICD_SM_CORE_NEXT_ROUND_H
#define FABRICD_SM_CORE_NEXT_ROUND_H

#include "fabricd/sm/core/phase.h"

struct sm_facts {
    /* a view is published, and there is a snapshot of the fabric */
    bool known;
    /* The pause after the last trap (sweep.trap_settle_ms) has not ended. During this pause, the
     * manager begins only port probes. */
    bool settling;
    /* a local repair can handle a link failure now */
    bool repair_ready;
    /* A sweep has waited too long while port probes ran. */
    bool sweep_overdue;
    bool probes; /* port probes are requested */
    /* port probes of so many switches are requested that a struct sm_guids cannot hold them */
    bool too_many_probes;
    bool targets; /* a targeted sweep is requested */
    /* A heavy sweep other than a background heavy sweep is requested. */
    bool heavy;
    bool background_ready; /* a background heavy sweep is complete */
    /* A background heavy sweep is complete, but nodes changed while it ran. */
    bool background_behind;
    bool reroute, rebalance, light;
    bool port; /* enabling, disabling or resetting a port is requested */
    /* A round is requested that writes the current M_Key to ports that are known to have another
     * one. */
    bool keys;
    /* A step of the incremental rebalance was computed. */
    bool step;
    /* An operator has frozen the manager. */
    bool frozen;
    /* The manager has just taken over, and a light sweep is requested that must run before heavy
     * sweeps. */
    bool first_light;
    /* The manager has just taken over, and must write its MasterSMLID before heavy sweeps. */
    bool master_lid;
    /* The manager has just taken over, and must first read what the former master has changed. */
    bool catch_up;
};
enum sm_next_action {
    SM_NEXT_NOTHING,
    /* The caller must replace the requested port probes by a targeted sweep of the same switches,
     * and then call sm_next_round again. */
    SM_NEXT_PROBES_TO_TARGETS,
    SM_NEXT_ROUND
};
struct sm_next {
    enum sm_next_action action;
    /* The kind of round to begin, if `action` is SM_NEXT_ROUND. */
    enum sm_round_kind kind;
};
struct sm_next sm_next_round(const struct sm_facts *f);

#endif
