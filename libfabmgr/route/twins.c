/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Twins: switches that have the same neighbours on the same ports: the leaves of a pod, the core
 * switches of one plane. What a twin sends to a destination that is equally far from both is what
 * the other one sends, so that the work is done once. Half twins have the same neighbours above
 * (and as many below): what they send up is the same, as of the middle switches of one plane.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/tree.h"

static bool same_below(const struct fab_slopes *sl, uint32_t a, uint32_t b)
{
    return memcmp(sl->nbr + sl->at[a], sl->nbr + sl->at[b],
                  (sl->mid[a] - sl->at[a]) * sizeof(*sl->nbr)) == 0;
}

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

static bool twins(const struct fab_tree *t, uint32_t a, uint32_t b, bool half)
{
    const struct fab_slopes *sl = t->slopes;
    uint32_t belows = sl->mid[a] - sl->at[a];
    return t->o->rank[a] == t->o->rank[b] && sl->roof[a] == sl->roof[b] &&
           belows == sl->mid[b] - sl->at[b] && (half || same_below(sl, a, b)) &&
           same_cables(t, a, b, half ? belows : 0) && same_slots(t, a, b);
}

static uint64_t sign(const struct fab_tree *t, uint32_t s, bool half)
{
    uint64_t sum = t->slopes->roof[s];
    for (uint32_t i = t->slopes->at[s]; !half && i < t->slopes->mid[s]; i++)
        sum = sum * UINT64_C(0x100000001b3) + t->slopes->nbr[i];
    return fab_mix64(sum);
}

static int find_twins(const struct fab_tree *t, bool half, uint32_t *ret)
{
    uint32_t n = t->g->n, room = 64;
    while (room < 2 * n)
        room *= 2;
    uint32_t *first = malloc(room * sizeof(*first)); /* by signature */
    if (first == NULL)
        return FAB_E_NOMEM;
    memset(first, 0xff, room * sizeof(*first)); /* FAB_NONE */
    for (uint32_t s = 0; s < n; s++) {
        uint32_t at = (uint32_t)sign(t, s, half) & (room - 1);
        while (first[at] != FAB_NONE && !twins(t, first[at], s, half))
            at = (at + 1) & (room - 1);
        if (first[at] == FAB_NONE)
            first[at] = s;
        ret[s] = first[at];
    }
    free(first);
    return FAB_OK;
}

int fab_tree_twins(struct fab_tree *t)
{
    int status = find_twins(t, false, t->twin);
    return status == FAB_OK ? find_twins(t, true, t->half_twin) : status;
}
