/* SPDX-License-Identifier: BSD-3-Clause */
/* Drives a discovery of a simulated fabric, without sessions, timers or sockets. */
#ifndef TESTS_SUPPORT_DRIVE_H
#define TESTS_SUPPORT_DRIVE_H

#include <inttypes.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/sim/sim.h"

struct drive_answer {
    /* the request; its path is invalid when the answer is delivered */
    struct fab_discover_ask ask;
    int status;
    uint8_t data[FAB_SMP_DATA];
};
struct drive {
    struct fab_sim *sim;
    uint32_t node; /* the manager's port */
    uint8_t port;
    /* maximum number of requests in flight; 0: 64 */
    uint32_t window;
    /* number of tries for each request; 0: 1 */
    uint32_t tries;
    /* answers arrive in random order, by the seed */
    bool shuffle;
    uint64_t seed;
    /* number of requests after which the discovery is given up; 0: no limit */
    uint64_t limit;
    /* Called for each answer, which it may change; NULL: no changes. */
    void (*mangle)(void *ctx, struct drive_answer *answer);
    void *ctx;
    /* Counters: */
    uint64_t asked, node_infos, node_descs, switch_infos, port_infos;
};

/* Runs a discovery until it is complete. Returns LIMIT if it needs more requests than the limit. */
int drive(struct drive *r, struct fab_discover *d);
/* Sends a Get or Set of subnet management along a path. `data` has the attribute, and on return the
 * attribute in the answer. Returns the status of the answer; -1: no answer. */
int drive_smp(struct drive *r, const struct fab_path *path, uint8_t method, uint16_t attr_id,
              uint32_t attr_mod, uint8_t data[FAB_SMP_DATA]);
/* Runs a full discovery from the manager's port. */
int drive_whole(struct drive *r, struct fab_fabric **ret_fabric);
/* Programs the fabric in a simple way: the LID of a node is its id + 1 (at adapters: on the first
 * linked port), all paths are shortest paths, all links become Active, and the SM LID is that of
 * the manager. f: the fabric that drive_whole found. */
int drive_program(struct drive *r, const struct fab_fabric *f);
/* Puts the manager at the first adapter port with a link. */
void drive_sit(struct drive *r);

#endif
