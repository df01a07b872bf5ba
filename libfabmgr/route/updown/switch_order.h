/* SPDX-License-Identifier: BSD-3-Clause */
/* Total orders of the switches. A link leads up towards the switch that is later in the order.
 * Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_SWITCH_ORDER_H
#define LIBFABMGR_ROUTE_UPDOWN_SWITCH_ORDER_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/route.h"

struct fab_order {
    struct fab_arena arena; /* memory of the arrays */
    uint32_t n;
    /* [switches] rank of each switch; 0 for all leaves, if the ranks follow from the leaves */
    uint8_t *rank;
    bool *leaf;    /* [switches] whether the switch is a leaf */
    uint32_t *at;  /* [switches] switch ids, lowest first */
    uint32_t *pos; /* [switches] position of each switch in at[] */
    /* [switches] the divider of D-mod-k; 1 for a switch without neighbours of lower rank. The
     * divider of any other switch is the greatest of these products, one for each neighbour of
     * lower rank: the divider of this neighbour, multiplied by its number of neighbours of higher
     * rank, but at most DIVIDER_MAX (switch_order.c). */
    uint32_t *divider;
    /* text for the operator that says how the order was found */
    const char *origin;
    /* root switch of the connected component to which the switch with id 0 belongs, or FAB_NONE */
    uint32_t root;
};
void fab_route_order_fini(struct fab_order *o);

static inline bool fab_route_order_is_up(const struct fab_order *o, uint32_t from, uint32_t to)
{
    return o->pos[to] > o->pos[from];
}

/* Makes several orders of the switches, and returns the one with the shortest legal paths between
 * hosts. If the policy names root switches of this fabric, makes only the order that starts from
 * them. Returns OK or NOMEM. */
int fab_route_order_find(const struct fab_graph *g, const struct fab_fabric *f,
                         const struct fab_policy *p, struct fab_order *ret);

/* Computes an order with ranks. The ranks follow from the distances to the root switches that the
 * policy names; if it names none of this fabric, from the distances to the leaves. Returns OK or
 * NOMEM. */
int fab_route_order_ranked(const struct fab_graph *g, const struct fab_fabric *f,
                           const struct fab_policy *p, struct fab_order *ret);

/* Returns true if the ranks do not form a tree: too many links join switches of the same rank, or
 * no switch has a host. why[] then contains the reason. */
bool fab_route_order_is_flat(const struct fab_graph *g, const struct fab_order *o,
                             const struct fab_fabric *f, char *why, size_t why_len);

/* Changes the order so that each component has a single root: a switch that all switches of the
 * component reach by going up (single_root.c). Returns OK or NOMEM. */
int fab_route_order_single_root(const struct fab_graph *g, struct fab_order *o);

#endif
