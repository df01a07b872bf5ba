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
    uint32_t port; /* the port that owns this LID in the published view; FAB_NONE: unknown LID */
    uint64_t guid; /* GUID of the node of `port`; 0: unknown LID */
};

/* Functions of trap_check.c. */
/* Returns the port that owns a LID in the published view, or FAB_NONE. */
uint32_t sm_trap_owner(const struct sm *s, uint32_t lid);
/* Returns why the manager neither acts on this notice nor forwards it. NULL: the notice is
 * plausible. */
const char *sm_trap_doubt(const struct sm *s, const struct sm_trap *t);
/* Writes the name of the switch port to which the sender is connected. If the sender is a switch,
 * writes the name of the switch. */
void sm_trap_place(const struct sm *s, uint32_t port, char place[SM_PLACE_LEN]);

/* Functions of trap_limit.c. */
/* Counts the trap. Returns false if its source sent too many traps; the trap then has no effect for
 * now. */
bool sm_trap_admit(struct sm *s, const struct sm_trap *t);
/* Counts a refused trap. Emits an event unless an event about the same source was emitted within
 * the last minute. */
void sm_trap_refuse(struct sm *s, const struct sm_trap *t, const char *reason);
/* Call this function for a trap from an unknown LID, because a new node may have sent it. It
 * requests a heavy sweep at most once a minute, and less often if the sweeps find nothing new. */
void sm_trap_unknown(struct sm *s);

/* Functions of trap_forward.c. */
/* Reads the device that sent the notice. If the device answers, passes the notice to the listener
 * of sm_on_notice. */
void sm_trap_forward(struct sm *s, const struct sm_trap *t);
/* Returns how many notices sm_trap_forward did not pass to the listener, because the device did not
 * confirm them, too many reads were pending, or this manager was no longer master. */
uint64_t sm_trap_unconfirmed(const struct sm *s);

/* Functions of trap_violation.c. */
/* Confirms a trap about a wrong key (traps 256 to 259) by reading the violation counter of the
 * device. If the counter rose, emits an event. Ignores other traps. */
void sm_trap_violation(struct sm *s, const struct sm_trap *t);
void sm_violation_counts(const struct sm *s, struct sm_trap_counts *ret);

/* Functions of trap.c. */
/* Returns whether the manager reads the device because of this notice. */
bool sm_trap_acts(const struct sm *s, const struct fab_notice *n);
/* Requests a port probe or a targeted sweep because of this trap. */
void sm_trap_act(struct sm *s, uint64_t guid, uint16_t trap);

#endif
