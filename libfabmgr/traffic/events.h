/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue of events, ordered by time and then by the order of insertion. For this folder only. */
#ifndef LIBFABMGR_TRAFFIC_EVENTS_H
#define LIBFABMGR_TRAFFIC_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct traffic_event {
    uint64_t time; /* ps */
    /* index of a packet, channel, port, flow or SL, depending on `kind` */
    uint32_t arg;
    uint16_t kind; /* enum traffic_kind in model.h */
    /* number of credits that return to the channel; only for TRAFFIC_CREDIT */
    uint16_t blocks;
    uint32_t next; /* used by events.c only */
};
struct traffic_far {
    uint64_t time, made;
    uint32_t event;
};
struct traffic_events {
    struct traffic_event *pool;
    /* room: number of allocated elements of pool[]. used: number of elements at the beginning of
     * pool[] that were in use at least once. */
    size_t room, used;
    /* index in pool[] of the first free element; the free elements form a list */
    uint32_t free;
    /* [SLOTS] a timing wheel: for each slot, the list of its events */
    uint32_t *slot;
    /* bitset of the slots that are not empty */
    uint64_t *bits;
    /* number of the open slot, that is the slot whose events are taken now; slots are counted from
     * time 0 */
    uint64_t now;
    /* first event in the sorted list of the open slot */
    uint32_t open;
    /* a heap of the events that are too late for the timing wheel, which covers two microseconds */
    struct traffic_far *far;
    size_t far_room, far_count;
    /* number of events that were ever put on the heap. Each event on the heap gets such a number,
     * by which the heap orders events of the same time. */
    uint64_t made;
    size_t count;
};
int fab_traffic_events_init(struct traffic_events *q); /* returns NOMEM */
void fab_traffic_events_fini(struct traffic_events *q);
/* Queues an event. Its time must not be before the time of the event that was taken last. Returns
 * NOMEM if there is no memory. */
int fab_traffic_events_put(struct traffic_events *q, const struct traffic_event *e);
/* Removes the first event from the queue and stores it in *ret. Returns false if no event is due up
 * to the time `until`. */
bool fab_traffic_events_take(struct traffic_events *q, uint64_t until, struct traffic_event *ret);
/* Each call stores one of the queued events in *ret and returns true; returns false if there are no
 * more events. The order of the events is not defined. The caller sets *cursor to 0 before the
 * first call. */
bool fab_traffic_events_next(const struct traffic_events *q, size_t *cursor,
                             struct traffic_event *ret);

#endif
