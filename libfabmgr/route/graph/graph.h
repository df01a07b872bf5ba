/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches and the links between them as arrays, for the engines. For this folder only. In the
 * engines a host is the endport of an adapter or router that sends and receives data traffic;
 * aggregation nodes are none. */
#ifndef LIBFABMGR_ROUTE_GRAPH_GRAPH_H
#define LIBFABMGR_ROUTE_GRAPH_GRAPH_H

#include "libfabmgr/fabric/fabric.h"

struct fab_graph {
    uint32_t n; /* switches */
    /* Ports with a working link to another switch. Switch s has the ports port_at[s]..
     * port_at[s + 1]: first one port to each neighbour, then a second port to each neighbour with
     * parallel links, and so on; neighbours by id, parallel links by port number. */
    uint32_t *port_at;   /* [n + 1] */
    uint32_t *port_peer; /* [ports] switch */
    uint8_t *port_num;   /* [ports] */
    uint8_t *port_slow;  /* [ports] rate of the fastest ISL / rate of this one, 1.. */
    /* Distinct neighbours of s: [nbr_at[s], nbr_at[s + 1]), by id. */
    uint32_t *nbr_at;    /* [n + 1] */
    uint32_t *nbr;       /* [neighbours] */
    uint32_t *hosts;     /* [n] working links to hosts */
    uint32_t *component; /* [n] the lowest switch id of the connected component */
};
/* Fails only with NOMEM. */
int fab_route_graph_make(const struct fab_fabric *f, struct fab_graph *ret);
void fab_route_graph_fini(struct fab_graph *g);
/* Returns whether a working link joins a and b. O(log degree). */
bool fab_route_graph_linked(const struct fab_graph *g, uint32_t a, uint32_t b);

#endif
