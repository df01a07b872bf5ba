/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advice. How many senders crowd one end is not counted by any device; that many were slowed down
 * for so many ends at a time bounds it: at least their quotient, for some end, in a fabric where
 * senders have one crowd each.
 */
#include "libfabmgr/congestion/advise.h"

#include <stdio.h>

#define WAITS_MUCH 200 /* permille */

unsigned fab_congestion_advise(const struct fab_congestion_seen *seen,
                               const struct fab_congestion_assumed *assumed,
                               char ret[FAB_CONGESTION_ADVICES][200])
{
    unsigned n = 0;
    bool works = assumed->apply && !assumed->off;
    uint32_t fan_in = seen->crowded_ends > 0 ? seen->slowed / seen->crowded_ends : 0;
    if (works && fan_in > assumed->fan_in)
        snprintf(ret[n++], 200,
                 "%u senders were slowed down for %u ends, about %u for each, and %u are counted "
                 "on: set congestion.fan_in to %u or more",
                 seen->slowed, seen->crowded_ends, fan_in, assumed->fan_in, fan_in);
    if (works && seen->crowded_ends > 0 && seen->slowed == 0)
        snprintf(ret[n++], 200,
                 "marked packets come to %u ends and no sender is told of it: do the adapters "
                 "support it, and is it switched on there?",
                 seen->crowded_ends);
    if (works && assumed->unsupported * 10 > assumed->devices)
        snprintf(ret[n++], 200,
                 "%u of %u devices are without support: their traffic is not held "
                 "back, nor protected",
                 assumed->unsupported, assumed->devices);
    if (!works && seen->waits_most_permille >= WAITS_MUCH)
        snprintf(ret[n++], 200,
                 "%u ports wait for credits, one of them %u %% of its time: congestion control "
                 "(congestion.apply) would hold back those that crowd others",
                 seen->waiting, seen->waits_most_permille / 10);
    return n;
}
