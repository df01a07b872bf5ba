/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbering the switches that have hosts so that neighbours are near. Private to the room. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_LEAF_SEQUENCE_H
#define LIBFABMGR_ROUTE_UPDOWN_LEAF_SEQUENCE_H

#include "libfabmgr/route/updown/legal_paths.h"

/* ret_sequence: [g->n] switch ids: first the *ret_edges switches that have hosts, grouped by
 * subtree on every level, then all others by id. */
int fab_route_leaf_sequence(const struct fab_graph *g, const struct fab_updown *slopes,
                            uint32_t *ret_sequence, uint32_t *ret_edges);

#endif
