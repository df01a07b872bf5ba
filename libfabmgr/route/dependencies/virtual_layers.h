/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributes the paths of LFTs over several virtual layers, each without cyclic channel
 * dependencies. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_VIRTUAL_LAYERS_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_VIRTUAL_LAYERS_H

#include "libfabmgr/policy/policy.h"
#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/target/target.h"

struct fab_layers_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_graph *graph;
    const struct fab_lids *lids;
    /* the tables; they must be free of loops */
    const struct fab_lft *lft;
    uint32_t max; /* maximum number of layers, at most FAB_VLS_MAX */
    /* Number of steps that the search may still take; a step is one hop of a path, or one LFT entry
     * that is read. The search subtracts its steps. */
    uint64_t *budget;
};
/* The LIDs, sorted by the switch that they are attached to. */
struct fab_layers_lids {
    struct fab_arena arena; /* memory of the arrays */
    /* [top + 1] the switch to which each LID is attached; FAB_NONE: none */
    uint32_t *home;
    /* [switches + 2] the LIDs of switch s are lid[at[s]] to lid[at[s + 1] - 1] */
    uint32_t *at;
    uint32_t *lid;
};
int fab_route_layers_lids(const struct fab_layers_input *in, struct fab_layers_lids *ret);
void fab_route_layers_lids_fini(struct fab_layers_lids *l);

/* The next two functions return BUSY if the budget is used up, or NOMEM. They take into
 * account the paths from all switches, so the dependencies of a layer form no cycle even if
 * switches without hosts send packets. */

/* Sets *ret_one to true if all paths fit into one layer, otherwise to false. If the function fails,
 * it also changes *ret_one, which then has no meaning. */
int fab_route_layers_suffice(const struct fab_layers_input *in, bool *ret_one);
/* Assigns a layer to each pair of switches. All paths from switch `from` to the LIDs of switch `to`
 * use ret_layer[to * switches + from], and so do the paths back. *ret_count: number of layers. Also
 * returns LIMIT, if more than `max` layers are needed. A failure leaves ret_layer[] undefined. */
int fab_route_layers_by_pair(const struct fab_layers_input *in, uint8_t *ret_layer,
                             uint32_t *ret_count);

#endif
