/* SPDX-License-Identifier: BSD-3-Clause */
#include "libfabmgr/fabric/restore.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

void fab_fabric_lost_fini(struct fab_lost *l)
{
    free(l->nodes);
    free(l->cables);
    *l = (struct fab_lost){0};
}

/* Adds a lost node to the builder, unless the builder has a node with its GUID. Returns OK or
 * NOMEM. */
static int add_node(struct fab_builder *b, const struct fab_lost_node *n)
{
    const struct fab_node_info info = {
        .node_type = (uint8_t)n->type, .num_ports = n->num_ports, .node_guid = n->guid};
    uint32_t ref;
    if (fab_fabric_builder_find_node(b, n->guid, &ref) == FAB_OK)
        return FAB_OK;
    int rc = fab_fabric_builder_add_node(b, &info, &ref);
    if (rc == FAB_OK)
        rc = fab_fabric_builder_set_desc(b, ref, n->name, strlen(n->name));
    return rc == FAB_E_NOMEM ? rc : FAB_OK;
}

/* Adds a lost link to the builder. Leaves it out if one of its nodes is missing, or if one of its
 * ports has another link now. Returns OK or NOMEM. */
static int add_cable(struct fab_builder *b, const struct fab_lost_cable *c)
{
    uint32_t ref[2];
    for (int i = 0; i < 2; i++)
        if (fab_fabric_builder_find_node(b, c->guid[i], &ref[i]) != FAB_OK)
            return FAB_OK;
    int rc = fab_fabric_builder_link(b, ref[0], c->port[0], ref[1], c->port[1]);
    return rc == FAB_E_NOMEM ? rc : FAB_OK;
}

/* Copies the names and the member `aggregation` of all nodes, because a builder does not keep them:
 * it names each node by its NodeDescription. */
static void copy_names(const struct fab_fabric *f, const struct fab_lost *lost,
                       struct fab_fabric *to)
{
    for (uint32_t i = 0; i < f->node_count; i++) {
        uint32_t node = fab_fabric_node_by_guid(to, f->nodes[i].guid);
        if (node == FAB_NONE)
            continue;
        fab_fabric_set_name(to, node, f->nodes[i].name);
        to->nodes[node].aggregation = f->nodes[i].aggregation;
    }
    for (size_t i = 0; i < lost->node_count; i++) {
        uint32_t node = fab_fabric_node_by_guid(to, lost->nodes[i].guid);
        if (node != FAB_NONE && fab_fabric_node_by_guid(f, lost->nodes[i].guid) == FAB_NONE)
            to->nodes[node].aggregation = lost->nodes[i].aggregation;
    }
}

int fab_fabric_restore(const struct fab_fabric *f, const struct fab_lost *lost,
                       struct fab_fabric **ret)
{
    struct fab_builder *b = fab_fabric_builder_from(f);
    struct fab_fabric *whole = NULL;
    int rc = b != NULL ? FAB_OK : FAB_E_NOMEM;
    for (size_t i = 0; i < lost->node_count && rc == FAB_OK; i++)
        rc = add_node(b, &lost->nodes[i]);
    for (size_t i = 0; i < lost->cable_count && rc == FAB_OK; i++)
        rc = add_cable(b, &lost->cables[i]);
    if (rc == FAB_OK)
        rc = fab_fabric_builder_seal(b, &whole);
    if (rc == FAB_OK) {
        copy_names(f, lost, whole);
        *ret = whole;
    }
    fab_fabric_builder_free(b);
    return rc;
}
