/* SPDX-License-Identifier: BSD-3-Clause */
/* The event queue of the simulation: a heap that is ordered by time. Events with equal times keep
 * the order of insertion. The queue also stores the MADs to which events refer. For this folder
 * only. */
#ifndef LIBFABMGR_SIM_QUEUE_H
#define LIBFABMGR_SIM_QUEUE_H

#include "libfabmgr/sim/sim.h"

struct sim_event {
    uint64_t at, seq;
    uint64_t arg;
    uint32_t a, b;
    uint32_t kind;
};
struct sim_pending_mad {
    struct fab_sim_delivery mail;
    uint32_t next_free;
};
struct sim_queue {
    struct sim_event *heap;
    size_t count, capacity;
    uint64_t seq;
    struct sim_pending_mad *pending_mads;
    size_t pending_mad_count, pending_mad_capacity;
    /* index of the first free entry of pending_mads[]; FAB_NONE: all entries are in use */
    uint32_t first_free;
};
void fab_sim_queue_fini(struct sim_queue *q);
/* Adds a copy of the event, and sets `seq` in the copy. Returns OK, NOMEM or LIMIT. */
int fab_sim_queue_put(struct sim_queue *q, const struct sim_event *e);
/* Removes the first event, and writes it to *ret. Returns false, and removes nothing, if the queue
 * is empty or the first event is later than `until`. */
bool fab_sim_queue_take(struct sim_queue *q, uint64_t until, struct sim_event *ret);
/* Returns the time of the first event; UINT64_MAX: the queue is empty. */
uint64_t fab_sim_queue_next(const struct sim_queue *q);

int fab_sim_queue_put_mad(struct sim_queue *q, const struct fab_sim_delivery *mail,
                          uint32_t *ret_pending_mad);
/* Returns the MAD with this index in pending_mads[], and frees its entry. */
struct fab_sim_delivery fab_sim_queue_take_mad(struct sim_queue *q, uint32_t pending_mad);

#endif
