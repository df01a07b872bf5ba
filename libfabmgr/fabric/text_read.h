/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the reader of topology files. text_read.c and text_cable.c fill it line by line,
 * then text_join.c adds the links. Only these three files use it. */
#ifndef LIBFABMGR_FABRIC_TEXT_READ_H
#define LIBFABMGR_FABRIC_TEXT_READ_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/text_scan.h"

/* A node and its id in the text, for example "S-0008f10500200b50". */
struct text_node {
    struct span id;
    uint32_t ref, line;
};
/* A port line: the port at one end of a link, and what the line says about the port at the other
 * end. */
struct text_cable {
    struct span peer;
    /* port GUIDs of this end and of the other end; 0: the line does not give the GUID */
    uint64_t guid, peer_guid;
    uint32_t ref, line, column;
    uint8_t port, peer_port;
    /* The line of this port contains a rate. */
    bool rated;
};

struct text_reader {
    struct text_scan scan;
    struct fab_builder *b;

    /* values that the file has given for the next block (a node and its port lines) */
    uint64_t vendor_id, device_id, system_guid, port_guid;
    /* [type] the GUID that the next node of this type gets. A GUID line sets it. Without a GUID
     * line, it is the GUID after the GUIDs of the last node of this type. */
    uint64_t guid[FAB_NODE_ROUTER + 1];
    /* [type] number of the line with a GUID that no block has used yet; 0: none */
    uint32_t guid_line[FAB_NODE_ROUTER + 1];
    /* Width and speed of ports whose line has no rate. */
    struct fab_port_info rate;

    /* The current block: a node and its port lines. */
    bool in_block;
    uint32_t ref;
    uint8_t num_ports;

    /* The nodes and port lines read so far. */
    struct text_node *nodes;
    struct text_cable *cables;
    size_t node_count, node_room, cable_count, cable_room;
    /* Maps the hash of a node's id in the text to its index in nodes[]. */
    struct fab_map ids;
    /* GUIDs from the comment "Initiated from"; 0: the file has no such comment. */
    uint64_t self_guid, self_port_guid;
};

/* Finds the node with this id in the text. Returns false if there is no such node. *ret_key: the
 * key under which the caller can add the node to r->ids. */
bool fab_fabric_text_find_node(const struct text_reader *r, struct span id, uint64_t *ret_key,
                               const struct text_node **ret);

/* Reads the current line, which is a port line. Returns OK, FORMAT or NOMEM. */
int fab_fabric_text_read_port(struct text_reader *r);

/* Adds the links. FORMAT: the line for one end of a link is missing, or the lines for both ends
 * disagree. Also returns NOMEM. */
int fab_fabric_text_join(struct text_reader *r);

#endif
