/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of fabricd/sm/sweep. For this folder only. */
#ifndef FABRICD_SM_SWEEP_STATE_H
#define FABRICD_SM_SWEEP_STATE_H

#include "fabricd/sm/sweep/sweep.h"

struct sm_background { /* background_sweep.c */
    struct sm *s;
    struct fab_discover *discover; /* the running pass, or NULL */
    struct loop_task *task;        /* the worker task between two passes, or NULL */
    struct fab_fabric *fabric;     /* the result so far, from which a running pass starts */
    uint32_t outstanding, passes;
    uint64_t *touched; /* GUIDs of the nodes that changed, or were in doubt, since the pass began */
    uint64_t *asked;   /* GUIDs of the nodes that this pass reads; NULL: all */
    uint32_t touched_count, asked_count;
    struct fab_unresponsive *unresponsive;
    uint32_t unresponsive_count;
    uint64_t started_us, sent_before;
    struct loop_timer *timer;
};
#define SM_DUPLICATES 256
struct sm_duplicate { /* duplicate.c: a switch port with a device that has a GUID of another one */
    uint64_t near_guid, claimed;
    uint8_t near_port;
    uint32_t unreported;       /* times that it was found since the last event */
    uint64_t told_us, wait_us; /* time of the last event, and the shortest time to the next one */
};
#define SM_MOVES 16
struct sm_move { /* an adapter's port that was found at another switch port */
    struct fab_place from, to;
};
struct sm_sweep {
    struct loop_tasks tasks;
    uint32_t next_switch, unanswered; /* light sweep: id of the next switch to ask, and number of
                                         switches that did not answer */
    struct fab_discover *discover; /* discovery of the running targeted or heavy sweep, or NULL */
    struct fab_fabric *found;      /* its result, not yet adopted by the model; or NULL */
    struct sm_background background;
    struct sm_duplicate duplicates[SM_DUPLICATES];
};

int sm_background_init(struct sm *s); /* NOMEM */
void sm_background_fini(struct sm *s);
bool sm_background_touched(const struct sm *s, uint64_t guid);

/* discovery.c: checks the found snapshot. Returns FAB_OK, SM_ROUND_OVER (the snapshot was
 * discarded), UNREACHABLE (the manager's own port is not in it) or NOMEM. */
int sm_sweep_judge(struct sm *s);

/* duplicate.c */
/* Call it when a sweep found a duplicate GUID that the sweep before did not find. */
void sm_duplicate_found(struct sm *s, const struct fab_unresponsive *place);
/* Compares two sets of places and returns the number of moves; `ret` has the first SM_MOVES. */
uint32_t sm_moves_find(const struct fab_places *was, const struct fab_places *now,
                       struct sm_move ret[SM_MOVES]);
void sm_moves_report(struct sm *s, const struct sm_move *moves, uint32_t count);

/* unresponsive.c */
/* Replaces the model's list of unresponsive ports by those that a sweep found. scoped: keeps the
 * entries of ports that the sweep did not read. NOMEM. */
int sm_unresponsive_update(struct sm *s, const struct fab_unresponsive *found, uint32_t count,
                           bool scoped);
/* Requests a targeted sweep of the nodes at unresponsive ports. */
void sm_unresponsive_suspect(struct sm *s);

#endif
