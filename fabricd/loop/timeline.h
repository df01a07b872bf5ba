/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timers of a loop in virtual time: a heap ordered by time, then by the order of setting.
 */
#ifndef FABRICD_LOOP_TIMELINE_H
#define FABRICD_LOOP_TIMELINE_H

#include <stddef.h>

#include "fabricd/loop/loop.h"

struct timeline_entry { /* embedded in a timer */
    uint64_t at, seq;
    size_t slot; /* position in the heap, counted from 1; 0: the timer is not set */
};
struct timeline {
    struct timeline_entry **heap; /* [capacity]; the entry of slot n is heap[n - 1] */
    size_t count, capacity, entries;
    uint64_t now, seq;
};
/* Makes room for one more entry, so that setting it cannot fail. NOMEM. */
int timeline_reserve(struct timeline *t);
void timeline_release(struct timeline *t, struct timeline_entry *e);
void timeline_set(struct timeline *t, struct timeline_entry *e, uint64_t delay_us);
void timeline_cancel(struct timeline *t, struct timeline_entry *e);
/* Removes the entry that is due first and advances the time to it. NULL: no timer is set. */
struct timeline_entry *timeline_next(struct timeline *t);
void timeline_fini(struct timeline *t);

#endif
