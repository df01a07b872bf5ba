/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the next switch on the path through a grid, in dimension order. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_GRID_DIMENSION_ORDER_H
#define LIBFABMGR_ROUTE_GRID_DIMENSION_ORDER_H

#include "libfabmgr/route/grid/grid.h"

/* Returns the next switch on the path from switch a to switch b != a. FAB_NONE: the next switch, or
 * the link to it, is missing. */
uint32_t fab_route_dor_next(const struct fab_graph *g, const struct fab_grid *grid, uint32_t a,
                            uint32_t b);
/* Returns true if the hop from switch a to its neighbour `to` leads away from switch b: in this
 * dimension, packets from a to b take the other direction. After such a hop, packets would use more
 * of a ring than the VLs permit. In a dimension of cliques, always returns false. In a dimension of
 * paths, also returns false if packets from a to b travel in another dimension first. */
bool fab_route_dor_leads_back(const struct fab_grid *grid, uint32_t a, uint32_t to, uint32_t b);
/* Returns true if the path from a to b crosses the dateline of ring dimension d. The dateline is
 * between the last switch of the ring and the first. */
bool fab_route_dor_crosses_dateline(const struct fab_grid *grid, uint32_t a, uint32_t b,
                                    uint32_t d);

#endif
