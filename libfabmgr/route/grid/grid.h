/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the coordinates of the switches of tori, meshes, hypercubes and HyperX. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_GRID_GRID_H
#define LIBFABMGR_ROUTE_GRID_GRID_H

#include "libfabmgr/route/grid/dimensions.h"

#define FAB_GRID_DIMS FAB_DIMENSIONS_MAX

enum fab_grid_kind {
    /* the switches of a row all have links to each other: HyperX, dimensions of size 2, rings of
     * 3 */
    FAB_GRID_CLIQUE,
    /* 3 or more switches in a line, without a link between the two ends: a mesh */
    FAB_GRID_PATH,
    /* 5 or more switches; a ring of 4 is recognised as two dimensions of size 2 */
    FAB_GRID_RING,
};
struct fab_grid_dim {
    enum fab_grid_kind kind;
    /* size: number of coordinates. step: difference of the positions (place[]) of two switches
     * whose coordinates differ by 1 in this dimension and are equal in all others. */
    uint32_t size, step;
};
struct fab_grid {
    uint32_t n, dims, places;
    struct fab_grid_dim dim[FAB_GRID_DIMS];
    /* [switches] position of each switch in the grid: the sum of coordinate * step over all
     * dimensions */
    uint32_t *place;
    /* [places] the switch at each position; FAB_NONE: the grid lacks a switch there */
    uint32_t *at;
};
/* Finds the coordinates. They depend only on the links and on the GUIDs of a few switches (grid.c),
 * so most faults do not change them. Returns OK, UNSUPPORTED with the reason in why[] if the
 * topology is not a grid, or NOMEM. */
int fab_route_grid_find(const struct fab_fabric *f, const struct fab_graph *g, struct fab_grid *ret,
                        char *why, size_t why_len);
void fab_route_grid_fini(struct fab_grid *grid);

static inline uint32_t fab_route_grid_coordinate(const struct fab_grid *grid, uint32_t sw,
                                                 uint32_t d)
{
    return grid->place[sw] / grid->dim[d].step % grid->dim[d].size;
}
/* Returns the position in the grid that has the coordinate `to` in dimension d, and the coordinates
 * of switch `sw` in all other dimensions. */
static inline uint32_t fab_route_grid_moved(const struct fab_grid *grid, uint32_t sw, uint32_t d,
                                            uint32_t to)
{
    uint32_t step = grid->dim[d].step;
    return grid->place[sw] - fab_route_grid_coordinate(grid, sw, d) * step + to * step;
}
/* Returns the first dimension in which the coordinates of switches `a` and `b` differ; grid->dims:
 * all coordinates are equal. */
uint32_t fab_route_grid_differ(const struct fab_grid *grid, uint32_t a, uint32_t b);
/* Writes a description such as "5x6 torus", truncated to `len` bytes. */
void fab_route_grid_text(const struct fab_grid *grid, char *text, size_t len);

#endif
