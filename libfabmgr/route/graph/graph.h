/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph holds the switches of a fabric, and the links between them, in arrays that are fast to
 * search. For the engines, a host is an endport of an adapter or router that sends and receives
 * data traffic; aggregation nodes do not count as hosts. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_GRAPH_GRAPH_H
#define LIBFABMGR_ROUTE_GRAPH_GRAPH_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/fabric/fabric.h"

struct fab_graph {
    struct fab_arena arena; /* memory of the arrays */
    uint32_t n;             /* number of switches */
    /* Ports with a working link to another switch. Switch s has the ports port_at[s] to port_at[s +
     * 1] - 1. First comes one port to each neighbour, then a second port to each neighbour with
     * parallel links, and so on. Neighbours are in the order of ids, parallel links in the order of
     * port numbers. */
    uint32_t *port_at; /* [switches + 1] */
    /* [ports] the switch that the port leads to */
    uint32_t *port_peer;
    uint8_t *port_num; /* [ports] port number of each port at its switch */
    /* [ports] slowness: rate of the fastest ISL divided by the rate of this ISL, rounded, and
     * limited to 1..64; 1 if the rate is not known */
    uint8_t *port_slow;
    /* The distinct neighbours of switch s are nbr[nbr_at[s]] to nbr[nbr_at[s + 1] - 1], by id. */
    uint32_t *nbr_at; /* [switches + 1] */
    uint32_t *nbr;    /* [neighbours] ids of the neighbours; see nbr_at[] */
    /* number of links that were left out because they are slow (updown/slow_links.h) */
    uint32_t left_out;
    /* [switches] number of working links from the switch to hosts */
    uint32_t *hosts;
    /* [switches] the connected component of each switch, named by its lowest switch id */
    uint32_t *component;
};
/* Makes the graph of a fabric. Returns NOMEM if there is no memory. */
int fab_route_graph_make(const struct fab_fabric *f, struct fab_graph *ret);
/* Like fab_route_graph_make(), but omits the links whose ports are in the set `without`. The set
 * must have the ids of both ports of each such link. NULL: no link is omitted. */
int fab_route_graph_make_without(const struct fab_fabric *f, const uint64_t *without,
                                 struct fab_graph *ret);
void fab_route_graph_fini(struct fab_graph *g);
/* Returns the index in nbr[] that stands for switch `b` as a neighbour of switch `a`; FAB_NONE if
 * no working link joins the two switches. */
uint32_t fab_route_graph_arc(const struct fab_graph *g, uint32_t a, uint32_t b);
/* Returns true if a working link joins switches `a` and `b`. Takes O(log degree) steps. */
bool fab_route_graph_linked(const struct fab_graph *g, uint32_t a, uint32_t b);

#endif
