/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage of a scenario while it runs: the simulated fabric, the manager, and what the verbs
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
struct stage_summary; /* defined in stage_summary.c */
/* The tap between the manager and the fabric, which makes a digest of all MADs. */
struct stage_tap;
struct stage {
    const struct scenario *scenario;
    struct scenario_run_config run;
    struct scenario_result *result;
    struct config config;
    struct loop *loop;
    struct bus *bus;
    struct fab_sim *sim;
    struct transport *below; /* the transport of the simulated fabric */
    struct stage_tap *tap;
    struct stage_summary *summary; /* NULL: no summary is written */
    struct sm *sm;
    /* performance manager; NULL: the scenario does not have the verb "counters" */
    struct pm *pm;
    /* state directory of the manager; "": none */
    char state_dir[256];
    struct store *store; /* NULL: the manager has no store at present */
    /* true: devices do not have PortCountersExtended, so they have error counters only in
     * PortCounters */
    bool narrow;
    char seat[SCENARIO_WORD];
    /* [nodes] true: the manager cannot manage the node, because it does not answer, gives wrong
     * answers, or has a foreign M_Key */
    bool *lost;

    size_t next; /* index of the next line */
    uint64_t begun_us;
    /* true: the expectation in line `next` was checked before, but was not true */
    bool asked;
    uint64_t until_us;
    struct loop_timer *timer;

    struct stage_event events[STAGE_EVENTS]; /* events since the last verb "mark" */
    unsigned event_count;
    uint64_t marked_smps, marked_timeouts, marked_generation;
    /* number of SubnSets since the last verb "mark": of LFT blocks (blocks), and of all attributes
     * (writes) */
    uint64_t blocks, writes;
    /* nodes that will lose power, one after the other */
    struct stage_outage *outages;
    struct stage_label labels[STAGE_LABELS];
    unsigned label_count;
    /* number of replies of the manager to hosts since the last verb "mark", and how many of these
     * had an error status */
    unsigned answers, refusals;
    /* phase whose worker tasks begin hold_us late (verb "hold-worker"); "": no phase */
    char hold_phase[SCENARIO_WORD];
    uint64_t hold_us;
    bool holds; /* true: loop_delay_work() was called for this */
};

int stage_fabric(struct stage *s, struct fab_builder *b); /* makes the simulated fabric */
int stage_manager(struct stage *s, char why[512]);        /* creates and starts the manager */
void stage_manager_goes(struct stage *s);
uint64_t stage_now(const struct stage *s); /* virtual time since the scenario began, in us */
void stage_mark(struct stage *s);

/* Functions of stage_summary.c, which writes what happened after each statement of the scenario.
 * They do nothing if no summary is written. */
struct stage_summary *stage_summary_new(FILE *out);
void stage_summary_free(struct stage_summary *y);
void stage_summary_event(struct stage_summary *y, const struct event *e);
void stage_summary_mad(struct stage_summary *y,
                       const uint8_t *bytes); /* counts a MAD of the manager */
/* Call before a statement is executed. Writes what has happened since the statement before, and
 * then this statement, unless it is an expectation. */
void stage_summary_line(struct stage *s, const struct scenario_line *line);
/* Call before the manager is freed. Writes what has happened since the last statement. */
void stage_summary_manager_goes(struct stage *s);

/* Functions of scenario_power.c for the lines "off" and "on" with the option "spread": they switch
 * nodes off or on at random times within spread_us. Return NOT_FOUND if no node matches, or
 * NOMEM. */
int stage_power_off(struct stage *s, const struct scenario_line *line, uint64_t spread_us);
int stage_power_on(struct stage *s, const struct scenario_line *line, uint64_t spread_us);
void stage_outages_free(struct stage *s);

struct fab_vls;
/* Reads the VL tables of the devices (stage_lanes.c). *ret gets them with the manager's SLs, by the
 * ids of f; if the manager uses only one VL, *ret stays unchanged. Returns false if a device has
 * other tables than the manager wants; why[] says which. */
bool stage_lanes(struct stage *s, const struct fab_fabric *f, struct fab_vls *ret, char why[512]);
/* Functions of stage_judge.c, which compare the state of the devices with the simulated cabling.
 * Nodes that the manager cannot reach, or that do not answer, are left out. stage_active() and
 * stage_good() return false if something is wrong; why[] says what. */
bool stage_active(struct stage *s, char why[512]);
bool stage_good(struct stage *s, char why[512]);
/* Returns whether the devices hold exactly the tables of the published view, and whether the
 * verdict in the view is that of fab_verify about these tables. */
bool stage_written(struct stage *s, char why[512]);
/* returns the LIDs and LFTs of all devices in one block of memory; NULL: no memory */
uint8_t *stage_tables(struct stage *s, size_t *ret_len);

#endif
