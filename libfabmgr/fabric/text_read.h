/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the reader of topology files. text_read.c and text_cable.c fill it line by line,
 * then text_join.c adds the links. For these three files only.
 */
#ifndef LIBFABMGR_FABRIC_TEXT_READ_H
#define LIBFABMGR_FABRIC_TEXT_READ_H

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/text_scan.h"

/* A node and its id in the text, for example "S-0008f10500200b50". */
struct text_node {
    struct span id;
    uint32_t ref, line;
};
/* A port line: the port at one end of a cable, and the fields of the line about the other end. */
struct text_cable {
    struct span peer;
    uint64_t guid, peer_guid; /* port GUIDs of both ends, or 0 */
    uint32_t ref, line, column;
    uint8_t port, peer_port;
    bool rated; /* the line gives the rate */
};

struct text_reader {
    struct text_scan scan;
    struct fab_builder *b;

    /* values of lines before the next block */
    uint64_t vendor_id, device_id, system_guid, port_guid;
    uint64_t guid[FAB_NODE_ROUTER + 1];      /* [type] GUID of the next node of that type */
    uint32_t guid_line[FAB_NODE_ROUTER + 1]; /* [type] line of a GUID that no block has used yet,
                                                or 0 */
    struct fab_port_info rate;               /* width and speed of ports whose line has no rate */

    /* the current block */
    bool in_block;
    uint32_t ref;
    uint8_t num_ports;

    /* the results */
    struct text_node *nodes;
    struct text_cable *cables;
    size_t node_count, node_room, cable_count, cable_room;
    struct fab_map ids;                 /* hash of a node's id in the text -> index of nodes */
    uint64_t self_guid, self_port_guid; /* GUIDs of the line "Initiated from", or 0 */
};

/* Finds the node with that id. False: there is none; *ret_key is the key for adding it to ids. */
bool fab_fabric_text_find_node(const struct text_reader *r, struct span id, uint64_t *ret_key,
                               const struct text_node **ret);

/* Reads the current line, which is a port line. Returns FORMAT or NOMEM. */
int fab_fabric_text_read_port(struct text_reader *r);

/* Adds the links. FORMAT: the line for one end of a cable is missing, or the lines for both ends
 * disagree. Also returns NOMEM. */
int fab_fabric_text_join(struct text_reader *r);

#endif
