/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a snapshot that also has the nodes and links that are gone. It shows the fabric as it was
 * cabled, not as it is after faults. */
#ifndef LIBFABMGR_FABRIC_RESTORE_H
#define LIBFABMGR_FABRIC_RESTORE_H

#include "libfabmgr/fabric/fabric.h"

struct fab_lost_node {
    uint64_t guid;
    enum fab_node_type type;
    bool aggregation;
    uint8_t num_ports; /* number of external ports */
    char name[FAB_NODE_DESC_LEN + 1];
};
struct fab_lost_cable {
    uint64_t guid[2]; /* node GUIDs of its ends */
    uint8_t port[2];
};
struct fab_lost {
    struct fab_lost_node *nodes; /* [node_count] */
    /* [cable_count] the lost links; the most recently lost link comes first */
    struct fab_lost_cable *cables;
    size_t node_count, cable_count;
};
void fab_fabric_lost_fini(struct fab_lost *l);
/* Makes a snapshot with the nodes and links of `f`, and with the lost nodes and links. It leaves
 * out a lost node that is in `f` again, and a lost link if one of its ports has another link now.
 * The links that the function adds are not up. Nodes keep their member `name`. The caller owns
 * *ret. Returns NOMEM. */
int fab_fabric_restore(const struct fab_fabric *f, const struct fab_lost *lost,
                       struct fab_fabric **ret);

#endif
