/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that close cycles on one lane, put on several. Private to the room. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_VIRTUAL_LAYERS_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_VIRTUAL_LAYERS_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/target/target.h"

struct fab_layers_input {
    const struct fab_fabric *fabric;
    const struct fab_graph *graph;
    const struct fab_lids *lids;
    const struct fab_lft *lft; /* from each switch to all LIDs that it reaches, without loops */
};
/* Both: layers, in none of which the ways close a cycle of channels that wait for each other,
 * whichever switch sends. LIMIT: more than
 * FAB_VLS_MAX; NOMEM. */

/* All ways to a LID on one layer: ret_layer[lid]; [lft->top + 1]. */
int fab_route_layers_by_lid(const struct fab_layers_input *in, uint8_t *ret_layer,
                            uint32_t *ret_count);
/* All ways from one switch to the LIDs of another: ret_layer[to * switches + from]. Takes fewer
 * layers, and longer. */
int fab_route_layers_by_pair(const struct fab_layers_input *in, uint8_t *ret_layer,
                             uint32_t *ret_count);

#endif
