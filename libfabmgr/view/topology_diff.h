/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences of two topologies: nodes, links and cables that were added, removed or moved. */
#ifndef LIBFABMGR_VIEW_TOPOLOGY_DIFF_H
#define LIBFABMGR_VIEW_TOPOLOGY_DIFF_H

#include "libfabmgr/fabric/fabric.h"

enum fab_topology_kind {
    FAB_TOPOLOGY_NODE_REMOVED,
    FAB_TOPOLOGY_NODE_ADDED,
    FAB_TOPOLOGY_NODE_RENAMED,
    FAB_TOPOLOGY_LINK_MOVED, /* a port of the link had a link to another port before */
    FAB_TOPOLOGY_LINK_REMOVED,
    FAB_TOPOLOGY_LINK_ADDED,
    FAB_TOPOLOGY_LINK_RATE /* the link has another width or speed than before */
};
struct fab_topology_change {
    enum fab_topology_kind kind;
    /* Ids in the topology before and after the change; FAB_NONE: not in this topology. For nodes,
     * they are node ids. For links, they are the id of one of the two ports. Of a moved link, this
     * is the port that has moved; of other links, it is the adapter's port, if there is one. */
    uint32_t before, after;
};
/* Computes the changes, sorted by kind. Changes of links are left out if a node of the link was
 * added or removed. The caller frees *ret_changes. Returns OK or NOMEM. */
int fab_view_topology_diff(const struct fab_fabric *before, const struct fab_fabric *after,
                           struct fab_topology_change **ret_changes, size_t *ret_count);

#endif
