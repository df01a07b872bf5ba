/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts the leaves into a sequence in which leaves with few hops between them are adjacent. Internal
 * to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_LEAF_SEQUENCE_H
#define LIBFABMGR_ROUTE_UPDOWN_LEAF_SEQUENCE_H

#include "libfabmgr/route/updown/legal_paths.h"

/* Fills ret_sequence[g->n] with switch ids. First come the *ret_edges switches that have hosts, in
 * an order in which switches with few hops between them are adjacent. The switches of a pod are
 * consecutive, and so are the pods of each larger part of the tree. Then come the other switches,
 * sorted by id. Needs O(edges^2) memory. Returns NOMEM if there is no memory. */
int fab_route_leaf_sequence(const struct fab_graph *g, const struct fab_updown *updown,
                            uint32_t *ret_sequence, uint32_t *ret_edges);

#endif
