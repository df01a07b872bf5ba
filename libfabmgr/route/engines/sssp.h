/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes tables of shortest paths with balanced loads, for several engines. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_ENGINES_SSSP_H
#define LIBFABMGR_ROUTE_ENGINES_SSSP_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/route.h"

/* the load by which the engine chooses among shortest paths */
enum fab_sssp_weight {
    FAB_SSSP_NEXT_LINK, /* the load of the next link alone */
    /* the sum of the loads along the path */
    FAB_SSSP_WHOLE_PATH,
    /* like FAB_SSSP_WHOLE_PATH, but only among the shortest legal paths of the engine updn */
    FAB_SSSP_LEGAL_PATH,
};
/* How many different sets of paths lead to the LIDs of one switch. With k sets, the first k hosts
 * of the switch have paths of their own, and its other LIDs share these paths by round robin. If
 * endports have several LIDs (LMC), this holds for each offset from the base LID separately.
 * FAB_SSSP_OF_HOSTS: each host has paths of its own. FAB_SSSP_PER_LID: each LID has paths of its
 * own; LIDs that do not belong to hosts take the paths of updn, which together close no cycle. */
#define FAB_SSSP_PER_LID 0
#define FAB_SSSP_OF_HOSTS UINT32_MAX
/* Computes tables of shortest paths. `g` is the graph of in->fabric. The tables use one VL, and
 * their channel dependencies may have cycles. The caller frees the tables with
 * fab_target_lft_fini(). Returns NOMEM if there is no memory. */
int fab_route_sssp_route(const struct fab_route_input *in, const struct fab_graph *g,
                         enum fab_sssp_weight weight, uint32_t paths, struct fab_lft *ret_lft);
/* Reroutes the LIDs that take overloaded links, in tables that updn made. Entries of other LIDs do
 * not change. Returns NOMEM if there is no memory; the tables are then unchanged. */
int fab_route_sssp_reroute_overloaded(const struct fab_route_input *in, const struct fab_graph *g,
                                      struct fab_lft *lft);

#endif
