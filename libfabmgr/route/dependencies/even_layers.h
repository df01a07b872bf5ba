/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributes the pairs of switches evenly over virtual layers. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_EVEN_LAYERS_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_EVEN_LAYERS_H

#include "libfabmgr/route/dependencies/virtual_layers.h"

/* Changes the layers of pairs of switches, so that all layers have about the same number of channel
 * dependencies. layer[to * switches + from] is the layer of a pair, below `layers`, and the same in
 * both directions. The dependencies of no layer form a cycle, neither before nor afterwards. Does
 * not use in->max and in->budget. Equal input gives equal layers. Returns NOMEM if there is no
 * memory; the layers are then unchanged. */
int fab_route_layers_even(const struct fab_layers_input *in, uint32_t layers, uint8_t *layer);

#endif
