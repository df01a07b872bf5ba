/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest ways with balanced load, for the engines that are built on them. Private to the room. */
#ifndef LIBFABMGR_ROUTE_SSSP_H
#define LIBFABMGR_ROUTE_SSSP_H

#include "libfabmgr/route/graph.h"
#include "libfabmgr/route/route.h"

enum fab_sssp_sight {
    FAB_SSSP_NEXT_CABLE, /* the least loaded next cable */
    FAB_SSSP_WHOLE_WAY,  /* the way that is least loaded in sum */
    FAB_SSSP_LEGAL_WAY,  /* that among those of updn */
};
/* Which LIDs have ways of their own. */
enum fab_sssp_share {
    FAB_SSSP_OWN,  /* all: of hosts the balanced ones, others those of updn, which close no cycle
                      with  each other */
    FAB_SSSP_SOME, /* those of hosts; others have those of a host at their switch, if there is one
                    */
    FAB_SSSP_ALL,  /* one at each switch */
};
/* g: of in->fabric. On one lane. ret_lft: caller calls fab_lft_fini. */
int fab_sssp_route(const struct fab_route_input *in, const struct fab_graph *g,
                   enum fab_sssp_sight sight, enum fab_sssp_share share, struct fab_lft *ret_lft);
/* Tables of the legal ways, made by updn: what takes overloaded cables is rerouted, the rest stays.
 */
int fab_sssp_relieve(const struct fab_route_input *in, const struct fab_graph *g,
                     struct fab_lft *lft);

#endif
