/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric: what is. Nodes, ports and links with dense ids, in a sealed snapshot.
 *
 * A snapshot is a value: once sealed nobody writes to it, any thread may read it, and it is freed
 * when the last reference goes. Ids are dense and do not depend on the order of discovery:
 * switches come first, sorted by node GUID, then adapters and routers, sorted by node GUID; so
 * node id < switch_count holds exactly for switches, and switch tables are indexed by node id.
 * The ports of node n stand at ports[n.first_port + 0 .. n.first_port + num_ports]; index 0 is the
 * management port of a switch and is unused (present == false) for other nodes.
 */
#ifndef LIBFABMGR_FABRIC_FABRIC_H
#define LIBFABMGR_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/wire/wire.h"

#define FAB_NONE UINT32_MAX /* "no such id" */

struct fab_port {
    uint32_t node; /* id of the node it belongs to */
    uint32_t peer; /* id of the port at the other end of the cable, or FAB_NONE */
    uint8_t num;   /* port number at the node */
    bool present;  /* PortInfo was read (false for index 0 of adapters, and for silent ports) */
    uint64_t guid; /* adapters: PortGUID; switches: the node's port GUID on port 0, else 0 */
    struct fab_port_info info; /* as last read from the device; local_port is num when sealed */
};

struct fab_node {
    uint32_t first_port; /* index of its port 0 in fabric->ports */
    uint8_t num_ports;   /* external ports, 1..254 */
    uint8_t type;        /* enum fab_node_type */
    bool aggregation;    /* adapter that is an in-network aggregation node (SHARP and alike), see
                            fab_fabric_seal */
    uint64_t guid;
    struct fab_node_info info;        /* when sealed, local_port is the first port with a known GUID
                                         (switches: 0) and port_guid its GUID, whoever was asked */
    char desc[FAB_NODE_DESC_LEN + 1]; /* NUL-terminated; bytes of the wire, may be any text */
};

struct fab_fabric {
    uint32_t node_count, switch_count, port_count;
    uint32_t link_count;              /* cables, each counted once */
    uint32_t self_port;               /* the port our manager sits on, or FAB_NONE */
    struct fab_node *nodes;           /* [node_count] */
    struct fab_port *ports;           /* [port_count] */
    struct fab_switch_info *switches; /* [switch_count] as last read */
    struct fab_fabric_index *index;   /* GUID -> id, private */
    int refs;                         /* private, atomic */
};

/* ---- building ------------------------------------------------------------------------------ */

struct fab_builder;

struct fab_builder *fab_fabric_builder_new(void); /* NULL: no memory */
/* To add, change, remove; the references are the ids of the snapshot's nodes. */
struct fab_builder *fab_fabric_builder_from(const struct fab_fabric *fabric);
void fab_fabric_builder_free(struct fab_builder *b);

/* Adds a node, or updates the one of the same node GUID. Errors: NOMEM, LIMIT (2^32 ports), INVAL
 * (type, zero GUID, 0 or 255 ports), EXISTS (same GUID, other type or number of ports: a duplicate
 * GUID). ret_ref: a handle, valid as long as the builder and the node. Elsewhere a reference to no
 * node is INVAL (RANGE where a port is named too). */
int fab_fabric_builder_add_node(struct fab_builder *b, const struct fab_node_info *info,
                                uint32_t *ret_ref);
int fab_fabric_builder_find_node(const struct fab_builder *b, uint64_t node_guid,
                                 uint32_t *ret_ref);
int fab_fabric_builder_set_desc(struct fab_builder *b, uint32_t ref, const char *desc, size_t len);
int fab_fabric_builder_set_switch_info(struct fab_builder *b, uint32_t ref,
                                       const struct fab_switch_info *info);
/* port_guid may be 0 where it is not known (external ports of switches). RANGE: no such port. */
int fab_fabric_builder_set_port(struct fab_builder *b, uint32_t ref, uint8_t port,
                                uint64_t port_guid, const struct fab_port_info *info);
/* The port is not seen any more: not present, GUID unknown; its cable is not touched. */
int fab_fabric_builder_forget_port(struct fab_builder *b, uint32_t ref, uint8_t port);
const struct fab_port_info *
fab_fabric_builder_get_port_info(const struct fab_builder *b, uint32_t ref,
                                 uint8_t port); /* NULL: not read; valid until
                                                   a node is added */
/* A cable between two ports; again the same one is fine. EXISTS: one of them has another cable
 * already. INVAL: port 0, or a port with itself. RANGE: no such port. */
int fab_fabric_builder_link(struct fab_builder *b, uint32_t ref_a, uint8_t port_a, uint32_t ref_b,
                            uint8_t port_b);
