/* SPDX-License-Identifier: BSD-3-Clause */
/* The events to come, in order of time; of one time, in the order they were made. For this room. */
#ifndef LIBFABMGR_TRAFFIC_EVENTS_H
#define LIBFABMGR_TRAFFIC_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct traffic_event {
    uint64_t time;   /* ps */
    uint32_t arg;    /* packet, port, flow: by kind */
    uint16_t kind;   /* enum traffic_kind in model.h */
    uint16_t blocks; /* credits that come back */
    uint32_t next;   /* private */
};
struct traffic_far {
    uint64_t time, made;
    uint32_t event;
};
struct traffic_events {
    struct traffic_event *pool;
    size_t room, used; /* of the pool; those given back are in a list */
    uint32_t free;
    uint32_t *slot;          /* [SLOTS] lists of what is soon */
    uint64_t *bits;          /* which slots have any */
    uint64_t now;            /* the slot that is open, counted from time 0 */
    uint32_t open;           /* its list, sorted */
    struct traffic_far *far; /* a heap: what is later than all slots */
    size_t far_room, far_count;
    uint64_t made; /* far events ever, for their order */
    size_t count;
};
int fab_traffic_events_init(struct traffic_events *q); /* NOMEM */
void fab_traffic_events_fini(struct traffic_events *q);
/* Not before what was last taken. NOMEM. */
int fab_traffic_events_put(struct traffic_events *q, const struct traffic_event *e);
/* Takes the first one, unless it is after `until`. */
bool fab_traffic_events_take(struct traffic_events *q, uint64_t until, struct traffic_event *ret);
/* Visits all in no order: start with *cursor = 0. */
bool fab_traffic_events_next(const struct traffic_events *q, size_t *cursor,
                             struct traffic_event *ret);

#endif
