/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of reading a topology text: text_read.c and text_cable.c fill it line by line,
 * fab_fabric_text_join.c then joins the cables. For these three only. */
#ifndef LIBFABMGR_FABRIC_TEXT_READ_H
#define LIBFABMGR_FABRIC_TEXT_READ_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/text_scan.h"

/* A node by the name that the text gives it, e.g. "S-0008f10500200b50". */
struct text_node {
    struct span id;
    uint32_t ref, line;
};
/* One port line: what one end says of a cable. */
struct text_cable {
    struct span peer;
    uint64_t guid, peer_guid; /* port GUIDs of both ends, or 0 */
    uint32_t ref, line, column;
    uint8_t port, peer_port;
    bool rated; /* it says how fast the link is */
};

struct text_reader {
    struct text_scan scan;
    struct fab_builder *b;

    /* what the next block takes up */
    uint64_t vendor_id, device_id, system_guid, port_guid;
    uint64_t guid[FAB_NODE_ROUTER + 1];      /* by type: of the next node */
    uint32_t guid_line[FAB_NODE_ROUTER + 1]; /* of a GUID that no block has taken yet, or 0 */
    struct fab_port_info rate;               /* of ports that say nothing */

    /* the block at hand */
    bool in_block;
    uint32_t ref;
    uint8_t num_ports;

    /* what was read */
    struct text_node *nodes;
    struct text_cable *cables;
    size_t node_count, node_room, cable_count, cable_room;
    struct fab_map ids;                 /* hash of an id -> index of nodes */
    uint64_t self_guid, self_port_guid; /* "Initiated from", or 0 */
};

/* The node of that id. False: none; *ret_key is free for it in ids. */
bool fab_fabric_text_find_node(const struct text_reader *r, struct span id, uint64_t *ret_key,
                               const struct text_node **ret);

/* Reads the current line, which is a port line. */
int fab_fabric_text_read_port(struct text_reader *r);

/* Joins the cables: both ends must be there and agree. */
int fab_fabric_text_join(struct text_reader *r);

#endif
