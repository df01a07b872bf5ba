/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric with 1,000 links between switches and the real manager, which isolates bad links with
 * the settings of fabricd.yaml(5), in virtual time. Healthy links have symbol errors at random.
 * Some healthy links have more of them: bursts, flaps, and rates that rise slowly with the
 * temperature of a rack. Ten links are bad, each in one of five ways (enum manner). A process can
 * have only one world.
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

/* HEALTHY and WARM links are healthy, all others are bad. */
enum manner { HEALTHY, WARM, STEADY, ON_AND_OFF, DRIFT, RECOVERIES, RECEIVES };
struct isl {
    uint32_t leaf, spine; /* node ids in the simulation */
    uint8_t leaf_port, spine_port;
    enum manner manner;
    /* Minutes until the manager isolated the link, or reported that the link is unhealthy but stays
     * in use; 0: it has done neither yet. */
    double found_min;
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
/* The errors of healthy links. symbols_per_min: average number of symbol errors of a link in a
 * minute. warming: by how much this number rises each minute for WARM links. burst_min: average
 * number of minutes between two bursts of a link; 0: there are no bursts. */
struct noise {
    double symbols_per_min, warming, burst_min;
};
/* 1.5 symbol errors a minute, 0.3 more each minute for WARM links, and a burst every 60 minutes */
extern const struct noise world_noise;

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
/* Sets found_min of the bad links that stay in use because of the capacity floor (fabricd.yaml(5),
 * flapping). Returns the number of these links. */
uint32_t world_note_kept(struct world *w, double minute);

#endif
