/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machine that decides which role this subnet manager has among several (IBA 14.4.1). It
 * does no I/O: the caller sweeps, polls the master and answers control packets. */
#ifndef LIBFABMGR_SMSTATE_SMSTATE_H
#define LIBFABMGR_SMSTATE_SMSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/wire/wire.h"

/* maximum number of managers in passed_over[] */
#define FAB_SMSTATE_PASSED 8
struct fab_smstate {
    uint8_t state; /* enum fab_sm_state */
    uint64_t guid; /* GUID of the manager's port */
    uint8_t priority;
    /* GUID of the manager that is polled in standby; 0: none */
    uint64_t master_guid;
    /* number of consecutive polls to which the polled manager did not respond */
    uint32_t missed;
    uint32_t polls_allowed;
    /* The polled manager was master at its last answer, or when this manager went to standby. */
    bool was_master;
    /* number of consecutive polls to which the polled manager responded, but was not master */
    uint32_t waited;
    uint32_t waits_allowed;
    /* GUIDs of managers that beat our manager, but did not become master in time. The election
     * ignores such a manager until it is master. */
    uint64_t passed_over[FAB_SMSTATE_PASSED];
    uint32_t passed_count;
};
#define FAB_SMSTATE_POLLS 4  /* the default of polls_allowed */
#define FAB_SMSTATE_WAITS 30 /* the default of waits_allowed */
/* Starts the state machine in state DISCOVERING. The caller may then change polls_allowed and
 * waits_allowed, which have defaults. */
void fab_smstate_init(struct fab_smstate *s, uint64_t guid, uint8_t priority);

/* Returns true if manager a beats manager b: the higher priority wins, and with equal priorities
 * the lower GUID (IBA 14.4.1.2). */
bool fab_smstate_beats(uint8_t prio_a, uint64_t guid_a, uint8_t prio_b, uint64_t guid_b);

/* Decides the role of this manager after a heavy sweep. others: the SMInfo of all managers that the
 * sweep found, in any order; an entry with this manager's own GUID is skipped. In state
 * DISCOVERING, this manager becomes master, or standby of another manager. In state MASTER, it
 * becomes standby if another master beats it. */
void fab_smstate_discovered(struct fab_smstate *s, const struct fab_sm_info *others,
                            uint32_t count);
/* Returns the manager to which this manager, as master, has to hand over: the best of the other
 * managers in state STANDBY, if that manager beats this manager and was not passed over. NULL:
 * there is none, or this manager is not master. A manager in state DISCOVERING is not a successor
 * yet. It finds this master and goes to standby first, so that no time passes without a master. */
const struct fab_sm_info *fab_smstate_successor(const struct fab_smstate *s,
                                                const struct fab_sm_info *others, uint32_t count);
/* Returns the highest priority, at most `priority`, at which the manager `guid` does not beat the
 * manager `other`; -1: it beats `other` even with priority 0. */
int fab_smstate_priority_below(uint8_t priority, uint64_t guid, const struct fab_sm_info *other);
/* Makes this manager go to standby and poll the manager `guid`, which has accepted the role of
 * master from this manager, or beats it as another master. */
void fab_smstate_step_down(struct fab_smstate *s, uint64_t guid);
/* Makes a manager in standby discover the fabric again, because its snapshot is outdated. The
 * caller begins a heavy sweep. */
void fab_smstate_rediscover(struct fab_smstate *s);
enum fab_smstate_poll {
    FAB_SMSTATE_STAYS, /* this manager stays in standby */
    FAB_SMSTATE_GONE,  /* the polled manager is gone */
    /* the polled manager did not become master in time; elections now ignore it */
    FAB_SMSTATE_PASSED_OVER,
};
/* Handles the result of a poll in state STANDBY. answer: SMInfo of the polled manager; NULL: it did
 * not respond. If the result is not FAB_SMSTATE_STAYS, the state is DISCOVERING now, and the caller
 * begins a heavy sweep. */
enum fab_smstate_poll fab_smstate_poll(struct fab_smstate *s, const struct fab_sm_info *answer);
/* Controls of subnet managers: the attribute modifiers of SubnSet(SMInfo), IBA 14.4.1. */
enum fab_sm_control {
    FAB_SM_HANDOVER = 1,
    FAB_SM_ACKNOWLEDGE = 2,
    FAB_SM_DISABLE = 3,
    FAB_SM_GO_STANDBY = 4,
    FAB_SM_DISCOVER = 5,
};
/* Handles a control packet, SubnSet(SMInfo). `from`: the sender's SMInfo. Returns the status of
 * the response (IBA 13.4.7); 0: the packet was accepted. If *ret_rediscover is true afterwards,
 * the caller begins a heavy sweep. */
uint16_t fab_smstate_control(struct fab_smstate *s, uint32_t attr_mod,
                             const struct fab_sm_info *from, bool *ret_rediscover);
const char *fab_smstate_name(uint8_t state); /* returns a name such as "master" */

#endif
