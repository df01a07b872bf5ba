/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts the leaves into a sequence in which leaves with few hops between them are adjacent. Internal
 * to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_LEAF_SEQUENCE_H
#define LIBFABMGR_ROUTE_UPDOWN_LEAF_SEQUENCE_H

#include "libfabmgr/route/updown/legal_paths.h"

/* Fills ret_sequence[g->n] with switch ids. First come the switches that have hosts, in an order in
 * which switches with few hops between them are adjacent. For example, the switches of a pod are
 * consecutive. Then come the other switches, sorted by id. *ret_edges: number of switches that have
 * hosts. Needs O(edges^2) memory. Returns OK or NOMEM. */
int fab_route_leaf_sequence(const struct fab_graph *g, const struct fab_updown *updown,
                            uint32_t *ret_sequence, uint32_t *ret_edges);

#endif
