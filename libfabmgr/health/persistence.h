/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether the errors of a link persist. If they do, it is justified to isolate the link. A
 * single burst of errors, for example while a switch restarts or a cable is touched, must not
 * isolate a link, nor must rare errors whose number exceeds the threshold by chance.
 *
 * Time is divided into windows of rule->within_us. A counter crosses its threshold in a window if
 * it rises by the threshold or more. Errors persist when two conditions are met: a counter of the
 * link itself has crossed its threshold in enough windows, and the errors of these windows, divided
 * by the number of all windows since the first crossing, are at least the threshold. After
 * FAB_PERSISTENCE_CLEAN windows without a crossing, the count begins again.
 */
#ifndef LIBFABMGR_HEALTH_PERSISTENCE_H
#define LIBFABMGR_HEALTH_PERSISTENCE_H

#include "libfabmgr/health/counters.h"

#define FAB_PERSISTENCE_CLEAN 5

/* State of one end of a link; all bytes zero: no reading yet. */
struct fab_persistence {
    uint64_t us;                 /* length in us of the window so far */
    uint64_t rise[FAB_COUNTERS]; /* [counter] by how much the counter rose in the window so far */
    /* number of complete windows since the first crossing, including the window of the first
     * crossing; 0: no crossing yet */
    uint32_t windows;
    uint32_t crossed; /* how many of these windows had a crossing */
    /* number of complete windows since the last crossing */
    uint32_t clean;
    /* Sum over the windows with a crossing. Each window contributes the rise of one counter, in
     * thousandths of its threshold, but at most MULTIPLE_MOST (persistence.c). This counter is the
     * one for which the contribution is the largest. */
    uint64_t sum;
};

/* Adds the newest sample of a history to the window. */
void fab_health_persistence_add(struct fab_persistence *p, const struct fab_health_history *h,
                                const struct fab_counter_rule *rule);
/* Returns true if the errors persist. crossings: number of windows that must have a crossing. */
bool fab_health_persistence_reached(const struct fab_persistence *p, uint32_t crossings);

#endif
