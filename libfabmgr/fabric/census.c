/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts hosts, endports and links of a snapshot in one pass over nodes and ports. */
#include "libfabmgr/fabric/condition.h"
#include "libfabmgr/fabric/fabric.h"

static void count_node(const struct fab_node *n, struct fab_census *c)
{
    c->routers += n->type == FAB_NODE_ROUTER;
    c->aggregation_nodes += n->type == FAB_NODE_CA && n->aggregation;
    c->hosts += n->type == FAB_NODE_CA && !n->aggregation;
}

static void count_port(const struct fab_fabric *f, uint32_t port, struct fab_census *c)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    c->endports += p->num > 0 && fab_fabric_port_has_lid(f, port) && fab_fabric_port_is_up(f, port);
    c->active_links += p->peer != FAB_NONE && port < p->peer &&
                       p->info.port_state == FAB_STATE_ACTIVE &&
                       fab_fabric_port(f, p->peer)->info.port_state == FAB_STATE_ACTIVE;
    c->degraded_links +=
        p->peer != FAB_NONE && port < p->peer && fab_fabric_link_is_degraded(f, port);
}

void fab_fabric_count(const struct fab_fabric *f, struct fab_census *ret)
{
    struct fab_census c = {0};
    for (uint32_t node = f->switch_count; node < f->node_count; node++)
        count_node(&f->nodes[node], &c);
    for (uint32_t port = 0; port < f->port_count; port++)
        count_port(f, port, &c);
    *ret = c;
}
