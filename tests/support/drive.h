/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a discovery (libfabmgr/discover) of a simulated fabric, without sessions, timers or sockets.
 */
#ifndef TESTS_SUPPORT_DRIVE_H
#define TESTS_SUPPORT_DRIVE_H

#include <inttypes.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/sim/sim.h"

struct drive_answer {
    /* The request. Its member `path` is not valid any more when the answer is delivered. */
    struct fab_discover_ask ask;
    int status;
    uint8_t data[FAB_SMP_DATA];
};
struct drive {
    struct fab_sim *sim;
    uint32_t node; /* node and port of the manager */
    uint8_t port;
    /* maximum number of requests in flight; 0 means 64 */
    uint32_t window;
    /* how often a request is sent if there is no answer; 0: once */
    uint32_t tries;
    /* true: answers arrive in random order, chosen by the seed */
    bool shuffle;
    uint64_t seed;
    /* maximum number of requests, after which drive() returns LIMIT; 0: no limit */
    uint64_t limit;
    /* Called for each answer before it is delivered; it may change the answer. NULL: no changes. */
    void (*mangle)(void *ctx, struct drive_answer *answer);
    void *ctx;
    /* How many requests the discovery sent: in total, and of four attributes. */
    uint64_t asked, node_infos, node_descs, switch_infos, port_infos;
};

/* Runs the discovery `d` until it is complete. Returns LIMIT if it needs more than r->limit
 * requests. */
int drive(struct drive *r, struct fab_discover *d);
/* Sends a Get or Set of subnet management along a directed route. `data` has the attribute to send,
 * and then the attribute in the answer. Returns the status of the answer; -1: no answer. */
int drive_smp(struct drive *r, const struct fab_path *path, uint8_t method, uint16_t attr_id,
              uint32_t attr_mod, uint8_t data[FAB_SMP_DATA]);
/* Discovers the whole fabric from the manager's port. */
int drive_whole(struct drive *r, struct fab_fabric **ret_fabric);
/* Gives the fabric working LIDs and LFTs in a simple way. The LID of a node is its id + 1 (for an
 * adapter: on its first linked port). All paths are shortest paths, all links become Active, and
 * the SM LID is that of the manager. f: the fabric that drive_whole found. */
int drive_program(struct drive *r, const struct fab_fabric *f);
/* Chooses the port of the manager: the first adapter port that has a link. */
void drive_sit(struct drive *r);

#endif
