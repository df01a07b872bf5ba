/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric: the nodes, ports and links that were observed, in a sealed snapshot. They have ids,
 * which are consecutive numbers from 0.
 *
 * A snapshot does not change after sealing. Any thread may read it. A snapshot is freed when its
 * last reference is dropped. For a small change, fab_fabric_next makes a new snapshot, called the
 * next version. The next version has the same ids. It shares all nodes and all unchanged pages of
 * ports with the former snapshot.
 *
 * Ids do not depend on the order of discovery: switches come first, sorted by node GUID, then
 * adapters and routers, sorted by node GUID. So a node is a switch if and only if its id is below
 * switch_count, and tables of switches are indexed by node id.
 *
 * The ports of node n have the ids n.first_port + 0 to n.first_port + num_ports. Port ids ascend
 * with the node ids, so all ports of switches come first. Port 0 is the management port of a
 * switch. It is unused (present == false) for other nodes.
 */
#ifndef LIBFABMGR_FABRIC_FABRIC_H
#define LIBFABMGR_FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/base/pages.h"
#include "libfabmgr/wire/wire.h"

#define FAB_NONE UINT32_MAX /* no id */
#define FAB_PORT_PAGE 64u   /* number of ports in a page; private */

struct fab_port {
    /* Id of the node that the port belongs to. */
    uint32_t node;
    /* Id of the port at the other end of the link, or FAB_NONE. */
    uint32_t peer;
    uint8_t num; /* port number at the node */
    /* true: PortInfo was read; false: it was not read, for example because the port is port 0 of an
     * adapter or router, or unresponsive */
    bool present;
    /* adapters and routers: PortGUID; switches: at port 0 the node's port GUID, at other ports 0 */
    uint64_t guid;
    /* PortInfo as it was last read from the device. Sealing sets its member local_port to `num`. */
    struct fab_port_info info;
};

struct fab_node {
    uint32_t first_port; /* id of the node's port 0 */
    uint8_t num_ports;   /* external ports, 1..254 */
    uint8_t type;        /* enum fab_node_type */
    /* the node aggregates data in the network, as with SHARP (classify.h) */
    bool aggregation;
    /* The node is a switch whose agent does not answer, although neighbours report links to the
     * switch as up. The manager assumes that PortInfo, SwitchInfo and tables of the switch are as
     * they were last read; nobody can write them. */
    bool silent;
    uint64_t guid;
    /* After sealing, local_port is the first port with a known GUID (port 0 of a switch), and
     * port_guid is the GUID of this port. */
    struct fab_node_info info;
    /* NodeDescription as read, NUL-terminated; it may contain any bytes. Policies use it, and
     * subnet administration answers with it. */
    char desc[FAB_NODE_DESC_LEN + 1];
    /* the name that people read: the NodeDescription, unless the operator gave another name */
    char name[FAB_NODE_DESC_LEN + 1];
};

struct fab_fabric {
    uint32_t node_count, switch_count, port_count;
    uint32_t link_count;    /* number of links */
    uint32_t self_port;     /* the manager's own port, or FAB_NONE */
    struct fab_node *nodes; /* [node_count] */
    struct fab_pages ports; /* private: the ports, which fab_fabric_port finds by id */
    /* [switch_count] SwitchInfo as last read from the device. */
    struct fab_switch_info *switches;
    struct fab_fabric_index *index; /* private: finds port ids by port GUID */
    /* private: number of snapshots that share `nodes` and `index` (fab_fabric_next makes them);
     * NULL: no other snapshot shares them */
    int *owners;
    int refs; /* private, atomic */
};

/* ---- building ------------------------------------------------------------------------------ */

struct fab_builder;

struct fab_builder *fab_fabric_builder_new(void); /* returns NULL if memory ran out */
/* Makes a builder with the content of a snapshot. The snapshot's node ids become references in the
 * builder. Returns NULL if there is no memory. */
struct fab_builder *fab_fabric_builder_from(const struct fab_fabric *fabric);
void fab_fabric_builder_free(struct fab_builder *b);

/*
 * Adds a node, or updates the node with the same GUID. *ret_ref receives its reference, which is
 * valid until the node is removed or the builder is freed. INVAL: an unknown type, a zero GUID, or
 * 0 or 255 ports. EXISTS: a node has that GUID, but another type or number of ports; so two devices
 * have the same GUID. LIMIT: the builder would have 2^32 ports. Also returns NOMEM.
 *
 * If a reference is not valid, the functions below return INVAL; those with a port argument return
 * RANGE instead.
 */
int fab_fabric_builder_add_node(struct fab_builder *b, const struct fab_node_info *info,
                                uint32_t *ret_ref);
/* Finds the reference of the node with that GUID. Returns OK or NOT_FOUND. */
int fab_fabric_builder_find_node(const struct fab_builder *b, uint64_t node_guid,
                                 uint32_t *ret_ref);
