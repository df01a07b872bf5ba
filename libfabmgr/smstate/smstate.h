/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machine that decides which role this subnet manager has among several (IBA 14.4.1). It
 * does no I/O: the caller sweeps, polls the master and answers control packets. */
#ifndef LIBFABMGR_SMSTATE_SMSTATE_H
#define LIBFABMGR_SMSTATE_SMSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/wire/wire.h"

/* maximum number of entries in passed_over[] */
#define FAB_SMSTATE_PASSED 8
struct fab_smstate {
    uint8_t state; /* enum fab_sm_state */
    uint64_t guid; /* GUID of this manager's own port */
    uint8_t priority;
    /* port GUID of the manager that this manager polls while it is standby; 0: none */
    uint64_t master_guid;
    /* number of consecutive polls in which the polled manager did not respond, or was neither
     * master nor about to become master */
    uint32_t missed;
    uint32_t polls_allowed;
    /* true: the polled manager was master when it last responded or, before the first poll, when
     * this manager became standby */
    bool was_master;
    /* number of polls in which the polled manager was about to become master, since it was last
     * master or this manager began to poll it */
    uint32_t waited;
    uint32_t waits_allowed;
    /* GUIDs of managers that beat this manager, but did not become master in time. Elections ignore
     * such a manager until it is master. */
    uint64_t passed_over[FAB_SMSTATE_PASSED];
    uint32_t passed_count;
};
#define FAB_SMSTATE_POLLS 4  /* default of polls_allowed */
#define FAB_SMSTATE_WAITS 30 /* default of waits_allowed */
/* Starts the state machine in state DISCOVERING. The caller may then change polls_allowed and
 * waits_allowed, which have defaults. */
void fab_smstate_init(struct fab_smstate *s, uint64_t guid, uint8_t priority);

/* Returns true if manager a has precedence over manager b: it has the higher priority or, at equal
 * priorities, the lower GUID (IBA 14.4.1.2). */
bool fab_smstate_beats(uint8_t prio_a, uint64_t guid_a, uint8_t prio_b, uint64_t guid_b);

/* Decides the role of this manager after a heavy sweep. others: the SMInfo of all managers that the
 * sweep found, in any order; an entry with this manager's own GUID is skipped. In state
 * DISCOVERING, this manager becomes master or standby. In state MASTER, it becomes standby if
 * another master has precedence. In state STANDBY, it polls the best of the masters from now on, if
 * there are any. */
void fab_smstate_discovered(struct fab_smstate *s, const struct fab_sm_info *others,
                            uint32_t count);
/* Returns the manager to which this manager, as master, must hand over: the best of the managers
 * that are in state STANDBY, have precedence over this manager, and were not passed over. NULL:
 * there is no such manager, or this manager is not master. A manager in state DISCOVERING is not
 * considered yet: it first finds this master and becomes standby. So there is always a master. */
const struct fab_sm_info *fab_smstate_successor(const struct fab_smstate *s,
                                                const struct fab_sm_info *others, uint32_t count);
/* Returns the highest priority, at most `priority`, with which the manager `guid` has no precedence
 * over the manager `other`; -1: it has precedence even with priority 0. */
int fab_smstate_priority_below(uint8_t priority, uint64_t guid, const struct fab_sm_info *other);
/* Makes this manager standby, and lets it poll the manager `guid`, which has accepted the role of
 * master, or is another master with precedence. */
void fab_smstate_step_down(struct fab_smstate *s, uint64_t guid);
/* Puts this manager from STANDBY back to DISCOVERING. The caller does this when the snapshot that
 * this manager has of the fabric is outdated, and then begins a heavy sweep. */
void fab_smstate_rediscover(struct fab_smstate *s);
enum fab_smstate_poll {
    FAB_SMSTATE_STAYS, /* this manager stays in standby */
    /* in polls_allowed consecutive polls, the polled manager did not respond, or was neither master
     * nor about to become master */
    FAB_SMSTATE_GONE,
    /* the polled manager did not become master in time; elections now ignore it */
    FAB_SMSTATE_PASSED_OVER,
};
/* Handles the result of a poll in state STANDBY. answer: SMInfo of the polled manager; NULL: it did
 * not respond. If the function does not return FAB_SMSTATE_STAYS, the state is DISCOVERING, and the
 * caller must begin a heavy sweep. */
enum fab_smstate_poll fab_smstate_poll(struct fab_smstate *s, const struct fab_sm_info *answer);
/* Controls: the attribute modifiers with which a subnet manager changes the state of another by
 * SubnSet(SMInfo), IBA 14.4.1. */
enum fab_sm_control {
    FAB_SM_HANDOVER = 1,
    FAB_SM_ACKNOWLEDGE = 2,
    FAB_SM_DISABLE = 3,
    FAB_SM_GO_STANDBY = 4,
    FAB_SM_DISCOVER = 5,
};
/* Handles a SubnSet(SMInfo) that another manager sent. `from`: the sender's SMInfo. Returns the
 * status of the response (IBA 13.4.7); 0: accepted. If *ret_rediscover is true afterwards, the
 * caller must begin a heavy sweep. */
uint16_t fab_smstate_control(struct fab_smstate *s, uint32_t attr_mod,
                             const struct fab_sm_info *from, bool *ret_rediscover);
const char *fab_smstate_name(uint8_t state); /* returns a name such as "master" */

#endif
