/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage on which a scenario is played: the fabric, the manager on it, and what the verbs
 * remember. */
#ifndef TESTS_SIM_STAGE_H
#define TESTS_SIM_STAGE_H

#include "fabricd/pm/pm.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/store.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/sim/fault.h"
#include "tests/sim/scenario.h"

#define STAGE_LABELS 8
#define STAGE_EVENTS 4096

struct stage_label {
    char name[SCENARIO_WORD];
    uint8_t *tables;
    size_t len;
};
struct stage_event {
    char type[32], subject[64], message[128];
};
struct stage_tap; /* between the manager and the fabric: digests what is sent */
struct stage {
    const struct scenario *scenario;
    struct scenario_run_config run;
    struct scenario_result *result;
    struct config config;
    struct loop *loop;
    struct bus *bus;
    struct fab_sim *sim;
    struct transport *below; /* the simulated fabric */
    struct stage_tap *tap;
    struct sm *sm;
    struct pm *pm;       /* where the scenario has "counters" */
    char state_dir[64];  /* of the manager; "": it keeps nothing */
    struct store *store; /* there while it is */
    bool narrow;         /* devices have error counters in PortCounters only */
    char seat[SCENARIO_WORD];
    bool *lost; /* [nodes] that a manager cannot manage: silent, lying, locked */

    size_t next; /* line */
    uint64_t begun_us;
    bool asked; /* the line at next is an expectation that was asked before */
    uint64_t until_us;
    struct loop_timer *timer;

    struct stage_event events[STAGE_EVENTS]; /* since the last mark */
    unsigned event_count;
    uint64_t marked_smps, marked_generation;
    struct stage_label labels[STAGE_LABELS];
    unsigned label_count;
    unsigned answers, refusals; /* of requests to the manager, since the last mark */
};

int stage_fabric(struct stage *s, struct fab_builder *b); /* the fabric to play on */
int stage_manager(struct stage *s, char why[512]);        /* it sits down and starts */
void stage_manager_goes(struct stage *s);
uint64_t stage_now(const struct stage *s); /* of the scenario: 0 when it begins */
void stage_mark(struct stage *s);

/* stage_judge.c: what stands in the devices, against the cabling. The verdicts are of the part of
 * the fabric that the manager can reach and that answers. */
struct fab_vls;
/* stage_lanes.c: the lanes of the devices, for the ids of f, the SLs as the manager tells them;
 * empty: one lane. False: the devices do not hold them. */
bool stage_lanes(struct stage *s, const struct fab_fabric *f, struct fab_vls *ret, char why[512]);
bool stage_active(struct stage *s, char why[512]);
bool stage_good(struct stage *s, char why[512]);
uint8_t *stage_tables(struct stage *s, size_t *ret_len); /* LIDs and LFTs; NULL: no memory */

#endif
