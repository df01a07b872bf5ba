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

/* Repeats first fit with the LIDs ordered by the layers of an earlier assignment: all LIDs of one
 * layer, then all LIDs of another layer, and so on ("iterated greedy": Culberson, Luo, "Exploring
 * the k-colorable landscape with iterated greedy", DIMACS 26, 1996). The LIDs of one former layer
 * always fit into one layer together. So the repetition needs at most as many layers as before, and
 * after some rounds it often needs fewer. `round` selects the order of the layers. layer[] and
 * *count have the earlier assignment and its number of layers on entry, and the new ones on return.
 * trial[] is scratch memory with as many elements as layer[]. Subtracts from *work the number of
 * hops tried and of dependencies followed. Returns NOMEM if there is no memory. */
int fab_route_layers_first_fit_again(const struct fab_layers_input *in,
                                     const struct fab_order *order, const uint32_t *lid,
                                     uint32_t lids, uint32_t round, uint8_t *layer, uint8_t *trial,
                                     uint32_t *count, uint64_t *work);

#endif
