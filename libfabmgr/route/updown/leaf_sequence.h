/* SPDX-License-Identifier: BSD-3-Clause */
/* A sequence of the leaves in which neighbours are adjacent. For this folder only. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_LEAF_SEQUENCE_H
#define LIBFABMGR_ROUTE_UPDOWN_LEAF_SEQUENCE_H

#include "libfabmgr/route/updown/legal_paths.h"

/* ret_sequence: [g->n] switch ids: first the *ret_edges switches that have hosts, such that each
 * subtree is contiguous on every level; then the others by id. O(edges^2) memory. Fails only with
 * NOMEM. */
int fab_route_leaf_sequence(const struct fab_graph *g, const struct fab_updown *updown,
                            uint32_t *ret_sequence, uint32_t *ret_edges);

#endif