int fab_fabric_builder_set_desc(struct fab_builder *b, uint32_t ref, const char *desc, size_t len);
int fab_fabric_builder_set_switch_info(struct fab_builder *b, uint32_t ref,
                                       const struct fab_switch_info *info);
/* Sets the member `silent` of the node. */
int fab_fabric_builder_set_silent(struct fab_builder *b, uint32_t ref, bool silent);
/* Sets the PortInfo of a port, and its GUID if port_guid is not 0. RANGE: no such port. */
int fab_fabric_builder_set_port(struct fab_builder *b, uint32_t ref, uint8_t port,
                                uint64_t port_guid, const struct fab_port_info *info);
/* Marks a port as not present, and forgets its GUID; its link stays. RANGE: no such port. */
int fab_fabric_builder_forget_port(struct fab_builder *b, uint32_t ref, uint8_t port);
/* Returns the PortInfo of a port, or NULL if the port is not present. The pointer is valid until a
 * node is added. */
const struct fab_port_info *fab_fabric_builder_get_port_info(const struct fab_builder *b,
                                                             uint32_t ref, uint8_t port);
/* Adds a link between two ports. Returns OK even if exactly this link exists already. EXISTS: one
 * of the ports has another link. INVAL: one port is port 0, or both are the same port. RANGE: no
 * such port. */
int fab_fabric_builder_link(struct fab_builder *b, uint32_t ref_a, uint8_t port_a, uint32_t ref_b,
                            uint8_t port_b);
/* Removes the link of a port, if it has one. RANGE: no such port. */
int fab_fabric_builder_unlink(struct fab_builder *b, uint32_t ref, uint8_t port);
/* Finds the port at the other end of the link of a port. NOT_FOUND: there is no such port, or the
 * port has no link. */
int fab_fabric_builder_peer(const struct fab_builder *b, uint32_t ref, uint8_t port,
                            uint32_t *ret_ref, uint8_t *ret_port);
/* Removes the node and its links. Returns OK or INVAL. */
int fab_fabric_builder_remove_node(struct fab_builder *b, uint32_t ref);
void fab_fabric_builder_set_self(struct fab_builder *b, uint32_t ref, uint8_t port);
uint32_t fab_fabric_builder_node_count(const struct fab_builder *b);

/* Makes a snapshot (refs == 1) from the builder, which does not change. Returns OK or NOMEM. */
int fab_fabric_builder_seal(const struct fab_builder *b, struct fab_fabric **ret_fabric);

/* ---- using ---------------------------------------------------------------------------------- */

struct fab_fabric *fab_fabric_ref(const struct fab_fabric *f);
void fab_fabric_unref(struct fab_fabric *f); /* f may be NULL */

/* Makes the next version of a snapshot: a new snapshot with the same ids and one reference. Until
 * the new snapshot is given to readers, the caller may change the attributes of its ports and
 * switches. Only one thread at a time may make and change versions. Returns OK or NOMEM. */
int fab_fabric_next(struct fab_fabric *f, struct fab_fabric **ret_next);
/* Makes a copy of the snapshot with one reference. The copy shares no memory with f, so the caller
 * may also change its nodes. Returns OK or NOMEM. */
int fab_fabric_clone(const struct fab_fabric *f, struct fab_fabric **ret_clone);

/* Sets the member `name` of a node, which people read; NULL: its name is the NodeDescription. Cuts
 * a name after FAB_NODE_DESC_LEN bytes. f must be new from fab_fabric_builder_seal or
 * fab_fabric_clone, because readers assume that it does not change. */
void fab_fabric_set_name(struct fab_fabric *f, uint32_t node, const char *name);

/* Removes the link of `port`, if it has one. f must be new from fab_fabric_next or
 * fab_fabric_clone, because readers assume that it does not change. Nodes that become unreachable
 * stay in f and keep their ids. Returns OK or NOMEM. */
int fab_fabric_remove_link(struct fab_fabric *f, uint32_t port);
/* Connects two ports that have no link, and sets their PortInfo. f must be new from fab_fabric_next
 * or fab_fabric_clone. Returns OK or NOMEM. */
int fab_fabric_add_link(struct fab_fabric *f, const uint32_t port[2],
                        const struct fab_port_info info[2]);
/* Returns true if f has several references. */
bool fab_fabric_is_shared(const struct fab_fabric *f);

/* Makes a snapshot of the nodes that can be reached over links from the manager's node. If
 * self_port is FAB_NONE, no node is left out. If no node is left out, *ret_reachable is another
 * reference to f. *ret_dropped: number of nodes left out. Returns OK or NOMEM. */
int fab_fabric_reachable(const struct fab_fabric *f, struct fab_fabric **ret_reachable,
                         uint32_t *ret_dropped);

