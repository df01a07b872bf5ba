/* SPDX-License-Identifier: BSD-3-Clause */
/* The SM role machine (IBA 14.4.1): who is master. Pure: facts in, role and actions out. */
#ifndef LIBFABMGR_SMSTATE_SMSTATE_H
#define LIBFABMGR_SMSTATE_SMSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/wire/wire.h"

struct fab_smstate {
    uint8_t state; /* enum fab_sm_state */
    uint64_t guid; /* of our port */
    uint8_t priority;
    uint64_t master_guid; /* in standby: whom we watch; 0: none */
    uint32_t missed;      /* polls of the master in a row without an answer */
    uint32_t polls_allowed;
};
#define FAB_SMSTATE_POLLS 4 /* the default of polls_allowed */
/* Discovering; polls_allowed may be changed then. */
void fab_smstate_init(struct fab_smstate *s, uint64_t guid, uint8_t priority);

/* True when a beats b: higher priority, then lower GUID (IBA 14.4.1.2). */
bool fab_smstate_beats(uint8_t prio_a, uint64_t guid_a, uint8_t prio_b, uint64_t guid_b);

/* What the other SMs told of themselves during a sweep (any order; entries with our own GUID are
 * skipped). Called at its end, decides: in discovering, whether we become master or watch another
 * in standby; in master, whether another master beats us, to whom we yield. */
void fab_smstate_discovered(struct fab_smstate *s, const struct fab_sm_info *others,
                            uint32_t count);
/* In standby: the watched one's SMInfo came (or did not: NULL). True: it is gone, we are in
 * discovering now: sweep, and take over if nobody better is found. */
bool fab_smstate_poll(struct fab_smstate *s, const struct fab_sm_info *answer);
/* SubnSet(SMInfo) control packets. `from` is what the sender said of itself. Returns the SMP status
 * to answer with (0: taken); *ret_rediscover: begin a full sweep. */
enum fab_sm_control { /* attribute modifiers, IBA 14.4.1 */
                      FAB_SM_HANDOVER = 1,
                      FAB_SM_ACKNOWLEDGE = 2,
                      FAB_SM_DISABLE = 3,
                      FAB_SM_GO_STANDBY = 4,
                      FAB_SM_DISCOVER = 5,
};
uint16_t fab_smstate_control(struct fab_smstate *s, uint32_t attr_mod,
                             const struct fab_sm_info *from, bool *ret_rediscover);
const char *fab_smstate_name(uint8_t state); /* "master" */

#endif
