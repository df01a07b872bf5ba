/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spreading with care: each LID takes the ways with the least load in sum, from every switch to the
 * end (SSSP: Hoefler, Schneider, Lumsdaine, HOTI 2009; here among the shortest legal ways only).
 * spread.c looks at the next cable only and trusts in D-mod-k for those behind it, which is right
 * where the fabric is a regular tree. This costs a look at all candidates for each LID.
 */
#include "libfabmgr/route/spread.h"

/* The candidate from which the rest of the way is least loaded, the first from `preferred` on. */
static uint32_t lightest(const struct fab_spread *s, const uint64_t *cost,
                         const uint32_t *candidate, uint32_t count, uint32_t preferred,
                         uint64_t *ret_cost)
{
    uint32_t best = candidate[preferred];
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t port = candidate[preferred + i < count ? preferred + i : preferred + i - count];
        uint64_t sum = cost[s->ports.peer[port]] + s->ports.load[port];
        if (sum < least) {
            least = sum;
            best = port;
        }
    }
    *ret_cost = least;
    return best;
}

static void choose_ways(struct fab_spread *s, const struct fab_lane *lane, uint32_t reached)
{
    uint32_t candidate[256];
    for (uint32_t i = reached - 1; i-- > 0;) {
        uint32_t sw = s->far[i];
        uint32_t count = fab_spread_candidates(s, sw, candidate);
        uint32_t preferred = lane->number / s->o->spread[sw] % count;
        s->pick[sw] = lightest(s, s->cost, candidate, count, preferred, &s->cost[sw]);
    }
}

static void carry_flows(struct fab_spread *s, const struct fab_lane *lane, uint32_t reached,
                        struct fab_lft *lft)
{
    for (uint32_t i = 0; i + 1 < reached; i++) {
        uint32_t sw = s->far[i], port = s->pick[sw];
        uint32_t arriving = lane->loaded ? s->flow[sw] + s->g->hosts[sw] : 0;
        s->flow[sw] = 0;
        s->flow[s->ports.peer[port]] += arriving;
        s->ports.load[port] += (uint64_t)arriving * s->ports.slow[port];
        fab_lft_row(lft, sw)[lane->lid] = s->ports.num[port];
    }
}

void fab_spread_carefully(struct fab_spread *s, const struct fab_lane *lanes, uint32_t count,
                          struct fab_lft *lft)
{
    uint32_t reached = fab_spread_sort(s);
    if (reached == 0)
        return;
    uint32_t home = s->far[reached - 1];
    s->cost[home] = 0;
    for (uint32_t i = 0; i < count; i++) {
        choose_ways(s, &lanes[i], reached);
        carry_flows(s, &lanes[i], reached, lft);
        s->flow[home] = 0;
        fab_lft_row(lft, home)[lanes[i].lid] = lanes[i].port;
    }
}