struct fab_census {
    /* numbers of nodes; `hosts` counts adapters that are not aggregation nodes */
    uint32_t hosts, aggregation_nodes, routers;
    /* number of adapter and router ports that are up */
    uint32_t endports;
    /* number of links with both ports in state Active */
    uint32_t active_links;
    /* number of links that run below the best width or speed that both ports have enabled
     * (condition.h) */
    uint32_t degraded_links;
};
/* Counts the nodes, endports and links. Takes time proportional to the size of the fabric. */
void fab_fabric_count(const struct fab_fabric *f, struct fab_census *ret);

/* fab_fabric_node_by_guid returns the id of the node with this node GUID, fab_fabric_port_by_guid
 * the id of the port with this port GUID. FAB_NONE: there is none. */
uint32_t fab_fabric_node_by_guid(const struct fab_fabric *f, uint64_t guid);
uint32_t fab_fabric_port_by_guid(const struct fab_fabric *f, uint64_t guid);

static inline const struct fab_port *fab_fabric_port(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *page =
        (const struct fab_port *)(const void *)f->ports.page[port / FAB_PORT_PAGE];
    return &page[port % FAB_PORT_PAGE];
}
/* Returns a port of f, so that the caller can change it; NULL: there is no memory. f must be new
 * from fab_fabric_next or fab_fabric_clone. */
struct fab_port *fab_fabric_edit_port(struct fab_fabric *f, uint32_t port);
/* Changes the PortInfo of a port. f must be new from fab_fabric_next or fab_fabric_clone. Returns
 * OK or NOMEM. */
int fab_fabric_set_port_info(struct fab_fabric *f, uint32_t port, const struct fab_port_info *info);
static inline bool fab_fabric_node_is_switch(const struct fab_fabric *f, uint32_t node)
{
    return node < f->switch_count;
}
static inline uint32_t fab_fabric_port_id(const struct fab_fabric *f, uint32_t node, uint8_t num)
{
    return f->nodes[node].first_port + num;
}
/* Returns true if the port is a port of a switch. Does not read the port, which would mostly be a
 * cache miss. */
static inline bool fab_fabric_port_is_of_switch(const struct fab_fabric *f, uint32_t port)
{
    return port < f->port_count &&
           (f->switch_count == f->node_count || port < f->nodes[f->switch_count].first_port);
}
/* Returns the node at the other end of the link of `port`, or FAB_NONE. */
static inline uint32_t fab_fabric_peer_node(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_fabric_port(f, port)->peer;
    return peer == FAB_NONE ? FAB_NONE : fab_fabric_port(f, peer)->node;
}
/* Returns true if the port can have a LID: port 0 of switches, and present ports of adapters and
 * routers. */
bool fab_fabric_port_has_lid(const struct fab_fabric *f, uint32_t port);
/* Returns true if the port has a link, and the physical state of both its ports is LinkUp. */
bool fab_fabric_port_is_up(const struct fab_fabric *f, uint32_t port);
/* Returns true if the port's link is an ISL, a link between two switches. */
bool fab_fabric_port_is_isl(const struct fab_fabric *f, uint32_t port);
/* Returns true if the port's link is an ISL whose ports are both LinkUp. */
bool fab_fabric_isl_is_up(const struct fab_fabric *f, uint32_t port);

/* ---- differences between two snapshots ------------------------------------------------------ */

enum fab_change_kind {
    FAB_CHANGE_NODE_ADDED,
    FAB_CHANGE_NODE_REMOVED,
    FAB_CHANGE_NODE_RENAMED,
    FAB_CHANGE_LINK_ADDED,
    FAB_CHANGE_LINK_REMOVED,
    FAB_CHANGE_PORT_STATE, /* the state, the width or the speed of the port changed */
};
struct fab_change {
    enum fab_change_kind kind;
    /* GUIDs of the changed node, or of the nodes at both ends of the changed link; guid_b is used
     * only for links. */
    uint64_t guid_a, guid_b;
    uint8_t port_a, port_b;
};
/* Returns true if both snapshots have the same nodes with the same ids. Their ports then have the
 * same ids, too. */
bool fab_fabric_same_ids(const struct fab_fabric *a, const struct fab_fabric *b);
/* Returns true if `node` has the same links in both snapshots, and its ports have the same physical
 * states in both. The snapshots must have the same ids (fab_fabric_same_ids). */
bool fab_fabric_same_links(const struct fab_fabric *a, const struct fab_fabric *b, uint32_t node);

/* Computes the changes from the snapshot `old` to the snapshot `now`. *ret_changes receives an
 * array, sorted by kind, then by GUIDs; the caller frees it. Returns OK or NOMEM. */
int fab_fabric_diff(const struct fab_fabric *old, const struct fab_fabric *now,
                    struct fab_change **ret_changes, size_t *ret_count);

#endif
