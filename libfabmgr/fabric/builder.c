/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The builder: a fabric that can be changed. seal.c makes sealed snapshots from it.
 *
 * Nodes and ports are numbered in the order of their insertion. The ports of a node have
 * consecutive numbers, beginning with port 0. The number of a node is called its reference. The
 * number of a removed node is not reused, so a reference never comes to mean another node.
 */
#include "libfabmgr/fabric/builder.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct fab_builder *fab_fabric_builder_new(void)
{
    struct fab_builder *b = calloc(1, sizeof *b);
    if (b != NULL)
        b->self = FAB_NONE;
    return b;
}

void fab_fabric_builder_free(struct fab_builder *b)
{
    if (b == NULL)
        return;
    fab_base_map_fini(&b->by_guid);
    for (size_t i = 0; i < b->node_chunks; i++)
        free(b->nodes[i]);
    for (size_t i = 0; i < b->port_chunks; i++)
        free(b->ports[i]);
    free(b->nodes);
    free(b->ports);
    free(b);
}

static bool room_for_nodes(struct fab_builder *b, size_t nodes)
{
    while (nodes > b->node_chunks * FAB_BUILDER_NODES) {
        struct builder_node **more =
            fab_base_grow(b->nodes, sizeof(*more), b->node_chunks + 1, &b->node_room);
        if (more == NULL)
            return false;
        b->nodes = more;
        more[b->node_chunks] = malloc(FAB_BUILDER_NODES * sizeof(**more));
        if (more[b->node_chunks] == NULL)
            return false;
        b->node_chunks++;
    }
    return true;
}

static bool room_for_ports(struct fab_builder *b, size_t ports)
{
    while (ports > b->port_chunks * FAB_BUILDER_PORTS) {
        struct fab_port **more =
            fab_base_grow(b->ports, sizeof(*more), b->port_chunks + 1, &b->port_room);
        if (more == NULL)
            return false;
        b->ports = more;
        more[b->port_chunks] = malloc(FAB_BUILDER_PORTS * sizeof(**more));
        if (more[b->port_chunks] == NULL)
            return false;
        b->port_chunks++;
    }
    return true;
}

static bool room_for(struct fab_builder *b, size_t nodes, size_t ports)
{
    return room_for_nodes(b, nodes) && room_for_ports(b, ports);
}

/* Fills an empty builder from the snapshot f. Nodes get their ids in f as references, and ports get
 * their ids in f as indexes. */
static int copy_sealed(struct fab_builder *b, const struct fab_fabric *f)
{
    if (!room_for(b, f->node_count, f->port_count) ||
        fab_base_map_reserve(&b->by_guid, f->node_count) != FAB_OK)
        return FAB_E_NOMEM;
    for (uint32_t n = 0; n < f->node_count; n++) {
        struct builder_node *to = fab_fabric_builder_node_at(b, n);
        *to = (struct builder_node){.node = f->nodes[n]};
        if (fab_fabric_node_is_switch(f, n))
            to->switch_info = f->switches[n];
        fab_base_map_put(&b->by_guid, f->nodes[n].guid, n);
    }
    for (uint32_t i = 0; i < f->port_count; i++)
        *fab_fabric_builder_port_at(b, i) = *fab_fabric_port(f, i);
    b->node_count = b->live_count = f->node_count;
    b->port_count = f->port_count;
    b->self = f->self_port;
    return FAB_OK;
}

struct fab_builder *fab_fabric_builder_from(const struct fab_fabric *fabric)
{
    struct fab_builder *b = fab_fabric_builder_new();
    if (b != NULL && copy_sealed(b, fabric) != FAB_OK) {
        fab_fabric_builder_free(b);
        b = NULL;
    }
    return b;
}

/* ---- look-up --------------------------------------------------------------------------------- */

static struct builder_node *node_at(const struct fab_builder *b, uint32_t ref)
{
    if (ref >= b->node_count)
        return NULL;
    struct builder_node *n = fab_fabric_builder_node_at(b, ref);
    return n->removed ? NULL : n;
}

/* Returns a port of the node; NULL: the node has no port with this number. Only switches have a
 * port 0. */
