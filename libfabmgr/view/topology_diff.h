/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences between two topologies: nodes, links and cables that were added, removed or
 * moved. */
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
    FAB_TOPOLOGY_LINK_RATE /* the width or the speed of the link has changed */
};
struct fab_topology_change {
    enum fab_topology_kind kind;
    /* The id of the node or port in the topology before and in that after the change; FAB_NONE: it
     * is not in this topology. Changes of nodes have node ids. Changes of links have the ids of one
     * of the two ports: for a moved link, the port whose peer has changed; for an added or removed
     * link, the adapter's port, if there is one; for a change of the width or speed, the port with
     * the lower id. */
    uint32_t before, after;
};
/* Computes the changes, sorted by kind. Changes of links are left out if a node of the link was
 * added or removed. The caller frees *ret_changes. Returns OK or NOMEM. */
int fab_view_topology_diff(const struct fab_fabric *before, const struct fab_fabric *after,
                           struct fab_topology_change **ret_changes, size_t *ret_count);

#endif
