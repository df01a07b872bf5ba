/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/counters/trend.h"

#define HALF (FAB_TREND_STEPS / 2)
#define ASCENDING_LEAST 16
#define SIGMAS 5
/* higher numbers of errors count as this one, so that their squares fit into 64 bits */
#define LARGE (UINT64_C(1) << 30)
/* Differences of fewer bytes per second than this do not count. The manager reads the two ends of a
 * link one after the other, which alone can cause such differences. */
#define DIFFERENCE_LEAST 1000000
#define DIFFERENCE_PERCENT 10

static uint64_t limited(uint64_t errors)
{
    return errors < LARGE ? errors : LARGE;
}

bool fab_counters_rises(const uint64_t errors[FAB_TREND_STEPS])
{
    uint64_t first = 0, second = 0;
    int ascending = 0;
    for (int i = 0; i < FAB_TREND_STEPS; i++) {
        *(i < HALF ? &first : &second) += limited(errors[i]);
        for (int k = 0; k < i; k++)
            ascending += (errors[i] > errors[k]) - (errors[i] < errors[k]);
    }
    if (second <= first || ascending < ASCENDING_LEAST)
        return false;
    uint64_t difference = limited(second - first);
    return difference * difference >= SIGMAS * SIGMAS * (first + second);
}

bool fab_counters_differ(uint64_t sent, uint64_t received)
{
    uint64_t most = sent > received ? sent : received;
    uint64_t difference = most - (sent > received ? received : sent);
    return difference >= DIFFERENCE_LEAST && difference / DIFFERENCE_PERCENT > most / 100;
}
