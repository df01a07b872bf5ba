/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds shortest paths that need few virtual lanes, for the engine dfsssp. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_ENGINES_NUE_H
#define LIBFABMGR_ROUTE_ENGINES_NUE_H

#include "libfabmgr/route/route.h"

/* Computes tables in which all paths between hosts are shortest paths, on at most `most` VLs. The
 * VL of a path depends on its pair of switches, and is the same in both directions. Tries several
 * orders of the destination switches. trees: packets may also go from any switch to any other along
 * one spanning tree, on every VL, without closing a cycle. Returns LIMIT if none of the orders
 * suffices, or NOMEM. The caller frees the tables. */
int fab_route_nue_shortest(const struct fab_route_input *in, uint32_t most, bool trees,
                           struct fab_lft *ret_lft, struct fab_vls *ret_vls);

#endif
