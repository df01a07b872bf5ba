/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns layers to LIDs or to pairs of switches by first fit. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_FIRST_FIT_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_FIRST_FIT_H

#include "libfabmgr/route/dependencies/virtual_layers.h"
#include "libfabmgr/route/updown/switch_order.h"

/* The LIDs that are attached to switch s are lid[lid_at[s]] to lid[lid_at[s + 1] - 1]. */
struct fab_homes {
    const uint32_t *lid, *lid_at;
};
/* The order in which LIDs, or pairs of switches, get their layers. */
enum fab_first_fit {
    FAB_FIRST_FIT_LONGEST,   /* those with long paths first; those of equal length at random */
    FAB_FIRST_FIT_BY_SOURCE, /* LIDs: the last one first */
    FAB_FIRST_FIT_BY_DESTINATION,
    FAB_FIRST_FIT_RANDOM, /* from here on: at random, each with a seed of its own */
    FAB_FIRST_FIT_COUNT = FAB_FIRST_FIT_RANDOM + 8,
};
/* Assigns a layer to each pair of switches, as fab_route_layers_by_pair() does, or to each LID, as
 * fab_route_layers_by_lid() does. `order` is the order of the switches by which up/down paths need
 * one layer. Returns LIMIT if more than `limit` layers are needed, or NOMEM; ret_layer[] is then
 * undefined. */
int fab_route_layers_first_fit(const struct fab_layers_input *in, const struct fab_order *order,
                               const struct fab_homes *homes, enum fab_first_fit how, bool by_pair,
                               uint32_t limit, uint8_t *ret_layer, uint32_t *ret_count);

#endif
