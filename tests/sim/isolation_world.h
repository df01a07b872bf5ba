/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric with 1,000 links between switches and the real manager, which isolates bad links with
 * the settings of fabricd.yaml(5), in virtual time. Healthy links have symbol errors at random, and
 * some have more: bursts, flaps, and rates that rise slowly with the temperature of a rack. Ten
 * links are bad in five manners. There is one world in a process.
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

/* HEALTHY and WARM links are healthy. */
enum manner { HEALTHY, WARM, STEADY, ON_AND_OFF, DRIFT, RECOVERIES, RECEIVES };
struct isl {
    uint32_t leaf, spine; /* node ids in the simulation */
    uint8_t leaf_port, spine_port;
    enum manner manner;
    double found_min; /* minutes until the link was isolated, or reported as kept; 0: not yet */
    /* [0] at the leaf, [1] at the spine: the sums of all errors that the world added */
    uint64_t symbols[2], downs[2], receive[2];
};
struct world {
    struct lab lab;
    struct pm *pm;
    struct fab_prng prng;
    struct isl isl[LINKS];
    uint32_t above; /* bursts of healthy links that reached the threshold */
    uint32_t flaps;
};
/* The errors of healthy links: symbol errors per minute of a link, by how much this rate of WARM
 * links rises each minute, and after how many minutes a link has a burst on average (0: never). */
struct noise {
    double symbols_per_min, warming, burst_min;
};
extern const struct noise world_noise; /* 1.5 errors, 0.3, and a burst an hour */

/* Brings the fabric up, and reads its counters for the first time. */
void world_begin(struct world *w, uint64_t seed);
void world_end(struct world *w);
/* Makes all links of one leaf WARM, and ten links bad: ten random links, or random links of one
 * leaf. */
void world_make_bad(struct world *w, bool at_one_leaf);
/* Adds the errors of STEP_S seconds to all links. minute: minutes since the links became bad. */
void world_add_errors(struct world *w, const struct noise *n, double minute);
/* Takes a random link down and up again, as when somebody touches the cable. If the link is bad,
 * does nothing. */
void world_flap_one(struct world *w);
/* Returns the link of a port. */
struct isl *world_isl(struct world *w, uint64_t guid, uint8_t port);
/* Notes in found_min the links that stay in use because of the floor; all of them are bad. Returns
 * their number. */
uint32_t world_note_kept(struct world *w, double minute);

#endif
