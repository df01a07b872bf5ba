/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ports a rule is about. GUIDs are found by the fabric's index, all else by a walk over the
 * end ports.
 *
 * A pattern is for the whole node description, or for its first word, which is the host's name in
 * what drivers write ("node-0001 mlx5_0").
 */
#include "libfabmgr/partition/select.h"

#include <string.h>

#include "libfabmgr/base/match.h"

static bool is_named(const struct fab_node *n, const char *pattern)
{
    return fab_matches(pattern, n->desc, strlen(n->desc)) ||
           fab_matches(pattern, n->desc, strcspn(n->desc, " \t"));
}

/* For what a walk over all ports finds. */
static bool is_meant(const struct fab_node *n, const struct fab_port_selector *who)
{
    switch (who->kind) {
    case FAB_SELECT_ALL:
        return true;
    case FAB_SELECT_ADAPTERS:
        return n->type == FAB_NODE_CA;
    case FAB_SELECT_SWITCHES:
        return n->type == FAB_NODE_SWITCH;
    case FAB_SELECT_ROUTERS:
        return n->type == FAB_NODE_ROUTER;
    case FAB_SELECT_NAME:
        return is_named(n, who->name);
    default:
        return false;
    }
}

static void take_one(const struct fab_fabric *f, uint32_t port, select_take *take, void *ctx)
{
    if (port != FAB_NONE && fab_port_has_lid(f, port))
        take(ctx, port);
}

void select_ports(const struct fab_fabric *f, const struct fab_partitions *p,
                  const struct fab_port_selector *who, select_take *take, void *ctx)
{
    if (who->kind == FAB_SELECT_GUID) {
        take_one(f, fab_fabric_port_by_guid(f, who->guid), take, ctx);
    } else if (who->kind == FAB_SELECT_SELF) {
        take_one(f, f->self_port, take, ctx);
    } else if (who->kind == FAB_SELECT_GROUP) {
        const struct fab_port_group *g = &p->group[who->group];
        for (size_t i = 0; i < g->count; i++)
            select_ports(f, p, &g->member[i], take, ctx);
    } else {
        for (uint32_t port = 0; port < f->port_count; port++)
            if (fab_port_has_lid(f, port) && is_meant(&f->nodes[f->ports[port].node], who))
                take(ctx, port);
    }
}
