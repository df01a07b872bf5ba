/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns layers to LIDs by first fit. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_FIRST_FIT_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_FIRST_FIT_H

#include "libfabmgr/route/dependencies/virtual_layers.h"
#include "libfabmgr/route/updown/switch_order.h"

/* The order in which LIDs get their layers. */
enum fab_first_fit {
    FAB_FIRST_FIT_LONGEST,    /* LIDs with long paths first; LIDs with equally long paths in random
                                 order */
    FAB_FIRST_FIT_DESCENDING, /* the last LID of the list first */
    FAB_FIRST_FIT_ASCENDING,
    /* this value, and each greater value: LIDs in a random order, for which the value is the
     * seed */
    FAB_FIRST_FIT_RANDOM,
    FAB_FIRST_FIT_COUNT = FAB_FIRST_FIT_RANDOM + 8,
};
/* Assigns a layer to each LID of lid[count]; all paths to a LID use its layer. Up/down paths by the
 * switch order `order` fit into one layer. Returns LIMIT if more than `limit` layers are needed, or
 * NOMEM; ret_layer[] is then undefined. */
int fab_route_layers_first_fit(const struct fab_layers_input *in, const struct fab_order *order,
                               const uint32_t *lid, uint32_t count, enum fab_first_fit how,
                               uint32_t limit, uint8_t *ret_layer, uint32_t *ret_count);

#endif
