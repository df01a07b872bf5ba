/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the windows in which errors of a link cross a threshold. A counter that has reached its
 * maximum cannot show further errors. The rule treats it as if it rose by its threshold in each
 * window, because it reached its maximum while the link was watched, and nothing shows that the
 * errors have ended until somebody clears it. */
#include "libfabmgr/health/persistence.h"

#include <string.h>

/* Upper limit of the multiple of the threshold that counts for one window, in thousandths. Without
 * this limit, one large burst would outweigh all windows without errors. */
#define MULTIPLE_MOST 5000u

/* Returns the largest multiple of its threshold, in thousandths, by which a counter of errors of
 * the link itself rose in the window; at most MULTIPLE_MOST. */
static uint64_t multiple(const struct fab_persistence *p, const struct fab_health_history *h,
                         const struct fab_counter_rule *rule)
{
    uint64_t most = 0;
    for (int i = 0; i < FAB_COUNTERS; i++) {
        uint64_t threshold = rule->threshold[i], rise = p->rise[i];
        if (threshold == 0 || !fab_health_counter_kinds[i].of_cable)
            continue;
        if (h->full[i] && h->sum[i] > 0 && rise < threshold)
            rise = threshold;
        uint64_t times =
            rise / threshold >= MULTIPLE_MOST / 1000 ? MULTIPLE_MOST : rise * 1000 / threshold;
        if (times > most)
            most = times;
    }
    return most;
}

static void end_window(struct fab_persistence *p, uint64_t times)
{
    bool crossed = times >= 1000;
    if (p->windows > 0 || crossed) {
        p->windows++;
        p->crossed += crossed;
        p->sum += crossed ? times : 0;
        p->clean = crossed ? 0 : p->clean + 1;
    }
    if (p->clean >= FAB_PERSISTENCE_CLEAN)
        p->windows = p->crossed = p->clean = 0, p->sum = 0;
    p->us = 0;
    memset(p->rise, 0, sizeof(p->rise));
}

void fab_health_persistence_add(struct fab_persistence *p, const struct fab_health_history *h,
                                const struct fab_counter_rule *rule)
{
    const struct fab_health_sample *s = fab_health_sample(h, 0);
    for (int i = 0; i < FAB_COUNTERS; i++)
        if (__builtin_add_overflow(p->rise[i], s->rise[i], &p->rise[i]))
            p->rise[i] = UINT64_MAX;
    p->us += s->to_us - s->from_us;
    /* the times of readings vary a little, so a window may be a tenth shorter than within_us */
    if (p->us >= rule->within_us - rule->within_us / 10)
        end_window(p, multiple(p, h, rule));
}

bool fab_health_persistence_reached(const struct fab_persistence *p, uint32_t crossings)
{
    return p->crossed > 0 && p->crossed >= crossings && p->sum >= p->windows * UINT64_C(1000);
}
