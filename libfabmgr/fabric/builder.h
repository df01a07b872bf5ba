/* SPDX-License-Identifier: BSD-3-Clause */
/* The data structures of the builder of fabrics. For this folder only. */
#ifndef LIBFABMGR_FABRIC_BUILDER_H
#define LIBFABMGR_FABRIC_BUILDER_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"

/* A node of the builder. node.first_port is an index in builder->ports. */
struct builder_node {
    struct fab_node node;
    struct fab_switch_info switch_info;
    bool removed;
};

/* A reference to a node is its index in nodes[]. In a port of the builder, the member `node` is a
 * reference, and `peer` an index of ports[]. */
struct fab_builder {
    struct builder_node *nodes;
    struct fab_port *ports;
    size_t node_room, port_room;
    /* numbers of nodes and ports, including removed nodes and their ports */
    uint32_t node_count, port_count;
    uint32_t live_count; /* number of nodes that were not removed */
    /* index in ports[] of the manager's port; FAB_NONE: not known */
    uint32_t self;
    struct fab_map by_guid; /* node GUID -> reference */
};

/* The GUID index of a snapshot. It has only ports, because nodes are sorted by GUID. */
struct fab_fabric_index {
    struct fab_map ports; /* port GUID -> port id */
};

/* Allocates the arrays of f, whose counts are set; the ports are contiguous. After NOMEM some
 * arrays may be allocated; the caller frees them by fab_fabric_free. */
int fab_fabric_alloc(struct fab_fabric *f);
/* Copies all ports of a snapshot to an array. */
void fab_fabric_copy_ports(const struct fab_fabric *f, struct fab_port *to);
/* Frees a snapshot regardless of its number of references. f may be NULL. */
void fab_fabric_free(struct fab_fabric *f);

#endif
