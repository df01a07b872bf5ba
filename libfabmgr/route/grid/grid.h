/* SPDX-License-Identifier: BSD-3-Clause */
/* Coordinates of the switches of tori, meshes, hypercubes and HyperX. Private to the room. */
#ifndef LIBFABMGR_ROUTE_GRID_GRID_H
#define LIBFABMGR_ROUTE_GRID_GRID_H

#include "libfabmgr/route/grid/dimensions.h"

#define FAB_GRID_DIMS FAB_DIMENSIONS_MAX

enum fab_grid_kind {
    FAB_GRID_CLIQUE, /* each with each: HyperX, and all dimensions of 2 and 3 */
    FAB_GRID_PATH,   /* 3 or more in a line: a mesh */
    FAB_GRID_RING,   /* 5 or more; rings of 4 are two dimensions of 2 */
};
struct fab_grid_dim {
    enum fab_grid_kind kind;
    uint32_t size, step; /* step: from a place to the next one */
};
struct fab_grid {
    uint32_t n, dims, places;
    struct fab_grid_dim dim[FAB_GRID_DIMS];
    uint32_t *place; /* [n] of each switch: the sum of coordinate times step */
    uint32_t *at;    /* [places] switch, or FAB_NONE: a hole */
};
/* UNSUPPORTED: no such topology, as why[] says. Coordinates hang on the cables and on the lowest
 * GUIDs: a fault elsewhere does not change those of the others. */
int fab_route_grid_find(const struct fab_fabric *f, const struct fab_graph *g, struct fab_grid *ret,
                        char *why, size_t why_len);
void fab_route_grid_fini(struct fab_grid *grid);

static inline uint32_t fab_route_grid_coordinate(const struct fab_grid *grid, uint32_t sw,
                                                 uint32_t d)
{
    return grid->place[sw] / grid->dim[d].step % grid->dim[d].size;
}
/* The place of `sw` with coordinate d changed. */
static inline uint32_t fab_route_grid_moved(const struct fab_grid *grid, uint32_t sw, uint32_t d,
                                            uint32_t to)
{
    uint32_t step = grid->dim[d].step;
    return grid->place[sw] - fab_route_grid_coordinate(grid, sw, d) * step + to * step;
}
/* The first dimension in which two differ, or dims. */
uint32_t fab_route_grid_differ(const struct fab_grid *grid, uint32_t a, uint32_t b);
/* "5x6 torus", "4-cube of 2", as many as fit. */
void fab_route_grid_text(const struct fab_grid *grid, char *text, size_t len);

#endif
