/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the squares of four links in lattices. A lattice is a Cartesian product of graphs. Each
 * factor is a dimension: a row of two or more switches, or a ring of 5 or more switches. Opposite
 * sides of a square are parallel: they lead in the same direction of the same dimension. Internal
 * to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_GRID_SQUARES_H
#define LIBFABMGR_ROUTE_GRID_SQUARES_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/grid/dimensions.h"

#define FAB_LATTICE_LINKS (2 * FAB_DIMENSIONS_MAX) /* maximum number of neighbours of a switch */

/* An arc is one direction of a link. Its number is its index in g->nbr. */

/* two arcs from one switch that are adjacent sides of a square */
struct fab_corner {
    uint32_t a, b;
};
struct fab_squares {
    uint32_t *parallel; /* [neighbours] disjoint sets (sets.h) of parallel arcs */
    uint32_t *reverse;  /* [neighbours] the arc in the other direction of the link */
    /* the corners of all squares, in the order of their switches */
    struct fab_corner *corner;
    uint32_t corners;
};
/* Finds the squares of a lattice. Takes memory from `arena`. Returns UNSUPPORTED if a switch has
 * more than FAB_LATTICE_LINKS neighbours, if links form a triangle, or if two switches have more
 * than two common neighbours. Also returns NOMEM. */
int fab_route_squares_find(struct fab_arena *arena, const struct fab_graph *g,
                           struct fab_squares *ret);
/* For each link i of switch u, sets mate[i] to its mate: the other link of u that is in no square
 * together with link i. FAB_LATTICE_LINKS: link i has no mate. Returns false if a link has several
 * mates. On entry, *next is the index of the first corner at u or at a later switch; on return, it
 * is the index of the first corner after those at u. */
bool fab_route_squares_mates(const struct fab_squares *s, const struct fab_graph *g, uint32_t u,
                             uint32_t *next, unsigned mate[FAB_LATTICE_LINKS]);

#endif
