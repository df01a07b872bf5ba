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
    FAB_FIRST_FIT_RANDOM, /* this value and all greater ones: random order, with the value as seed
                           */
    FAB_FIRST_FIT_COUNT = FAB_FIRST_FIT_RANDOM + 8,
};
/* Assigns a layer to each LID of lid[count], as fab_route_layers_by_lid() does. `order` is the
 * order of the switches by which up/down paths need one layer. Returns LIMIT if more than `limit`
 * layers are needed, or NOMEM; ret_layer[] is then undefined. */
int fab_route_layers_first_fit(const struct fab_layers_input *in, const struct fab_order *order,
                               const uint32_t *lid, uint32_t count, enum fab_first_fit how,
                               uint32_t limit, uint8_t *ret_layer, uint32_t *ret_count);

/* Repeats first fit with the LIDs ordered by the layers that an earlier assignment gave them: all
 * LIDs of one layer, then those of another, and so on ("iterated greedy": Culberson, Luo,
 * "Exploring the k-colorable landscape with iterated greedy", DIMACS 26, 1996). This needs at most
 * as many layers as before, because the LIDs of one former layer always fit into one layer
 * together, and often fewer after some rounds. `round` selects the order of the layers. layer[] has
 * the earlier assignment with *count layers; both get the new one. trial[] is scratch memory of the
 * same size. *work is lowered by the number of hops that were tried. Returns NOMEM if there is no
 * memory. */
int fab_route_layers_first_fit_again(const struct fab_layers_input *in,
                                     const struct fab_order *order, const uint32_t *lid,
                                     uint32_t lids, uint32_t round, uint8_t *layer, uint8_t *trial,
                                     uint32_t *count, uint64_t *work);

#endif
