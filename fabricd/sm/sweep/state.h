/* SPDX-License-Identifier: BSD-3-Clause */
/* State of fabricd/sm/sweep, for this folder only. */
#ifndef FABRICD_SM_SWEEP_STATE_H
#define FABRICD_SM_SWEEP_STATE_H

#include "fabricd/sm/sweep/sweep.h"

struct sm_background { /* state of background_sweep.c */
    struct sm *s;
    /* discovery of the running pass (background_sweep.c); NULL: none */
    struct fab_discover *discover;
    /* The worker task between two passes; NULL: none. */
    struct loop_task *task;
    /* The snapshot made so far; a running pass starts from it. */
    struct fab_fabric *fabric;
    uint32_t outstanding, passes;
    /* GUIDs of the nodes that changed, or may have changed, since the running pass began. */
    uint64_t *touched;
    /* GUIDs of the nodes that the running pass reads; NULL: it reads all nodes. */
    uint64_t *asked;
    uint32_t touched_count, asked_count;
    struct fab_unresponsive *unresponsive;
    uint32_t unresponsive_count;
    uint64_t started_us, sent_before;
    struct loop_timer *timer;
};
#define SM_DUPLICATES 256
/* duplicate.c: a switch port with a device that has the GUID of another device. */
struct sm_duplicate {
    uint64_t near_guid, claimed;
    uint8_t near_port;
    /* Number of sweeps that found it since the last event. */
    uint32_t unreported;
    /* Manager's clock at the last event, and the minimum time until the next event, in
     * microseconds. */
    uint64_t told_us, wait_us;
};
#define SM_MOVES 16
/* A port of an adapter that is now connected to another switch port than before. */
struct sm_move {
    struct fab_place from, to;
};
struct sm_sweep {
    struct loop_tasks tasks;
    /* Light sweep: id of the next switch to ask, and number of switches that did not answer. */
    uint32_t next_switch, unanswered;
    /* Bitset of the switches that have not answered the light sweep yet. */
    uint64_t *asked;
    /* Switches with another LinearFDBTop, in this light sweep. */
    uint32_t changed_tops;
    /* Discovery of the running targeted or heavy sweep; NULL: none runs. */
    struct fab_discover *discover;
    /* Snapshot that the discovery has found and the model has not adopted yet; NULL: none. */
    struct fab_fabric *found;
    /* Flag of the worker task that adopts `found`; true: the task must stop. NULL: no such task
     * runs. */
    atomic_bool *adopting;
    struct sm_background background;
    struct sm_duplicate duplicates[SM_DUPLICATES];
};

int sm_background_init(struct sm *s); /* returns OK or NOMEM */
void sm_background_fini(struct sm *s);
bool sm_background_touched(const struct sm *s, uint64_t guid);

/* discovery.c: checks the new snapshot. Returns FAB_OK, SM_ROUND_OVER (the snapshot was discarded),
 * UNREACHABLE (the snapshot does not have the manager's own port) or NOMEM. */
int sm_sweep_judge(struct sm *s);

/* Functions of duplicate.c. */
/* Call this function when a sweep found a duplicate GUID that the previous sweep did not find. */
void sm_duplicate_found(struct sm *s, const struct fab_unresponsive *place);
/* Compares where ports were and where they are now. Returns how many ports moved; ret gets the
 * first SM_MOVES of them. */
uint32_t sm_moves_find(const struct fab_places *was, const struct fab_places *now,
                       struct sm_move ret[SM_MOVES]);
void sm_moves_report(struct sm *s, const struct sm_move *moves, uint32_t count);

/* Functions of unresponsive.c. */
/* Replaces the model's list of unresponsive ports by the ports that a sweep found. If `scoped` is
 * true, keeps the entries of ports that the sweep did not read. Returns NOMEM. */
int sm_unresponsive_update(struct sm *s, const struct fab_unresponsive *found, uint32_t count,
                           bool scoped);
/* Requests a targeted sweep of the nodes at both ends of each unresponsive port's link. */
void sm_unresponsive_suspect(struct sm *s);

#endif
