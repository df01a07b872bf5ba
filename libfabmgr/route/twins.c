/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Twins: switches that have the same neighbours on the same ports: the leaves of a pod, the core
 * switches of one plane. What a twin sends to a destination that is equally far from both is what
 * the other one sends, so that the work is done once. Half twins have the same neighbours above
 * (and as many below): what they send up is the same, as of the middle switches of one plane.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/kin.h"
#include "libfabmgr/route/tree.h"

/* The cables to neighbours `from` and following ones. */
static bool same_cables(const struct fab_tree *t, uint32_t a, uint32_t b, uint32_t from)
{
    const struct fab_slopes *sl = t->slopes;
    const uint32_t *at_a = t->cables.at + sl->at[a], *at_b = t->cables.at + sl->at[b];
    uint32_t count = sl->at[a + 1] - sl->at[a];
    for (uint32_t i = from; i < count; i++) {
        if (at_a[i + 1] - at_a[from] != at_b[i + 1] - at_b[from])
            return false;
    }
    return memcmp(t->cables.num + at_a[from], t->cables.num + at_b[from],
                  at_a[count] - at_a[from]) == 0;
}

static bool same_slots(const struct fab_tree *t, uint32_t a, uint32_t b)
{
    uint32_t count = t->slot_at[a + 1] - t->slot_at[a];
    return count == t->slot_at[b + 1] - t->slot_at[b] && t->divider[a] == t->divider[b] &&
           memcmp(t->slot_num + t->slot_at[a], t->slot_num + t->slot_at[b], count) == 0 &&
           memcmp(t->slot_nbr + t->slot_at[a], t->slot_nbr + t->slot_at[b], count) == 0;
}

static bool half_twins(const void *ctx, uint32_t a, uint32_t b)
{
    const struct fab_tree *t = ctx;
    const struct fab_slopes *sl = t->slopes;
    uint32_t belows = sl->mid[a] - sl->at[a];
    return t->o->rank[a] == t->o->rank[b] && sl->roof[a] == sl->roof[b] &&
           belows == sl->mid[b] - sl->at[b] && same_cables(t, a, b, belows) && same_slots(t, a, b);
}

static bool twins(const void *ctx, uint32_t a, uint32_t b)
{
    const struct fab_tree *t = ctx;
    return t->slopes->pair[a] == t->slopes->pair[b] && half_twins(t, a, b) &&
           same_cables(t, a, b, 0);
}

static uint64_t by_roof(const void *ctx, uint32_t s)
{
    return ((const struct fab_tree *)ctx)->slopes->roof[s];
}

static uint64_t by_pair(const void *ctx, uint32_t s)
{
    return ((const struct fab_tree *)ctx)->slopes->pair[s];
}

int fab_tree_twins(struct fab_tree *t)
{
    const struct fab_kin whole = {t, twins, by_pair}, half = {t, half_twins, by_roof};
    int status = fab_kin_find(&whole, t->g->n, t->twin);
    return status == FAB_OK ? fab_kin_find(&half, t->g->n, t->half_twin) : status;
}
