/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timers of a loop in virtual time: a heap that is ordered by time, and for equal times by the
 * order in which the timers were set.
 */
#ifndef FABRICD_LOOP_TIMELINE_H
#define FABRICD_LOOP_TIMELINE_H

#include <stddef.h>

#include "fabricd/loop/loop.h"

/* the entry of a timer in the heap; each timer has one as a member */
struct timeline_entry {
    uint64_t at, seq;
    /* position in the heap, from 1; 0: the timer is not set */
    size_t slot;
};
struct timeline {
    /* [capacity] binary heap of the timers that are set; the entry with `slot` n is heap[n - 1] */
    struct timeline_entry **heap;
    size_t count, capacity, entries;
    uint64_t now, seq;
};
/* Reserves memory for one more timer, so that timeline_set cannot fail. Returns OK or NOMEM. */
int timeline_reserve(struct timeline *t);
void timeline_release(struct timeline *t, struct timeline_entry *e);
void timeline_set(struct timeline *t, struct timeline_entry *e, uint64_t delay_us);
void timeline_cancel(struct timeline *t, struct timeline_entry *e);
/* Unsets the timer that is due first, advances the time to the moment when this timer is due, and
 * returns the timer's entry. Returns NULL if no timer is set. */
struct timeline_entry *timeline_next(struct timeline *t);
void timeline_fini(struct timeline *t);

#endif
