/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches and the cables between them, packed for the engines. Private to the room. */
#ifndef LIBFABMGR_ROUTE_GRAPH_GRAPH_H
#define LIBFABMGR_ROUTE_GRAPH_GRAPH_H

#include "libfabmgr/fabric/fabric.h"

struct fab_graph {
    uint32_t n; /* switches */
    /* Ports with a working cable to another switch: those of switch s are [port_at[s],
     * port_at[s + 1]), the first port to every neighbour, then the second one to every neighbour
     * that has one, and so on; neighbours by id, ports by number. */
    uint32_t *port_at;
    uint32_t *port_peer;
    uint8_t *port_num;
    uint8_t *port_slow; /* how many times slower than the fastest cable, 1.. */
    /* Distinct neighbours of s: [nbr_at[s], nbr_at[s + 1]), by id. */
    uint32_t *nbr_at;
    uint32_t *nbr;
    uint32_t *hosts; /* [n] working cables to ends that send and receive: no aggregation nodes */
    uint32_t *component; /* [n] lowest switch id that cables lead to */
};
int fab_route_graph_make(const struct fab_fabric *f, struct fab_graph *ret);
void fab_route_graph_fini(struct fab_graph *g);
/* Is there a working cable from a to b? */
bool fab_route_graph_linked(const struct fab_graph *g, uint32_t a, uint32_t b);

#endif
