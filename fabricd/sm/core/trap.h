/* SPDX-License-Identifier: BSD-3-Clause */
/* Struct for a received trap, and the functions by which the files trap*.c of this folder handle
 * it. */
#ifndef FABRICD_SM_CORE_TRAP_H
#define FABRICD_SM_CORE_TRAP_H

#include "fabricd/sm/core/state.h"

enum {
    TRAP_GID_IN_SERVICE = 64,
    TRAP_PATH_VALID = 69,
    TRAP_LINK_STATE = 128,
    TRAP_LOCAL_CHANGE = 144,
    TRAP_SYSTEM_GUID = 145,
    TRAP_BAD_M_KEY = 256,
    TRAP_BAD_Q_KEY = 258,
    TRAP_BAD_SWITCH_P_KEY = 259
};

struct sm_trap {
    struct fab_notice notice;
    /* Source LID of the packet with the trap, which the sender can forge. */
    uint16_t slid;
    /* Id of the port that owns the source LID in the published view; FAB_NONE: no port does. */
    uint32_t port;
    /* GUID of the node of `port`; 0: no port owns the source LID. */
    uint64_t guid;
};

/* Functions of trap_check.c. */
/* Returns the id of the port that owns a LID in the published view; FAB_NONE: no port does. */
uint32_t sm_trap_owner(const struct sm *s, uint32_t lid);
/* Returns why the sender of this notice cannot have issued it, as a phrase for operators. The
 * manager then neither acts on the notice nor forwards it. NULL: the notice is plausible. */
const char *sm_trap_doubt(const struct sm *s, const struct sm_trap *t);
/* Writes to `place` the name of the switch port to which the sender of a trap is connected. If the
 * sender is a switch, writes the name of the switch. port: id of the sender's port, or FAB_NONE. */
void sm_trap_place(const struct sm *s, uint32_t port, char place[SM_PLACE_LEN]);

/* Functions of trap_limit.c. */
/* Counts the trap. Returns false if its source sent more traps than the limit permits. The manager
 * then only answers the trap, and may read the device later (trap_limit.c). */
bool sm_trap_admit(struct sm *s, const struct sm_trap *t);
/* Counts a trap that sm_trap_doubt rejects. Emits an event about its source, at most one in a
 * minute. */
void sm_trap_refuse(struct sm *s, const struct sm_trap *t, const char *reason);
/* Call this function for a trap from a LID without a known owner; perhaps a new node has sent it.
 * Requests a heavy sweep that begins about 2 s later, but not before the pause after the last such
 * sweep is over. As long as these sweeps find nothing new, this pause grows from 1 to 10
 * minutes. */
void sm_trap_unknown(struct sm *s);

/* Functions of trap_forward.c. */
/* Reads the device that sent the notice. If the device answers and has the LID from which the
 * notice came, passes the notice to the listener of sm_on_notice, which is subnet
 * administration. */
void sm_trap_forward(struct sm *s, const struct sm_trap *t);
/* Returns the number of notices that sm_trap_forward dropped: the device did not answer or has
 * another LID, too many notices were waiting for a read, or this manager was no longer master. */
uint64_t sm_trap_unconfirmed(const struct sm *s);

/* Functions of trap_violation.c. */
/* After one of the traps 256 to 259, which report a wrong key, reads the violation counter of the
 * device, and emits an event if the counter has risen. Does nothing after other traps. */
void sm_trap_violation(struct sm *s, const struct sm_trap *t);
void sm_violation_counts(const struct sm *s, struct sm_trap_counts *ret);

/* Functions of trap.c. */
/* Returns whether the manager reads the device because of this notice. */
bool sm_trap_acts(const struct sm *s, const struct fab_notice *n);
/* Requests a port probe or a targeted sweep because of this trap. */
void sm_trap_act(struct sm *s, uint64_t guid, uint16_t trap);

#endif
