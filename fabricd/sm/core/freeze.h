/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a manager that an operator froze (freeze.c), for the folders of fabricd/sm. */
#ifndef FABRICD_SM_CORE_FREEZE_H
#define FABRICD_SM_CORE_FREEZE_H

#include "fabricd/sm/sm.h"

#define SM_FREEZE_TEXT 640 /* size in bytes of the text that the store keeps */

struct sm_freezing {
    /* the state as the status shows it, except for the texts `postponed` and `confirming`, which
     * only sm_get_freeze fills in */
    struct sm_freeze_status now;
    /* Requests (enum sm_request) that wait until the manager is resumed. */
    unsigned waiting;
    bool settings; /* true: reloaded settings are waiting until the manager is resumed */
    char confirming[160];
    bool alarm;               /* true: the present alarm was raised because the manager is frozen */
    struct loop_timer *timer; /* fires when the freeze ends by itself */
};

/* Returns whether the manager may write this attribute now. */
bool sm_freeze_admits(const struct sm *s, uint16_t attr_id);
/* Returns true in mode "no writes". */
bool sm_freeze_bars_writes(const struct sm *s);
/* Returns true in mode "repairs only": no engine may run, and new nodes and links wait. */
bool sm_freeze_bars_engine(const struct sm *s);
/* Keeps those of the requests (bitset of enum sm_request) that must wait while the manager is
 * frozen. Returns the others. */
unsigned sm_freeze_keep(struct sm *s, unsigned requests);
/* Returns true if reloaded settings must wait until the manager is resumed, and notes that they
 * wait. They wait in mode "repairs only": local repairs change the active tables only a little, and
 * the new settings might forbid these tables. */
bool sm_freeze_keeps_settings(struct sm *s);
/* Notes the writes of a plan that were left out because the manager is frozen. writes: number of
 * all writes. blocks: number of LFT blocks among them. switches: number of switches that have these
 * blocks. */
void sm_freeze_note_plan(struct sm *s, uint32_t writes, uint32_t blocks, uint32_t switches);
/* Notes how many new nodes and links the last sweep found, which the manager does not use yet. */
void sm_freeze_note_gains(struct sm *s, uint32_t nodes, uint32_t links);
/* Stores `what`, a phrase for the status about a sudden loss that a sweep has found and a further
 * sweep must confirm (sweep/confirm.c); "": no loss waits for a confirmation. */
void sm_freeze_note_confirming(struct sm *s, const char *what);
/* Raises an alarm, which the end of the freeze clears. what: the reason for the alarm; the function
 * appends what the operator must do. */
void sm_freeze_alarm(struct sm *s, const char *what);
/* Loads the stored mode, and sets the function that admits MADs. Returns OK or NOMEM. */
int sm_freeze_init(struct sm *s);
/* Loads the stored mode again, after another manager has stored one. */
void sm_freeze_load(struct sm *s);
void sm_freeze_fini(struct sm *s);

#endif