static struct fab_port *port_at(const struct fab_builder *b, uint32_t ref, uint8_t num)
{
    const struct builder_node *n = node_at(b, ref);
    if (n == NULL || num > n->node.num_ports || (num == 0 && n->node.type != FAB_NODE_SWITCH))
        return NULL;
    return fab_fabric_builder_port_at(b, n->node.first_port + num);
}

static uint32_t index_of(const struct fab_builder *b, const struct fab_port *p)
{
    return fab_fabric_builder_node_at(b, p->node)->node.first_port + p->num;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Stores the port GUID of a NodeInfo at the port that it belongs to: port 0 of a switch, or the
 * port of the adapter that answered. */
static void learn_port_guid(struct fab_builder *b, uint32_t ref, const struct fab_node_info *info)
{
    uint8_t num = info->node_type == FAB_NODE_SWITCH ? 0 : info->local_port;
    struct fab_port *p = port_at(b, ref, num);
    if (p != NULL && info->port_guid != 0)
        p->guid = info->port_guid;
}

static int add_node(struct fab_builder *b, const struct fab_node_info *info, uint32_t *ret_ref)
{
    uint32_t ref = b->node_count, count = info->num_ports + 1u;
    if (b->port_count > FAB_NONE - 1 - count)
        return FAB_E_LIMIT;
    if (!room_for(b, (size_t)ref + 1, (size_t)b->port_count + count) ||
        fab_base_map_put(&b->by_guid, info->node_guid, ref) != FAB_OK)
        return FAB_E_NOMEM;
    *fab_fabric_builder_node_at(b, ref) =
        (struct builder_node){.node = {.first_port = b->port_count,
                                       .num_ports = info->num_ports,
                                       .type = info->node_type,
                                       .guid = info->node_guid}};
    for (uint32_t i = 0; i < count; i++)
        *fab_fabric_builder_port_at(b, b->port_count + i) =
            (struct fab_port){.node = ref, .peer = FAB_NONE, .num = (uint8_t)i};
    b->port_count += count;
    b->node_count++;
    b->live_count++;
    *ret_ref = ref;
    return FAB_OK;
}

int fab_fabric_builder_add_node(struct fab_builder *b, const struct fab_node_info *info,
                                uint32_t *ret_ref)
{
    uint32_t ref;
    if (info->node_type < FAB_NODE_CA || info->node_type > FAB_NODE_ROUTER ||
        info->node_guid == 0 || info->num_ports == 0 || info->num_ports > 254)
        return FAB_E_INVAL;
    if (!fab_base_map_get(&b->by_guid, info->node_guid, &ref)) {
        int status = add_node(b, info, &ref);
        if (status != FAB_OK)
            return status;
    }
    struct fab_node *n = &fab_fabric_builder_node_at(b, ref)->node;
    if (n->type != info->node_type || n->num_ports != info->num_ports)
        return FAB_E_EXISTS;
    n->info = *info;
    learn_port_guid(b, ref, info);
    *ret_ref = ref;
    return FAB_OK;
}

int fab_fabric_builder_find_node(const struct fab_builder *b, uint64_t node_guid, uint32_t *ret_ref)
{
    return fab_base_map_get(&b->by_guid, node_guid, ret_ref) ? FAB_OK : FAB_E_NOT_FOUND;
}

int fab_fabric_builder_set_desc(struct fab_builder *b, uint32_t ref, const char *desc, size_t len)
{
    struct builder_node *n = node_at(b, ref);
    if (n == NULL)
        return FAB_E_INVAL;
    len = strnlen(desc, len < FAB_NODE_DESC_LEN ? len : FAB_NODE_DESC_LEN);
    memset(n->node.desc, 0, sizeof n->node.desc);
    memcpy(n->node.desc, desc, len);
    memcpy(n->node.name, n->node.desc, sizeof n->node.name);
    return FAB_OK;
}

int fab_fabric_builder_set_silent(struct fab_builder *b, uint32_t ref, bool silent)
{
    struct builder_node *n = node_at(b, ref);
    if (n == NULL)
        return FAB_E_INVAL;
    n->node.silent = silent;
    return FAB_OK;
}

int fab_fabric_builder_set_switch_info(struct fab_builder *b, uint32_t ref,
                                       const struct fab_switch_info *info)
{
    struct builder_node *n = node_at(b, ref);
    if (n == NULL || n->node.type != FAB_NODE_SWITCH)
        return FAB_E_INVAL;
    n->switch_info = *info;
    return FAB_OK;
}

int fab_fabric_builder_remove_node(struct fab_builder *b, uint32_t ref)
{
    struct builder_node *n = node_at(b, ref);
    if (n == NULL)
        return FAB_E_INVAL;
    for (unsigned num = 1; num <= n->node.num_ports; num++)
        fab_fabric_builder_unlink(b, ref, (uint8_t)num);
    if (b->self != FAB_NONE && fab_fabric_builder_port_at(b, b->self)->node == ref)
        b->self = FAB_NONE;
    fab_base_map_remove(&b->by_guid, n->node.guid);
    n->removed = true;
    b->live_count--;
    return FAB_OK;
}

uint32_t fab_fabric_builder_node_count(const struct fab_builder *b)
{
    return b->live_count;
}

/* ---- ports and links ------------------------------------------------------------------------- */

int fab_fabric_builder_set_port(struct fab_builder *b, uint32_t ref, uint8_t port,
                                uint64_t port_guid, const struct fab_port_info *info)
{
    struct fab_port *p = port_at(b, ref, port);
    if (p == NULL)
        return FAB_E_RANGE;
    if (port_guid != 0)
        p->guid = port_guid;
    p->info = *info;
    p->present = true;
    return FAB_OK;
}

int fab_fabric_builder_forget_port(struct fab_builder *b, uint32_t ref, uint8_t port)
{
    struct fab_port *p = port_at(b, ref, port);
    if (p == NULL)
        return FAB_E_RANGE;
    p->guid = 0;
    p->info = (struct fab_port_info){0};
    p->present = false;
    return FAB_OK;
}

const struct fab_port_info *fab_fabric_builder_get_port_info(const struct fab_builder *b,
                                                             uint32_t ref, uint8_t port)
{
    const struct fab_port *p = port_at(b, ref, port);
    return p != NULL && p->present ? &p->info : NULL;
}

int fab_fabric_builder_link(struct fab_builder *b, uint32_t ref_a, uint8_t port_a, uint32_t ref_b,
                            uint8_t port_b)
{
    struct fab_port *a = port_at(b, ref_a, port_a), *z = port_at(b, ref_b, port_b);
    if (port_a == 0 || port_b == 0)
        return FAB_E_INVAL;
    if (a == NULL || z == NULL)
        return FAB_E_RANGE;
    if (a == z)
        return FAB_E_INVAL;
    uint32_t index_a = index_of(b, a), index_z = index_of(b, z);
    if (a->peer == index_z)
        return FAB_OK;
    if (a->peer != FAB_NONE || z->peer != FAB_NONE)
        return FAB_E_EXISTS;
    a->peer = index_z;
    z->peer = index_a;
    return FAB_OK;
}

int fab_fabric_builder_unlink(struct fab_builder *b, uint32_t ref, uint8_t port)
{
    struct fab_port *p = port_at(b, ref, port);
    if (p == NULL)
        return FAB_E_RANGE;
    if (p->peer != FAB_NONE)
        fab_fabric_builder_port_at(b, p->peer)->peer = FAB_NONE;
    p->peer = FAB_NONE;
    return FAB_OK;
}

int fab_fabric_builder_peer(const struct fab_builder *b, uint32_t ref, uint8_t port,
                            uint32_t *ret_ref, uint8_t *ret_port)
{
    const struct fab_port *p = port_at(b, ref, port);
    if (p == NULL || p->peer == FAB_NONE)
        return FAB_E_NOT_FOUND;
    const struct fab_port *far = fab_fabric_builder_port_at(b, p->peer);
    *ret_ref = far->node;
    *ret_port = far->num;
    return FAB_OK;
}

void fab_fabric_builder_set_self(struct fab_builder *b, uint32_t ref, uint8_t port)
{
    const struct fab_port *p = port_at(b, ref, port);
    b->self = p != NULL ? index_of(b, p) : FAB_NONE;
}
