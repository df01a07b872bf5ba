/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the dimension of each link of a grid. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_GRID_DIMENSIONS_H
#define LIBFABMGR_ROUTE_GRID_DIMENSIONS_H

#include "libfabmgr/route/graph/graph.h"

#define FAB_DIMENSIONS_MAX 15
#define FAB_DIMENSION_NONE 0xff

struct fab_dimensions {
    uint32_t dims;
    /* [neighbours] by index in g->nbr: dimension of the link to this neighbour, 0 to dims - 1;
     * FAB_DIMENSION_NONE: unknown */
    uint8_t *dim;
};
/* Finds the dimension of each link of `g`. `f` must be the fabric of this graph; it gives the names
 * of switches for why[]. Returns UNSUPPORTED if the topology is not a grid (why[] names a switch or
 * says why), or NOMEM. */
int fab_route_dimensions_find(const struct fab_fabric *f, const struct fab_graph *g,
                              struct fab_dimensions *ret, char *why, size_t why_len);
/* Sets the dimension of the link between switches a and b. */
void fab_route_dimensions_set(const struct fab_graph *g, struct fab_dimensions *s, uint32_t a,
                              uint32_t b, uint8_t d);
void fab_route_dimensions_fini(struct fab_dimensions *s);

#endif
