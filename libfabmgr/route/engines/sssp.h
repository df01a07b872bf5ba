/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest paths with balanced loads, for the engines that are built on them. For this folder only.
 */
#ifndef LIBFABMGR_ROUTE_ENGINES_SSSP_H
#define LIBFABMGR_ROUTE_ENGINES_SSSP_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/route.h"

/* Which load decides between shortest paths. */
enum fab_sssp_weight {
    FAB_SSSP_NEXT_LINK,  /* the load of the next link */
    FAB_SSSP_WHOLE_PATH, /* the sum of the loads along the path */
    FAB_SSSP_LEGAL_PATH, /* the same, but only the legal paths of updn are used */
};
/* The number of different paths to each switch: so many of its hosts have paths of their own, which
 * its other LIDs share. OF_HOSTS: each host has a path of its own. PER_LID: each LID has one; LIDs
 * that do not belong to hosts take the paths of updn, which close no cycle with each other. */
#define FAB_SSSP_PER_LID 0
#define FAB_SSSP_OF_HOSTS UINT32_MAX
/* g is the graph of in->fabric. The tables use one VL and are not proven to be deadlock-free. The
 * caller calls fab_target_lft_fini(). Fails only with NOMEM. */
int fab_route_sssp_route(const struct fab_route_input *in, const struct fab_graph *g,
                         enum fab_sssp_weight weight, uint32_t paths, struct fab_lft *ret_lft);
/* Reroutes the LIDs that take overloaded links in tables that updn made; other entries stay. Fails
 * only with NOMEM, and then changes nothing. */
int fab_route_sssp_reroute_overloaded(const struct fab_route_input *in, const struct fab_graph *g,
                                      struct fab_lft *lft);

#endif
