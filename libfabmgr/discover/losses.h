/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes that a new snapshot of the fabric lacks, and whether their loss is proved. */
#ifndef LIBFABMGR_DISCOVER_LOSSES_H
#define LIBFABMGR_DISCOVER_LOSSES_H

#include "libfabmgr/fabric/fabric.h"

struct fab_losses {
    uint32_t nodes; /* number of nodes that the new snapshot lacks */
    /* number of lost nodes that may still be there. Such a node was linked to a port that is still
     * in the snapshot and reports LinkUp, but has no link now; or it was connected to such a node,
     * directly or over other lost nodes. The loss of all other nodes is proved. */
    uint32_t unproved;
    /* true: the manager's own node had links in the former snapshot, and has none in the new one */
    bool own_uplink;
};
/* Compares a new snapshot with the former one. Returns OK or NOMEM. */
int fab_discover_losses(const struct fab_fabric *former, const struct fab_fabric *now,
                        struct fab_losses *ret);

#endif
