/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Twins: switches that have the same neighbours on the same ports: the leaves of a pod, the core
 * switches of one plane. What a twin sends to a destination that is equally far from both is what
 * the other one sends, so that the work is done once. Half twins have the same neighbours above
 * (and as many below): what they send up is the same, as of the middle switches of one plane.
 *
 * Cousins have as many neighbours on the same ports, whoever they are: all leaves, all middle
 * switches. They send the same if their neighbours, one by one, are equally far from everything.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/fattree/tree.h"
#include "libfabmgr/route/graph/equivalence.h"

/* The cables to neighbours `from` and following ones. */
static bool same_cables(const struct fab_tree *t, uint32_t a, uint32_t b, uint32_t from)
{
    const struct fab_updown *sl = t->slopes;
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
           t->irregular_switch[a] == t->irregular_switch[b] &&
           memcmp(t->slot_num + t->slot_at[a], t->slot_num + t->slot_at[b], count) == 0 &&
           memcmp(t->slot_nbr + t->slot_at[a], t->slot_nbr + t->slot_at[b], count) == 0;
}

static bool same_ranks(const struct fab_tree *t, uint32_t a, uint32_t b, uint32_t from)
{
    const struct fab_updown *sl = t->slopes;
    return t->o->rank[a] == t->o->rank[b] &&
           memcmp(t->higher + sl->at[a] + from, t->higher + sl->at[b] + from,
                  sl->at[a + 1] - sl->at[a] - from) == 0;
}

/* half: of the neighbours only those above. */
static bool same_shape(const struct fab_tree *t, uint32_t a, uint32_t b, bool half)
{
    const struct fab_updown *sl = t->slopes;
    uint32_t belows = sl->mid[a] - sl->at[a], count = sl->at[a + 1] - sl->at[a];
    uint32_t from = half ? belows : 0;
    return belows == sl->mid[b] - sl->at[b] && count == sl->at[b + 1] - sl->at[b] &&
           same_ranks(t, a, b, from) && same_cables(t, a, b, from) && same_slots(t, a, b);
}

static bool half_cousins(const void *ctx, uint32_t a, uint32_t b)
{
    return same_shape(ctx, a, b, true);
}
static bool cousins(const void *ctx, uint32_t a, uint32_t b)
{
    return same_shape(ctx, a, b, false);
}
static uint64_t by_slots(const void *ctx, uint32_t s)
{
    const struct fab_tree *t = ctx;
    uint64_t sum = t->slopes->mid[s] - t->slopes->at[s];
    for (uint32_t i = t->slot_at[s]; i < t->slot_at[s + 1]; i++)
        sum = sum * UINT64_C(0x100000001b3) + t->slot_num[i];
    return sum;
}

struct twins {
    const struct fab_tree *t;
    const uint32_t *cousin; /* [n] the first of them */
    bool half;
};
static uint32_t kind_of(const struct twins *w, uint32_t s)
{
    return w->t->slopes->kind[2 * s + !w->half];
}
static bool twins(const void *ctx, uint32_t a, uint32_t b)
{
    const struct twins *w = ctx;
    return w->cousin[a] == w->cousin[b] && kind_of(w, a) == kind_of(w, b);
}
static uint64_t by_both(const void *ctx, uint32_t s)
{
    const struct twins *w = ctx;
    return ((uint64_t)w->cousin[s] << 32) + kind_of(w, s);
}

/* The kinds of one half: [n][!half]. cousin, twin: [n], scratch. */
static int find_kinds(struct fab_tree *t, bool half, uint32_t *cousin, uint32_t *twin)
{
    uint32_t n = t->g->n;
    const struct fab_equivalence kin = {t, half ? half_cousins : cousins, by_slots};
    const struct twins w = {t, cousin, half};
    int status = fab_route_equivalence_classes(&kin, n, cousin);
    if (status == FAB_OK)
        status =
            fab_route_equivalence_classes(&(struct fab_equivalence){&w, twins, by_both}, n, twin);
    for (uint32_t s = 0; s < n && status == FAB_OK; s++) {
        t->cousin[2 * s + !half] = 2 * cousin[s] + !half;
        t->twin[2 * s + !half] = 2 * twin[s] + !half;
    }
    return status;
}

int fab_route_tree_classes(struct fab_tree *t)
{
    uint32_t *cousin = fab_alloc_array(t->g->n, sizeof(*cousin));
    uint32_t *twin = fab_alloc_array(t->g->n, sizeof(*twin));
    int status = cousin != NULL && twin != NULL ? FAB_OK : FAB_E_NOMEM;
    for (unsigned half = 0; half < 2 && status == FAB_OK; half++)
        status = find_kinds(t, half == 1, cousin, twin);
    free(cousin);
    free(twin);
    return status;
}
