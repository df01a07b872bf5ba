/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaves out slow links of a tree, if its other links can carry their load. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_SLOW_LINKS_H
#define LIBFABMGR_ROUTE_UPDOWN_SLOW_LINKS_H

#include "libfabmgr/route/updown/switch_order.h"

/* The functions fab_route_order_find() and fab_route_order_ranked() have this type. */
typedef int fab_route_find_order(const struct fab_graph *g, const struct fab_fabric *f,
                                 const struct fab_policy *p, struct fab_order *ret);

/* Makes the graph of a fabric and an order of its switches. If the order has the ranks of a tree,
 * the function leaves out the slow links whose load the other links can carry (slow_links.c). This
 * disconnects no switch. Returns OK or NOMEM. */
int fab_route_slow_links_omit(const struct fab_fabric *f, const struct fab_policy *p,
                              fab_route_find_order *find, struct fab_graph *ret_graph,
                              struct fab_order *ret_order);

#endif
