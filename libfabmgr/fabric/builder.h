/* SPDX-License-Identifier: BSD-3-Clause */
/* The data structures of the builder of fabrics. For this folder only. */
#ifndef LIBFABMGR_FABRIC_BUILDER_H
#define LIBFABMGR_FABRIC_BUILDER_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"

/* The builder allocates memory in chunks: number of nodes in a chunk, and number of ports in a
 * chunk. */
#define FAB_BUILDER_NODES 1024u
#define FAB_BUILDER_PORTS 4096u

/* A node of the builder. In `node`, first_port is the index of the node's port 0 in the builder
 * (fab_fabric_builder_port_at). */
struct builder_node {
    struct fab_node node;
    struct fab_switch_info switch_info;
    bool removed;
};

/* The index of a node in the builder is its reference. In the struct fab_port of a builder, `node`
 * is a reference, and `peer` is the index of a port. Nodes and ports are stored in chunks. If all
 * ports of a large fabric were in one array, each growth of the array would delay the event loop of
 * the daemon by milliseconds. */
struct fab_builder {
    struct builder_node **nodes; /* [node_chunks] chunks of FAB_BUILDER_NODES nodes */
    struct fab_port **ports;     /* [port_chunks] chunks of FAB_BUILDER_PORTS ports */
    size_t node_chunks, port_chunks, node_room, port_room;
    /* Numbers of nodes and ports so far, including removed nodes and their ports. */
    uint32_t node_count, port_count;
    uint32_t live_count; /* number of nodes that were not removed */
    /* index of the manager's port; FAB_NONE: not known */
    uint32_t self;
    struct fab_map by_guid; /* node GUID -> reference */
};

static inline struct builder_node *fab_fabric_builder_node_at(const struct fab_builder *b,
                                                              uint32_t ref)
{
    return &b->nodes[ref / FAB_BUILDER_NODES][ref % FAB_BUILDER_NODES];
}
static inline struct fab_port *fab_fabric_builder_port_at(const struct fab_builder *b, uint32_t i)
{
    return &b->ports[i / FAB_BUILDER_PORTS][i % FAB_BUILDER_PORTS];
}

/* Finds the ports of a snapshot by GUID. Nodes need no such index, because they are sorted by
 * GUID. */
struct fab_fabric_index {
    struct fab_map ports; /* port GUID -> port id */
};

/* Allocates the arrays of f. The caller has set node_count, switch_count and port_count. The memory
 * of all ports is contiguous. Returns OK or NOMEM. After NOMEM some arrays may be allocated; the
 * caller frees them with fab_fabric_free. */
int fab_fabric_alloc(struct fab_fabric *f);
/* Copies all ports of a snapshot to an array. */
void fab_fabric_copy_ports(const struct fab_fabric *f, struct fab_port *to);
/* Frees a snapshot regardless of its number of references. f may be NULL. */
void fab_fabric_free(struct fab_fabric *f);

#endif
