/* SPDX-License-Identifier: BSD-3-Clause */
/* Drives a discovery against a simulated fabric, without sessions, timers or sockets. */
#ifndef TESTS_SUPPORT_DRIVE_H
#define TESTS_SUPPORT_DRIVE_H

#include <inttypes.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/discover/discover.h"
#include "libfabmgr/sim/sim.h"

struct drive_answer {
    struct fab_discover_ask ask; /* its path is gone when it is delivered */
    int status;
    uint8_t data[FAB_SMP_DATA];
};
struct drive {
    struct fab_sim *sim;
    uint32_t node; /* where we sit */
    uint8_t port;
    uint32_t window; /* questions in flight; 0: 64 */
    uint32_t tries;  /* of a question; 0: 1 */
    bool shuffle;    /* answers come in any order, by the seed */
    uint64_t seed;
    uint64_t limit; /* questions after which to give up; 0: none */
    /* May change what comes back; NULL: nothing does. */
    void (*mangle)(void *ctx, struct drive_answer *answer);
    void *ctx;
    /* counted */
    uint64_t asked, node_infos, node_descs, switch_infos, port_infos;
};

/* Until done; FAB_E_LIMIT: more questions than the limit. */
int drive(struct drive *r, struct fab_discover *d);
/* SubnSet or SubnGet along a path; data in and out. The SMP status, or -1: no answer. */
int drive_smp(struct drive *r, const struct fab_path *path, uint8_t method, uint16_t attr_id,
              uint32_t attr_mod, uint8_t data[FAB_SMP_DATA]);
/* A whole discovery from r's place. */
int drive_whole(struct drive *r, struct fab_fabric **ret_fabric);
/* Does what a manager does, the simple way: LID of a node is its id + 1 (adapters: on the first
 * cabled port), shortest paths, all links Active, SM LID is ours. f: as found by drive_whole. */
int drive_program(struct drive *r, const struct fab_fabric *f);
/* Where a manager of that fabric would sit: the first cabled adapter port. */
void drive_sit(struct drive *r);

#endif
