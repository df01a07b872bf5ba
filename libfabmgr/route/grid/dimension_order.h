/* SPDX-License-Identifier: BSD-3-Clause */
/* The next switch on the way through a grid, in dimension order. Private to the room. */
#ifndef LIBFABMGR_ROUTE_GRID_DIMENSION_ORDER_H
#define LIBFABMGR_ROUTE_GRID_DIMENSION_ORDER_H

#include "libfabmgr/route/grid/grid.h"

struct fab_dor {
    const struct fab_graph *g;
    const struct fab_grid *grid;
    uint32_t order[FAB_GRID_DIMS]; /* dimensions, the first to be travelled first */
    uint32_t rank[FAB_GRID_DIMS];  /* and back */
    /* How far a switch can go forth and back in its row (rings and paths): [n][dims]. */
    uint16_t *forth, *back;
    bool pivots;     /* ways may differ from LID to LID of a switch: */
    uint32_t number; /* the caller's, of the destination at hand */
};
/* Dimensions in which rows are in pieces come first: what cannot be done there is done in a later
 * one. Borrows g and grid. */
int fab_route_dor_make(const struct fab_graph *g, const struct fab_grid *grid, struct fab_dor *ret);
void fab_route_dor_fini(struct fab_dor *s);

/* From a to b, not the same: FAB_NONE where there is no way. */
uint32_t fab_route_dor_next(const struct fab_dor *s, uint32_t a, uint32_t b);
/* Would the way in ring d from a to b cross the dateline (from the last switch to the first) if
 * nothing were missing? */
bool fab_route_dor_crosses_dateline(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d);

#endif
