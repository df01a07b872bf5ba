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
void fab_smstate_init(struct fab_smstate *s, uint64_t guid, uint8_t priority);

/* True when a beats b: higher priority, then lower GUID (IBA 14.4.1.2). */
bool fab_smstate_beats(uint8_t prio_a, uint64_t guid_a, uint8_t prio_b, uint64_t guid_b);

/* What another SM told of itself during discovery: decides at the end of a sweep. */
void fab_smstate_discovered(struct fab_smstate *s, const struct fab_sm_info *others,
                            uint32_t count);
/* In standby: the master's SMInfo came (or did not: NULL). True: discover again and take over. */
bool fab_smstate_poll(struct fab_smstate *s, const struct fab_sm_info *answer);
/* SubnSet(SMInfo) control packets (HANDOVER, ACKNOWLEDGE, DISABLE, STANDBY, DISCOVER: attribute
 * modifiers 1-5). Returns the SMP status to answer with; *ret_rediscover: begin discovery. */
uint16_t fab_smstate_control(struct fab_smstate *s, uint32_t attr_mod,
                             const struct fab_sm_info *from, bool *ret_rediscover);
const char *fab_smstate_name(uint8_t state); /* "master" */

#endif
