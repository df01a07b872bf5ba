/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributes the paths of tables over several virtual layers, each without cyclic channel
 * dependencies. For this folder only. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_VIRTUAL_LAYERS_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_VIRTUAL_LAYERS_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/target/target.h"

struct fab_layers_input {
    const struct fab_fabric *fabric;
    const struct fab_graph *graph;
    const struct fab_lids *lids;
    const struct fab_lft *lft; /* must be free of loops */
};
/* Both functions return LIMIT if more than FAB_VLS_MAX layers are needed, or NOMEM. The
 * dependencies of a layer form no cycle, whichever switch sends. */

/* Puts all paths to a LID into one layer: ret_layer[lid], [lft->top + 1]. */
int fab_route_layers_by_lid(const struct fab_layers_input *in, uint8_t *ret_layer,
                            uint32_t *ret_count);
/* Puts all paths from one switch to the LIDs of another into one layer: ret_layer[to * switches +
 * from]. Needs fewer layers, and more time. */
int fab_route_layers_by_pair(const struct fab_layers_input *in, uint8_t *ret_layer,
                             uint32_t *ret_count);

#endif
