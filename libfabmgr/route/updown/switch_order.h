/* SPDX-License-Identifier: BSD-3-Clause */
/* Total orders of the switches; a link leads up towards the later switch. For this folder only. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_SWITCH_ORDER_H
#define LIBFABMGR_ROUTE_UPDOWN_SWITCH_ORDER_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/route.h"

struct fab_order {
    uint32_t n;
    uint8_t *rank; /* [n] 0 for leaves */
    bool *leaf;    /* [n] */
    uint32_t *at;  /* [n] switch ids, lowest first */
    uint32_t *pos; /* [n] position of each switch in at[] */
    /* [n] the divider of D-mod-k: along each path of ascending ranks from a leaf to the switch,
     * the product of the numbers of upper neighbours; the greatest product. */
    uint32_t *divider;
    const char *origin; /* how the order was found, for the operator */
    uint32_t root;      /* root switch of the component of switch 0, or FAB_NONE */
};
void fab_route_order_fini(struct fab_order *o);

static inline bool fab_route_order_is_up(const struct fab_order *o, uint32_t from, uint32_t to)
{
    return o->pos[to] > o->pos[from];
}

/* Tries several orders and takes the one with the shortest legal paths. Fails only with NOMEM. */
int fab_route_order_find(const struct fab_graph *g, const struct fab_fabric *f,
                         const struct fab_policy *p, struct fab_order *ret);

/* Takes the ranks from the roots of the policy, else from the leaves; tries nothing else. Fails
 * only with NOMEM. */
int fab_route_order_ranked(const struct fab_graph *g, const struct fab_fabric *f,
                           const struct fab_policy *p, struct fab_order *ret);

/* Returns whether the ranks make no tree: too many links join switches of the same rank, or no
 * switch has a host. why[] then says so. */
bool fab_route_order_is_flat(const struct fab_graph *g, const struct fab_order *o,
                             const struct fab_fabric *f, char *why, size_t why_len);

/* Changes the order so that each component has a single root switch, which every switch reaches by
 * ascending (single_root.c). Fails only with NOMEM. */
int fab_route_order_single_root(const struct fab_graph *g, struct fab_order *o);

#endif
