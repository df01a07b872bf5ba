/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dimension-order routing. A packet travels in the first dimension until its coordinate there
 * equals the coordinate of the destination, then in the second dimension, and so on. In a ring it
 * takes the shorter direction. If both directions are equally long, the parity of the coordinates
 * decides, so that both have similar loads. The path back then takes the same half of the ring. So
 * either both paths cross the dateline, or none of them does, and both directions have the same SL.
 *
 * The next hop depends on the switch and the destination only, as forwarding tables require.
 */
#include "libfabmgr/route/grid/dimension_order.h"

/* Returns the number of hops between two coordinates in one direction, from `from` to `to`;
 * FAB_NONE: the dimension is a path, on which this direction leads away from `to`. */
static uint32_t distance(const struct fab_grid_dim *dim, uint32_t from, uint32_t to, bool forward)
{
    if (dim->kind == FAB_GRID_PATH && (from < to) != forward)
        return FAB_NONE;
    return forward ? (to + dim->size - from) % dim->size : (from + dim->size - to) % dim->size;
}

/* Returns true if packets from switch a to the coordinate of b in dimension d travel forward (to
 * ascending coordinates). If both directions are equally long, the parity of the lower coordinate
 * and of the later dimensions decides whether they take the half of the ring without the dateline.
 * Earlier dimensions must not count, because a switch does not know at which coordinates of these
 * dimensions a packet started. */
static bool goes_forward(const struct fab_grid *grid, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(grid, a, d),
             to = fab_route_grid_coordinate(grid, b, d), sum = from < to ? from : to;
    uint32_t forward = distance(&grid->dim[d], from, to, true),
             backward = distance(&grid->dim[d], from, to, false);
    if (forward != backward)
        return forward < backward;
    for (uint32_t e = d + 1; e < grid->dims; e++)
        sum += fab_route_grid_coordinate(grid, a, e) + fab_route_grid_coordinate(grid, b, e);
    return (sum % 2 == 0) == (from < to);
}

bool fab_route_dor_crosses_dateline(const struct fab_grid *grid, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(grid, a, d),
             to = fab_route_grid_coordinate(grid, b, d);
    return from != to && (from < to) != goes_forward(grid, a, b, d);
}

/* Returns the coordinate in dimension d of the next switch on the path from switch a to switch b.
 * The coordinates of a and b in this dimension must differ. */
static uint32_t next_coordinate(const struct fab_grid *grid, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t size = grid->dim[d].size;
    if (grid->dim[d].kind == FAB_GRID_CLIQUE)
        return fab_route_grid_coordinate(grid, b, d);
    uint32_t step = goes_forward(grid, a, b, d) ? 1 : size - 1;
    return (fab_route_grid_coordinate(grid, a, d) + step) % size;
}

bool fab_route_dor_leads_back(const struct fab_grid *grid, uint32_t a, uint32_t to, uint32_t b)
{
    uint32_t d = fab_route_grid_differ(grid, a, to);
    if (grid->dim[d].kind == FAB_GRID_CLIQUE ||
        (grid->dim[d].kind == FAB_GRID_PATH && d != fab_route_grid_differ(grid, a, b)))
        return false;
    return fab_route_grid_coordinate(grid, a, d) != fab_route_grid_coordinate(grid, b, d) &&
           fab_route_grid_coordinate(grid, to, d) != next_coordinate(grid, a, b, d);
}

uint32_t fab_route_dor_next(const struct fab_graph *g, const struct fab_grid *grid, uint32_t a,
                            uint32_t b)
{
    uint32_t d = fab_route_grid_differ(grid, a, b);
    uint32_t next = grid->at[fab_route_grid_moved(grid, a, d, next_coordinate(grid, a, b, d))];
    return next != FAB_NONE && fab_route_graph_linked(g, a, next) ? next : FAB_NONE;
}
