/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides switches into batches that can be drained one after the other, for example to update the
 * firmware of a rack. While a batch is drained, each other switch keeps a certain share of its
 * ISLs, and each pod keeps the same share of its ISLs to the switches that are farthest from hosts.
 */
#ifndef LIBFABMGR_HEALTH_DRAIN_PLAN_H
#define LIBFABMGR_HEALTH_DRAIN_PLAN_H

#include "libfabmgr/fabric/fabric.h"

struct fab_drain_batch {
    /* While the batch is drained, each switch outside of the batch keeps a share of its ISLs.
     * kept_percent: the lowest of these shares. least: id of the switch with the lowest share;
     * FAB_NONE: no switch outside of the batch loses an ISL. */
    uint32_t kept_percent, least;
    uint32_t hosts; /* number of endports connected to the switches of the batch */
};
struct fab_drain_plan {
    /* [switch_count] index of the batch of each switch; FAB_NONE: the switch is in no batch */
    uint32_t *batch_of;
    struct fab_drain_batch *batch;
    uint32_t count;
};
struct fab_drain_plan_input {
    const struct fab_fabric *fabric;
    const uint64_t *of;    /* bitset of the switches to divide */
    uint32_t keep_percent; /* share of ISLs that must stay, 1 to 100 */
    /* fab_health_drain_plan calls this function from time to time, with `stopped_ctx`. If it
     * returns true, the computation ends early. May be NULL. */
    bool (*stopped)(void *ctx);
    void *stopped_ctx;
};
/* Divides switches into batches. Either all switches of a batch have hosts, or none has. A switch
 * gets no batch if its drain alone would leave another switch or a pod with too few ISLs, or would
 * cut off a part of the fabric. Returns NOMEM, or BUSY if in->stopped() returned true. */
int fab_health_drain_plan(const struct fab_drain_plan_input *in, struct fab_drain_plan *ret);
void fab_health_drain_plan_fini(struct fab_drain_plan *p);

#endif
