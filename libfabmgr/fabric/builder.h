/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the builder: for this room's files only. */
#ifndef LIBFABMGR_FABRIC_BUILDER_H
#define LIBFABMGR_FABRIC_BUILDER_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"

/* A node of the builder: its first_port is an index of builder->ports. */
struct builder_node {
    struct fab_node node;
    struct fab_switch_info switch_info;
    bool removed;
};

/* A reference is an index of nodes. Ports are struct fab_port as they will be sealed, but their
 * node is a reference and their peer an index of builder->ports. */
struct fab_builder {
    struct builder_node *nodes;
    struct fab_port *ports;
    size_t node_room, port_room;
    uint32_t node_count, port_count; /* removed ones included */
    uint32_t live_count;             /* nodes that are not removed */
    uint32_t self;                   /* index of ports, or FAB_NONE */
    struct fab_map by_guid;          /* node GUID -> reference */
};

/* The fabric's GUID index. Nodes need none: they are sorted. */
struct fab_fabric_index {
    struct fab_map ports; /* port GUID -> port id */
};

int fab_fabric_alloc(struct fab_fabric *f); /* the arrays, by the counts; NOMEM: some may stand */
void fab_fabric_free(struct fab_fabric *f); /* whatever the count of references; NULL is fine */

#endif
