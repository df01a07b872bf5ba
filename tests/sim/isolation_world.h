/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric with 1,000 ISLs in virtual time. The real manager isolates bad links, with the settings
 * of fabricd.yaml(5). Healthy links have random symbol errors. Some of them have more: bursts,
 * flaps, or a rate that rises slowly with the temperature of a rack. Ten links are bad, each in one
 * of five ways (enum manner). A process can have only one world.
 */
#ifndef TESTS_SIM_ISOLATION_WORLD_H
#define TESTS_SIM_ISOLATION_WORLD_H

#include "fabricd/pm/pm.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/sim/fault.h"
#include "libfabmgr/sim/sim.h"
#include "tests/sim/lab.h"

#define LEAVES 40
#define SPINES 25
#define LINKS (LEAVES * SPINES)
#define BAD 10
#define STEP_S 10

/* how a link behaves: HEALTHY and WARM links are healthy, all others are bad */
enum manner { HEALTHY, WARM, STEADY, ON_AND_OFF, DRIFT, RECOVERIES, RECEIVES };
struct isl {
    uint32_t leaf, spine; /* node ids in the simulation */
    uint8_t leaf_port, spine_port;
    enum manner manner;
    /* The time in minutes at which the manager isolated the link, or reported that the link is
     * unhealthy but must stay in use. 0: it has done neither. */
    double found_min;
    /* errors that the test has added in total: [0] at the leaf, [1] at the spine */
    uint64_t symbols[2], downs[2], receive[2];
};
struct world {
    struct lab lab;
    struct pm *pm;
    struct fab_prng prng;
    struct isl isl[LINKS];
    uint32_t above; /* number of error bursts of healthy links that reached the threshold */
    uint32_t flaps;
};
/* The errors of healthy links. symbols_per_min: average number of symbol errors of a link in a
 * minute. warming: how much this number grows each minute if the link is WARM. burst_min: average
 * time between two bursts of a link in minutes; 0: no bursts. */
struct noise {
    double symbols_per_min, warming, burst_min;
};
/* 1.5 symbol errors a minute, growing by 0.3 each minute for WARM links; a burst every 60
 * minutes */
extern const struct noise world_noise;

/* Brings the fabric up, and waits until the performance manager has read all counters once. */
void world_begin(struct world *w, uint64_t seed);
void world_end(struct world *w);
/* Makes all links of one leaf WARM. Makes ten other links bad: at_one_leaf: ten of one leaf;
 * otherwise ten of the whole fabric. */
void world_make_bad(struct world *w, bool at_one_leaf);
/* Adds the errors of the next STEP_S seconds to all links. minute: how long the bad links have been
 * bad. */
void world_add_errors(struct world *w, const struct noise *n, double minute);
/* Takes a random link down and up again, as when somebody touches its cable. Does nothing if this
 * link is bad. */
void world_flap_one(struct world *w);
/* Returns the ISL of a port. guid: GUID of the port's node. */
struct isl *world_isl(struct world *w, uint64_t guid, uint8_t port);
/* Finds bad links that the manager does not isolate because of the capacity floor (fabricd.yaml(5),
 * flapping), and sets their found_min. Returns their number. */
uint32_t world_note_kept(struct world *w, double minute);

#endif
