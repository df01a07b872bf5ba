/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cables run in the same dimension of a grid. Private to the room. */
#ifndef LIBFABMGR_ROUTE_SQUARES_H
#define LIBFABMGR_ROUTE_SQUARES_H

#include "libfabmgr/route/graph.h"

#define FAB_SQUARES_DIMS 15
#define FAB_SQUARES_NONE 0xff

struct fab_squares {
    uint32_t dims;
    uint8_t *dim; /* [neighbours] by index of g->nbr: 0..dims - 1, or FAB_SQUARES_NONE: not seen */
};
/* UNSUPPORTED: nothing like a grid, why[] says at which switch. f: for names. */
int fab_squares_find(const struct fab_fabric *f, const struct fab_graph *g, struct fab_squares *ret,
                     char *why, size_t why_len);
void fab_squares_fini(struct fab_squares *s);

#endif
