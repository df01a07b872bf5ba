/* SPDX-License-Identifier: BSD-3-Clause */
/* Total orders of the switches, which give every cable its "up". Private to the room. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_SWITCH_ORDER_H
#define LIBFABMGR_ROUTE_UPDOWN_SWITCH_ORDER_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/route.h"

struct fab_order {
    uint32_t n;
    uint8_t *rank;      /* [n] 0 for leaves */
    bool *leaf;         /* [n] */
    uint32_t *at;       /* [n] switch ids, lowest first */
    uint32_t *pos;      /* [n] where a switch stands in at[] */
    uint32_t *spread;   /* [n] product of the numbers of upward neighbours on the way up to here, by
                           ranks: the divider of D-mod-k */
    const char *origin; /* how it was found, for people */
    uint32_t summit;    /* the switch on top of the first component, or FAB_NONE */
};
void fab_route_order_fini(struct fab_order *o);

static inline bool fab_route_order_is_up(const struct fab_order *o, uint32_t from, uint32_t to)
{
    return o->pos[to] > o->pos[from];
}

/* The best order for this fabric and policy. */
int fab_route_order_find(const struct fab_graph *g, const struct fab_fabric *f,
                         const struct fab_policy *p, struct fab_order *ret);

/* Ranks from the roots of the policy, else from the leaves, with a summit; nothing else is tried.
 */
int fab_route_order_ranked(const struct fab_graph *g, const struct fab_fabric *f,
                           const struct fab_policy *p, struct fab_order *ret);

/* True: so many cables join switches of one rank that it is no tree, or no switch has a host; why[]
 * says so. */
bool fab_route_order_is_flat(const struct fab_graph *g, const struct fab_order *o,
                             const struct fab_fabric *f, char *why, size_t why_len);

/* Turns cables so that each component has a single highest switch, which everybody climbs to;
 * see summit.c. */
int fab_route_order_single_root(const struct fab_graph *g, struct fab_order *o);

#endif
