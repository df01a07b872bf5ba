/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the next switch on the path through a grid, in dimension order. A row in a dimension
 * consists of the switches whose coordinates are equal in all other dimensions. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_GRID_DIMENSION_ORDER_H
#define LIBFABMGR_ROUTE_GRID_DIMENSION_ORDER_H

#include "libfabmgr/route/grid/grid.h"

struct fab_dor {
    const struct fab_graph *g;
    const struct fab_grid *grid;
    uint32_t order[FAB_GRID_DIMS]; /* dimensions in the order of travel */
    uint32_t rank[FAB_GRID_DIMS];  /* index of each dimension in order[] */
    /* [switches][dims] for dimensions that are rings or paths: the number of hops that packets can
     * go from each switch within its row before a link is missing or the row ends; forward: to
     * ascending coordinates, backward: to descending ones */
    uint16_t *forward, *backward;
    /* true: a row whose switches are all linked to each other (clique) lacks a link, so that paths
     * depend on the destination LID */
    bool pivots;
    /* number of the destination LID (struct fab_dlid), which selects one of several pivots; the
     * caller sets it */
    uint32_t number;
};
/* Prepares *ret. Finds broken rows, within which some switch has no path to another one. Packets
 * travel the dimensions with broken rows first, because they can use a later dimension to go around
 * the gap. *ret keeps pointers to g and grid, which must outlive it. Returns NOMEM if there is no
 * memory. */
int fab_route_dor_make(const struct fab_graph *g, const struct fab_grid *grid, struct fab_dor *ret);
void fab_route_dor_fini(struct fab_dor *s);

/* Returns the next switch on the path from switch a to switch b != a, or FAB_NONE if there is no
 * path. */
uint32_t fab_route_dor_next(const struct fab_dor *s, uint32_t a, uint32_t b);
/* Returns true if the path from a to b would cross the dateline of ring dimension d if no link were
 * missing. The dateline is between the last switch of the ring and the first. */
bool fab_route_dor_crosses_dateline(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d);

#endif
