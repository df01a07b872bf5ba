/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a running scenario: the simulated fabric, the manager on it, and what the verbs of
 * the scenario remember. */
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
/* The transport between the manager and the fabric, which digests all MADs. */
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
    struct stage_summary *summary; /* NULL: no summary is wanted */
    struct sm *sm;
    /* The performance manager; NULL if the scenario does not have the verb "counters". */
    struct pm *pm;
    /* State directory of the manager; "": it keeps no state. */
    char state_dir[256];
    struct store *store; /* the store; NULL while there is none */
    bool narrow;         /* devices have error counters only in PortCounters */
    char seat[SCENARIO_WORD];
    /* [nodes] true: the manager cannot manage this node, because it is unresponsive, gives wrong
     * answers, or has a foreign M_Key. */
    bool *lost;

    size_t next; /* index of the next line */
    uint64_t begun_us;
    /* The expectation in line `next` was checked at least once. */
    bool asked;
    uint64_t until_us;
    struct loop_timer *timer;

    struct stage_event events[STAGE_EVENTS]; /* events since the last mark */
    unsigned event_count;
    uint64_t marked_smps, marked_timeouts, marked_generation;
    /* Number of SubnSets that the manager has sent since the last verb "mark": of LFT blocks
     * (blocks), and of all attributes (writes). */
    uint64_t blocks, writes;
    /* Nodes that lose power one after the other. */
    struct stage_outage *outages;
    struct stage_label labels[STAGE_LABELS];
    unsigned label_count;
    /* Number of replies of the manager to requests of hosts since the last verb "mark" (answers),
     * and how many of them had an error status (refusals). */
    unsigned answers, refusals;
    /* Worker tasks of this phase begin hold_us late (verb "hold-worker"); "": no phase. */
    char hold_phase[SCENARIO_WORD];
    uint64_t hold_us;
    bool holds; /* loop_delay_work was called */
};

int stage_fabric(struct stage *s, struct fab_builder *b); /* makes the fabric of the scenario */
int stage_manager(struct stage *s, char why[512]);        /* creates and starts the manager */
void stage_manager_goes(struct stage *s);
uint64_t stage_now(const struct stage *s); /* virtual time since the scenario began */
void stage_mark(struct stage *s);

/* Functions of stage_summary.c, which writes what happened after each statement of the scenario.
 * The functions do nothing if no summary is wanted. */
struct stage_summary *stage_summary_new(FILE *out);
void stage_summary_free(struct stage_summary *y);
void stage_summary_event(struct stage_summary *y, const struct event *e);
void stage_summary_mad(struct stage_summary *y,
                       const uint8_t *bytes); /* counts a MAD of the manager */
/* Writes what happened since the last statement, and then this statement, unless it is an
 * expectation. Call this function before the statement is carried out. */
void stage_summary_line(struct stage *s, const struct scenario_line *line);
/* Writes what happened since the last statement. Call this function before the manager is freed. */
void stage_summary_manager_goes(struct stage *s);

/* Functions of scenario_power.c, for the lines "off" and "on" with the option "spread": they switch
 * the nodes off or on at random times within spread_us. Each returns NOT_FOUND if no node matches,
 * or NOMEM. */
int stage_power_off(struct stage *s, const struct scenario_line *line, uint64_t spread_us);
int stage_power_on(struct stage *s, const struct scenario_line *line, uint64_t spread_us);
void stage_outages_free(struct stage *s);

struct fab_vls;
/* Reads the VL tables of the devices. *ret gets their values and the SLs of the manager, by the ids
 * of f (stage_lanes.c). *ret stays unchanged if the manager uses one VL only. Returns false if a VL
 * table of a device is not that of the manager; why[] gets the difference. */
bool stage_lanes(struct stage *s, const struct fab_fabric *f, struct fab_vls *ret, char why[512]);
/* Functions of stage_judge.c. They compare the state of the devices with the simulated cabling.
 * They ignore nodes that the manager cannot reach and nodes that do not answer. stage_active and
 * stage_good return false if the state is wrong; why[] gets the reason. */
bool stage_active(struct stage *s, char why[512]);
bool stage_good(struct stage *s, char why[512]);
/* Returns whether the devices have exactly the tables of the published view, and the verdict of the
 * view is that of fab_verify about these tables. */
bool stage_written(struct stage *s, char why[512]);
/* Returns the LIDs and LFTs of the devices; NULL: no memory. */
uint8_t *stage_tables(struct stage *s, size_t *ret_len);

#endif
