/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes that a new snapshot of the fabric lacks, and whether their loss is proved. */
#ifndef LIBFABMGR_DISCOVER_LOSSES_H
#define LIBFABMGR_DISCOVER_LOSSES_H

#include "libfabmgr/fabric/fabric.h"

struct fab_losses {
    uint32_t nodes; /* number of nodes that the new snapshot lacks */
    /* Number of lost nodes whose loss is not proved. The loss of a node is proved unless a
     * remaining neighbour reports as up a link to this node, or a link to lost nodes that are
     * connected to it. It is also proved if the neighbour now has another link at the same port. */
    uint32_t unproved;
    /* The manager's own node had links in the former snapshot, and has none in the new one. */
    bool own_uplink;
};
/* Compares a new snapshot with the former one. Returns OK or NOMEM. */
int fab_discover_losses(const struct fab_fabric *former, const struct fab_fabric *now,
                        struct fab_losses *ret);

#endif
