/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest ways with balanced load, for the engines that are built on them. Private to the room. */
#ifndef LIBFABMGR_ROUTE_ENGINES_SSSP_H
#define LIBFABMGR_ROUTE_ENGINES_SSSP_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/route.h"

enum fab_sssp_weight {
    FAB_SSSP_NEXT_LINK,  /* the least loaded next cable */
    FAB_SSSP_WHOLE_PATH, /* the way that is least loaded in sum */
    FAB_SSSP_LEGAL_PATH, /* that among those of updn */
};
/* How many ways lead to each switch, if not more than it has hosts: those of its first hosts, which
 * its other LIDs share. OWN: each LID has its own; those that are not of hosts have those of updn,
 * which close no cycle with each other. */
#define FAB_SSSP_PER_LID 0
#define FAB_SSSP_OF_HOSTS UINT32_MAX
/* g: of in->fabric. On one lane. ret_lft: caller calls fab_lft_fini. */
int fab_route_sssp_route(const struct fab_route_input *in, const struct fab_graph *g,
                         enum fab_sssp_weight sight, uint32_t ways, struct fab_lft *ret_lft);
/* Tables of the legal ways, made by updn: what takes overloaded cables is rerouted, the rest stays.
 */
int fab_route_sssp_reroute_overloaded(const struct fab_route_input *in, const struct fab_graph *g,
                                      struct fab_lft *lft);

#endif
