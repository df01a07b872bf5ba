/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the coordinates of the switches of a lattice (squares.h), even a damaged one, by growth
 * from one switch. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_GRID_GROWTH_H
#define LIBFABMGR_ROUTE_GRID_GROWTH_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/grid/dimensions.h"

struct fab_growth {
    uint32_t dims;
    /* size of the rings of each dimension; 0: the dimension has no rings */
    uint32_t ring[FAB_DIMENSIONS_MAX];
    /* [switches][dims] coordinates, relative to the switch from which the growth began; that switch
     * has coordinates 0 */
    int16_t *at;
};
/* Finds coordinates if, in every dimension, the switches form lines of 2 or more switches, or rings
 * of 5 or more. The caller must still check that each link joins neighbours (grid.c). Takes memory
 * from `arena`. Returns UNSUPPORTED if it finds no coordinates, or NOMEM. */
int fab_route_growth_find(struct fab_arena *arena, const struct fab_graph *g,
                          struct fab_growth *ret);

#endif
