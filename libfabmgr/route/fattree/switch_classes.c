/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds equivalence classes of switches, so that entries are computed once for each class.
 *
 * Switches of one full class have the same neighbours on the same ports (for example the leaves of
 * a pod, or the core switches of one plane). They have equal entries for each destination to which
 * they have the same distance.
 *
 * Switches of one port class have the same number of neighbours, on the same ports, but the
 * neighbours may be different switches (for example all leaves, or all middle switches). They have
 * equal entries if their neighbours, compared one by one, have equal distances to all destinations.
 *
 * Classes of each kind are computed twice. The second computation compares only the upper
 * neighbours and the number of lower neighbours. The members of a class from the second computation
 * have equal entries for packets that ascend; the middle switches of one plane are an example.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/fattree/tree.h"
#include "libfabmgr/route/graph/equivalence.h"

/* Returns true if switches a and b have links at the same port numbers to their i-th neighbours in
 * updown.nbr, beginning with i = from. Both must have the same number of neighbours, which may be
 * different switches. */
static bool same_ports(const struct fab_tree *t, uint32_t a, uint32_t b, uint32_t from)
{
    const struct fab_updown *sl = t->updown;
    const uint32_t *at_a = t->ports.at + sl->at[a], *at_b = t->ports.at + sl->at[b];
    uint32_t count = sl->at[a + 1] - sl->at[a];
    for (uint32_t i = from; i < count; i++) {
        if (at_a[i + 1] - at_a[from] != at_b[i + 1] - at_b[from])
            return false;
    }
    return memcmp(t->ports.num + at_a[from], t->ports.num + at_b[from], at_a[count] - at_a[from]) ==
           0;
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
    const struct fab_updown *sl = t->updown;
    return t->o->rank[a] == t->o->rank[b] &&
           memcmp(t->higher + sl->at[a] + from, t->higher + sl->at[b] + from,
                  sl->at[a + 1] - sl->at[a] - from) == 0;
}

/* Returns true if two switches have the same rank, the same slots, the same numbers of lower and
 * upper neighbours, and links at the same port numbers to their i-th neighbours. If `upper` is
 * true, the ports of the links to lower neighbours may differ. */
static bool same_shape(const struct fab_tree *t, uint32_t a, uint32_t b, bool upper)
{
    const struct fab_updown *sl = t->updown;
    uint32_t belows = sl->mid[a] - sl->at[a], count = sl->at[a + 1] - sl->at[a];
    uint32_t from = upper ? belows : 0;
    return belows == sl->mid[b] - sl->at[b] && count == sl->at[b + 1] - sl->at[b] &&
           same_ranks(t, a, b, from) && same_ports(t, a, b, from) && same_slots(t, a, b);
}

static bool equal_upper_ports(const void *ctx, uint32_t a, uint32_t b)
{
    return same_shape(ctx, a, b, true);
}
static bool equal_ports(const void *ctx, uint32_t a, uint32_t b)
{
    return same_shape(ctx, a, b, false);
}
static uint64_t hash_slots(const void *ctx, uint32_t s)
{
    const struct fab_tree *t = ctx;
    uint64_t sum = t->updown->mid[s] - t->updown->at[s];
    for (uint32_t i = t->slot_at[s]; i < t->slot_at[s + 1]; i++)
        sum = sum * UINT64_C(0x100000001b3) + t->slot_num[i];
    return sum;
}

struct full_class {
    const struct fab_tree *t;
    /* [switches] representative of each switch's port class */
    const uint32_t *port_class;
    bool upper;
};
static uint32_t row_class_of(const struct full_class *w, uint32_t s)
{
    return w->t->updown->row_class[2 * s + !w->upper];
}
static bool equal_full_class(const void *ctx, uint32_t a, uint32_t b)
{
    const struct full_class *w = ctx;
    return w->port_class[a] == w->port_class[b] && row_class_of(w, a) == row_class_of(w, b);
}
static uint64_t hash_full_class(const void *ctx, uint32_t s)
{
    const struct full_class *w = ctx;
    return ((uint64_t)w->port_class[s] << 32) + row_class_of(w, s);
}

/* Finds the equivalence classes of switches. If `upper` is true, compares only upper neighbours.
 * port_class[n] and full_class[n] are scratch memory. */
static int find_classes(struct fab_tree *t, bool upper, uint32_t *port_class, uint32_t *full_class)
{
    uint32_t n = t->g->n;
    const struct fab_equivalence port_classes = {t, upper ? equal_upper_ports : equal_ports,
                                                 hash_slots};
    const struct full_class w = {t, port_class, upper};
    int status = fab_route_equivalence_classes(&port_classes, n, port_class);
    if (status == FAB_OK)
        status = fab_route_equivalence_classes(
            &(struct fab_equivalence){&w, equal_full_class, hash_full_class}, n, full_class);
    for (uint32_t s = 0; s < n && status == FAB_OK; s++) {
        t->port_class[2 * s + !upper] = 2 * port_class[s] + !upper;
        t->full_class[2 * s + !upper] = 2 * full_class[s] + !upper;
    }
    return status;
}

int fab_route_tree_classes(struct fab_tree *t)
{
    uint32_t *port_class = fab_base_alloc_array(t->g->n, sizeof(*port_class));
    uint32_t *full_class = fab_base_alloc_array(t->g->n, sizeof(*full_class));
    int status = port_class != NULL && full_class != NULL ? FAB_OK : FAB_E_NOMEM;
    for (unsigned upper = 0; upper < 2 && status == FAB_OK; upper++)
        status = find_classes(t, upper == 1, port_class, full_class);
    free(port_class);
    free(full_class);
    return status;
}
