/* SPDX-License-Identifier: BSD-3-Clause */
/* A received trap, as the files trap*.c pass it to each other. For this folder only. */
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
    uint16_t slid; /* source LID of the packet, which the sender can forge */
    uint32_t port; /* port that owns this LID in the published view; FAB_NONE: none does */
    uint64_t guid; /* GUID of the node of this port, or 0 */
};

/* trap_check.c */
/* Returns the port that owns a LID in the published view, or FAB_NONE. */
uint32_t sm_trap_owner(const struct sm *s, uint32_t lid);
/* Returns why the manager neither acts on this notice nor forwards it; NULL: it is plausible. */
const char *sm_trap_doubt(const struct sm *s, const struct sm_trap *t);
/* Writes the switch port of the sender, or the name of the switch that is the sender. */
void sm_trap_place(const struct sm *s, uint32_t port, char place[SM_PLACE_LEN]);

/* trap_limit.c */
/* Counts the trap. False: its source sent too many; the trap must have no effect now. */
bool sm_trap_admit(struct sm *s, const struct sm_trap *t);
/* Counts a refused trap, and emits an event unless its source had one within a minute. */
void sm_trap_refuse(struct sm *s, const struct sm_trap *t, const char *reason);
/* To be called for a trap from an unknown LID, which may come from a new node. Requests a heavy
 * sweep, at most one in a minute, and less often if the sweeps find nothing new. */
void sm_trap_unknown(struct sm *s);

/* trap_forward.c */
/* Reads the device that sent the notice, and passes the notice to the listener if the device
 * answers. */
void sm_trap_forward(struct sm *s, const struct sm_trap *t);
uint64_t sm_trap_unconfirmed(const struct sm *s); /* notices that were not passed on */

/* trap_violation.c */
/* Reads the counters of the device that sent a trap about a wrong key, and emits an event if they
 * confirm the trap. Other traps are ignored. */
void sm_trap_violation(struct sm *s, const struct sm_trap *t);
void sm_violation_counts(const struct sm *s, struct sm_trap_counts *ret);

/* trap.c */
/* Returns whether the manager reads the device because of this notice. */
bool sm_trap_acts(const struct sm *s, const struct fab_notice *n);
/* Requests a port probe or a targeted sweep because of this trap. */
void sm_trap_act(struct sm *s, uint64_t guid, uint16_t trap);

#endif
