/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out why a link that was part of the fabric is not part of it now. */
#include "libfabmgr/view/gone.h"

static enum fab_gone_cause cause_at(const struct fab_port *p)
{
    if (p->peer != FAB_NONE)
        return FAB_GONE_REPLACED;
    if (p->info.phys_state == FAB_PHYS_DISABLED)
        return FAB_GONE_DISABLED;
    return p->info.port_state < FAB_STATE_INIT ? FAB_GONE_DOWN : FAB_GONE_UP;
}

/* Returns port number `num` of the node with this GUID; FAB_NONE: the fabric has no such port. */
static uint32_t port_at(const struct fab_fabric *f, uint64_t guid, uint8_t num)
{
    uint32_t node = fab_fabric_node_by_guid(f, guid);
    if (node == FAB_NONE || num > f->nodes[node].num_ports)
        return FAB_NONE;
    uint32_t port = fab_fabric_port_id(f, node, num);
    return fab_fabric_port(f, port)->present ? port : FAB_NONE;
}

struct fab_gone_why fab_view_why_gone(const struct fab_fabric *f, const struct fab_gone_link *link)
{
    struct fab_gone_why why = {FAB_GONE_NODES, FAB_NONE};
    for (int end = 0; end < 2; end++) {
        uint32_t port = port_at(f, link->guid[end], link->port[end]);
        if (port == FAB_NONE)
            continue;
        enum fab_gone_cause cause = cause_at(fab_fabric_port(f, port));
        if (why.port == FAB_NONE || cause < why.cause)
            why = (struct fab_gone_why){cause, port};
    }
    return why;
}
