/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out why a link that was part of the fabric is not part of it now. */
#ifndef LIBFABMGR_VIEW_GONE_H
#define LIBFABMGR_VIEW_GONE_H

#include "libfabmgr/fabric/fabric.h"

struct fab_gone_link {
    uint64_t guid[2]; /* node GUIDs of the two ends */
    uint8_t port[2];
};

enum fab_gone_cause {
    FAB_GONE_NODES,    /* both nodes are gone */
    FAB_GONE_REPLACED, /* the port has a link to another port now */
    FAB_GONE_DISABLED, /* the port is disabled (physical state Disabled) */
    FAB_GONE_DOWN,     /* the port is down */
    /* the port is up, but the link is excluded, or the device at the other end does not answer */
    FAB_GONE_UP
};
struct fab_gone_why {
    enum fab_gone_cause cause;
    /* id of the port to which the cause applies; FAB_NONE if the cause is FAB_GONE_NODES */
    uint32_t port;
};
/* Finds the cause from the present state of the ports at both ends. If the two ports show different
 * causes, the one that comes first in enum fab_gone_cause counts. The link must not be in `f`. */
struct fab_gone_why fab_view_why_gone(const struct fab_fabric *f, const struct fab_gone_link *link);

#endif
