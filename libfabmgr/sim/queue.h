/* SPDX-License-Identifier: BSD-3-Clause */
/* What is due when: a heap by time and then by order of coming, and the MADs that wait in it. Not
 * for other rooms. */
#ifndef LIBFABMGR_SIM_QUEUE_H
#define LIBFABMGR_SIM_QUEUE_H

#include "libfabmgr/sim/sim.h"

struct sim_event {
    uint64_t at, seq;
    uint64_t arg;
    uint32_t a, b;
    uint32_t kind;
};
struct sim_parcel {
    struct fab_sim_delivery mail;
    uint32_t next_free;
};
struct sim_queue {
    struct sim_event *heap;
    size_t count, capacity;
    uint64_t seq;
    struct sim_parcel *parcels;
    size_t parcel_count, parcel_capacity;
    uint32_t first_free; /* FAB_NONE: none is free */
};
void fab_sim_queue_fini(struct sim_queue *q);
int fab_sim_queue_put(struct sim_queue *q,
                      const struct sim_event *e); /* seq is given. NOMEM, LIMIT */
bool fab_sim_queue_take(struct sim_queue *q, uint64_t until,
                        struct sim_event *ret);         /* the next one due */
uint64_t fab_sim_queue_next(const struct sim_queue *q); /* when; UINT64_MAX: never */

int fab_sim_queue_put_mad(struct sim_queue *q, const struct fab_sim_delivery *mail,
                          uint32_t *ret_parcel);
struct fab_sim_delivery fab_sim_queue_take_mad(struct sim_queue *q,
                                               uint32_t parcel); /* it is free again */

#endif
