/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/sweep, for this folder only. */
#ifndef FABRICD_SM_SWEEP_STATE_H
#define FABRICD_SM_SWEEP_STATE_H

#include "fabricd/sm/sweep/sweep.h"

struct sm_background { /* state of background_sweep.c */
    struct sm *s;
    /* The discovery of the running pass of a background heavy sweep; NULL: no pass runs. */
    struct fab_discover *discover;
    /* The worker task between two passes; NULL: none runs. */
    struct loop_task *task;
    /* the snapshot after the last complete pass; the running pass starts from it */
    struct fab_fabric *fabric;
    uint32_t outstanding, passes;
    /* GUIDs of the nodes that were touched since the running pass began (background_sweep.c) */
    uint64_t *touched;
    /* GUIDs of the nodes that the running pass reads; NULL: the pass reads all nodes. */
    uint64_t *asked;
    uint32_t touched_count, asked_count;
    struct fab_unresponsive *unresponsive;
    uint32_t unresponsive_count;
    uint64_t started_us, sent_before;
    struct loop_timer *timer;
};
/* The confirmation of a sudden loss (confirm.c). */
struct sm_confirming {
    /* pending: the next sweep that may confirm the loss is not requested yet */
    struct loop_timer *timer;
    /* number of sweeps in a row that found the loss; 0: no loss waits for a confirmation */
    uint32_t sweeps;
    /* number of unproved losses in the last sweep: lost nodes to which neighbours still report
     * links as up */
    uint32_t unproved;
};
#define SM_DUPLICATES 256
/* A switch port at which a device has used the GUID of another device (duplicate.c). */
struct sm_duplicate {
    uint64_t near_guid, claimed;
    uint8_t near_port;
    /* number of times that a duplicate GUID newly appeared at this port since the last event */
    uint32_t unreported;
    /* told_us: time (manager's clock) of the last event. wait_us: minimum time until the next
     * event, in microseconds. */
    uint64_t told_us, wait_us;
};
#define SM_MOVES 16
/* An adapter port that has moved: it is now connected to another switch port. */
struct sm_move {
    struct fab_place from, to;
};
struct sm_sweep {
    struct loop_tasks tasks;
    /* In the running light sweep. next_switch: id of the switch that gets the next request.
     * unanswered: number of switches that did not answer. */
    uint32_t next_switch, unanswered;
    /* Bitset of the switches that have not answered the request of the running light sweep yet. */
    uint64_t *asked;
    /* number of switches whose LinearFDBTop in this light sweep differs from the value that the
     * manager has written */
    uint32_t changed_tops;
    /* time (manager's clock) at which discovery.c last found that requests were unanswered after
     * the time of one try */
    uint64_t stalled_us;
    /* Discovery of the running targeted or heavy sweep; NULL: none runs. */
    struct fab_discover *discover;
    /* The new snapshot before the model takes it over; NULL: none. */
    struct fab_fabric *found;
    /* points to a flag of the worker task that gives `found` to the model; if the flag is set, the
     * task stops. NULL: no such task runs */
    atomic_bool *adopting;
    struct sm_background background;
    struct sm_confirming confirming;
    struct sm_duplicate duplicates[SM_DUPLICATES];
};

int sm_background_init(struct sm *s); /* returns OK or NOMEM */
void sm_background_fini(struct sm *s);
bool sm_background_touched(const struct sm *s, uint64_t guid);

/* Functions of confirm.c. The first two decide whether the manager must drop the new snapshot
 * `now`. They return FAB_OK, SM_ROUND_OVER (drop the snapshot) or NOMEM. sm_sweep_confirm drops a
 * snapshot with a sudden loss that is not confirmed yet, and requests a sweep that may confirm it.
 * sm_sweep_leave_gains drops a snapshot with new nodes or links while the manager is frozen in mode
 * "repairs only". */
int sm_sweep_confirm(struct sm *s, const struct fab_fabric *now);
int sm_sweep_leave_gains(struct sm *s, const struct fab_fabric *now);
int sm_confirm_init(struct sm *s); /* returns OK or NOMEM */
void sm_confirm_fini(struct sm *s);

/* Checks the new snapshot (discovery.c). Returns FAB_OK, SM_ROUND_OVER (the snapshot was
 * discarded), UNREACHABLE (the snapshot lacks the manager's own port) or NOMEM. */
int sm_sweep_judge(struct sm *s);

/* Functions of duplicate.c. */
/* Call this function when a sweep has found a duplicate GUID that the previous sweep did not find.
 * It emits an event, unless the last event about the same port is too recent (duplicate.c). place:
 * the switch port of the device that was left out. */
void sm_duplicate_found(struct sm *s, const struct fab_unresponsive *place);
/* Finds the ports of adapters and routers whose place in `now` differs from their place in `was`.
 * Returns the number of these ports, and writes the first SM_MOVES of them to ret[]. */
uint32_t sm_moves_find(const struct fab_places *was, const struct fab_places *now,
                       struct sm_move ret[SM_MOVES]);
void sm_moves_report(struct sm *s, const struct sm_move *moves, uint32_t count);

/* Functions of unresponsive.c. */
/* Replaces the model's list of unresponsive ports by `found`, the list that a sweep has made, and
 * emits events about new entries. scoped: the sweep has read only some nodes, so entries of ports
 * that it has not read stay. Returns OK or NOMEM. */
int sm_unresponsive_update(struct sm *s, const struct fab_unresponsive *found, uint32_t count,
                           bool scoped);
/* Requests a targeted sweep of the nodes at both ends of each unresponsive port's link. */
void sm_unresponsive_suspect(struct sm *s);

#endif
