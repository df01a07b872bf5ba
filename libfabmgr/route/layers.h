/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that close cycles on one lane, put on several. Private to the room. */
#ifndef LIBFABMGR_ROUTE_LAYERS_H
#define LIBFABMGR_ROUTE_LAYERS_H

#include "libfabmgr/route/graph.h"
#include "libfabmgr/target/target.h"

#define FAB_LAYERS_MAX 64

/* Gives each LID a layer, so that in none of them the ways of its LIDs close a cycle of channels
 * that wait for each other, whichever switch sends. ret_layer: [lft->top + 1]. LIMIT: more than
 * FAB_LAYERS_MAX; NOMEM. */
int fab_layers_find(const struct fab_fabric *f, const struct fab_graph *g,
                    const struct fab_lft *lft, uint8_t *ret_layer, uint32_t *ret_count);

#endif