int fab_fabric_builder_unlink(struct fab_builder *b, uint32_t ref,
                              uint8_t port); /* no cable: fine */
int fab_fabric_builder_peer(const struct fab_builder *b, uint32_t ref, uint8_t port,
                            uint32_t *ret_ref, uint8_t *ret_port); /* NOT_FOUND: no cable */
int fab_fabric_builder_remove_node(struct fab_builder *b,
                                   uint32_t ref); /* the node and its cables */
void fab_fabric_builder_set_self(struct fab_builder *b, uint32_t ref, uint8_t port);
uint32_t fab_fabric_builder_node_count(const struct fab_builder *b);

/* Makes the snapshot (refs == 1); the builder stays as it was. Marks aggregation nodes (by
 * device id and by description; libfabmgr/fabric/classify.c gives the rules and their sources). */
int fab_fabric_builder_seal(const struct fab_builder *b, struct fab_fabric **ret_fabric);

/* ---- using ---------------------------------------------------------------------------------- */

struct fab_fabric *fab_fabric_ref(const struct fab_fabric *f);
void fab_fabric_unref(struct fab_fabric *f); /* NULL is fine */

/* A writable copy with the same ids, for changes of port and switch attributes only. The caller
 * owns it and gives it to readers when done: it counts as sealed from then on. */
int fab_fabric_clone(const struct fab_fabric *f, struct fab_fabric **ret_clone);

/* Of a writable copy: the cable at `port` is dead, at both ends; nothing when there is none. The
 * ids stay, what nobody can reach any more included. */
void fab_fabric_remove_link(struct fab_fabric *f, uint32_t port);
bool fab_fabric_is_shared(const struct fab_fabric *f); /* others hold references, too */

/* What can be reached over cables from the node of self_port (all of it when self_port is
 * FAB_NONE): f itself with one reference more where that is everything, else a smaller snapshot.
 * *ret_dropped counts the nodes left out (another island). */
int fab_fabric_reachable(const struct fab_fabric *f, struct fab_fabric **ret_island,
                         uint32_t *ret_dropped);

struct fab_census {
    uint32_t hosts, aggregation_nodes, routers; /* nodes */
    uint32_t ends;                              /* ports of adapters and routers that are up */
    uint32_t active_links;                      /* cables of which both ends are Active */
};
void fab_fabric_count(const struct fab_fabric *f, struct fab_census *ret); /* looks at all of it */

uint32_t fab_fabric_node_by_guid(const struct fab_fabric *f, uint64_t guid); /* or FAB_NONE */
uint32_t fab_fabric_port_by_guid(const struct fab_fabric *f, uint64_t guid); /* or FAB_NONE */

static inline bool fab_fabric_node_is_switch(const struct fab_fabric *f, uint32_t node)
{
    return node < f->switch_count;
}
static inline uint32_t fab_fabric_port_id(const struct fab_fabric *f, uint32_t node, uint8_t num)
{
    return f->nodes[node].first_port + num;
}
/* The node at the other end of the cable of `port`, or FAB_NONE. */
static inline uint32_t fab_fabric_peer_node(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = f->ports[port].peer;
    return peer == FAB_NONE ? FAB_NONE : f->ports[peer].node;
}
/* Ports that own a LID: port 0 of switches and the present ports of adapters and routers. */
bool fab_fabric_port_has_lid(const struct fab_fabric *f, uint32_t port);
/* True when the cable can carry traffic: both ends known, physical state LinkUp. */
bool fab_fabric_port_is_up(const struct fab_fabric *f, uint32_t port);
/* The cable of the port joins two switches. */
bool fab_fabric_port_is_isl(const struct fab_fabric *f, uint32_t port);
bool fab_fabric_isl_is_up(const struct fab_fabric *f, uint32_t port); /* and it can carry traffic */

/* ---- difference of two snapshots, by GUID --------------------------------------------------- */

enum fab_change_kind {
    FAB_CHANGE_NODE_ADDED,
    FAB_CHANGE_NODE_REMOVED,
    FAB_CHANGE_NODE_RENAMED,
    FAB_CHANGE_LINK_ADDED,
    FAB_CHANGE_LINK_REMOVED,
    FAB_CHANGE_PORT_STATE, /* state, width or speed */
};
struct fab_change {
    enum fab_change_kind kind;
    uint64_t guid_a, guid_b; /* node GUIDs; b only for links */
    uint8_t port_a, port_b;
};
/* ret_changes: malloc'd array in a fixed order (kind, then GUIDs); the caller frees it. */
int fab_fabric_diff(const struct fab_fabric *old, const struct fab_fabric *now,
                    struct fab_change **ret_changes, size_t *ret_count);

#endif
