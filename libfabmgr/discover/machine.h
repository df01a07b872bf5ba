/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a discovery, for the files of this folder only. */
#ifndef LIBFABMGR_DISCOVER_MACHINE_H
#define LIBFABMGR_DISCOVER_MACHINE_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/discover/discover.h"

/* If a suspect has this port number, all ports of the node are suspects. */
#define ALL_PORTS 0xff
#define NO_REF UINT32_MAX
/* Maximum number of nodes. With more nodes, a node reference would not fit into a value of
 * fab_discover.port_guids. */
#define FAB_DISCOVER_NODES_MOST (1u << 23)

/* What discovery knows about a node, in addition to what the snapshot builder stores. The array
 * fab_discover.known is indexed by the builder's reference of the node. */
struct known_node {
    /* Directed route to the node; path.hops is FAB_PATH_UNKNOWN if there is no route. */
    struct fab_path path;
    uint32_t ref;
    uint8_t type, num_ports;
    /* Port of the node near_guid by which this node was first reached. */
    uint8_t near_port;
    uint8_t failures; /* number of queries that timed out */
    /* number of links to this node that neighbours have reported as down */
    uint8_t lost_links;
    /* The caller has reported the switch as probably failed. */
    bool reported_failed;
    bool answered; /* at least one query was answered */
    /* This discovery has accepted a NodeInfo with the GUID of the node (contest.c). */
    bool identified;
    /* This discovery has queued the walk of the node, because the node is new or must be read
     * again. So the data of the node come from this discovery, not from the base snapshot. */
    bool walked;
    /* find_paths has put this switch aside, because the switch is silent or has probably failed.
     * find_paths continues behind such switches only after it has visited all others. */
    bool passed;
    /* The switch is silent (silent.h), so it is not queried. */
    bool silent;
    /* The node was not reached, and was copied from the last snapshot (keep.c). */
    bool kept;
    /* Bitset of enum query_kind: queries of these kinds to this node have failed. For each of these
     * kinds, fab_discover.unresponsive[] has one entry. */
    uint8_t reported;
    /* Position in the node's walk: number of the next step (walk_step). */
    uint16_t cursor;
    uint64_t guid, near_guid;
    /* Bitset of port numbers: PortInfo of these ports was queried. */
    uint64_t asked[4];
    /* Bitset of port numbers: this discovery itself has seen the links of these ports. These links
     * are called fresh. The other links are known only from the base snapshot. */
    uint64_t fresh[4];
    /* Bitset of port numbers: NodeInfo of the nodes behind these ports was queried. */
    uint64_t probed[4];
};

#define FAILURES_UNRESPONSIVE 2
static inline bool fab_discover_node_is_unresponsive(const struct known_node *p)
{
    return p->failures >= FAILURES_UNRESPONSIVE && !p->answered;
}

/* Routes avoid an unresponsive switch if neighbours report at least this many links to it as down,
 * or if the caller has reported the switch as probably failed. */
#define LOST_LINKS_FAILED 2
static inline bool fab_discover_node_has_failed(const struct known_node *p)
{
    return (p->reported_failed || p->lost_links >= LOST_LINKS_FAILED) && !p->answered;
}

enum query_kind {
    ASK_NODE_INFO,
    ASK_NODE_DESC,
    ASK_SWITCH_INFO,
    ASK_PORT_INFO,
    /* a query of NodeInfo of a known switch, along its known route */
    ASK_IDENTITY
};

/* An entry of a queue: a probe (NodeInfo of the node behind a port), an identity query (NodeInfo
 * of a known switch), a read (PortInfo of a port), or a walk (all queries of a node). */
struct item {
    uint32_t ref;
    uint8_t port;
};
struct queue {
    struct item *items;
    size_t head, tail, capacity;
};
int fab_discover_queue_push(struct queue *q, struct item item); /* returns OK or NOMEM */
static inline bool fab_discover_queue_empty(const struct queue *q)
{
    return q->head == q->tail;
}
bool fab_discover_queue_pop(struct queue *q, struct item *ret);

/* A query in flight. The tag of its request is its index in fab_discover.queries. */
struct query {
    /* Directed route of the query; not used if the query goes along the known route of a node. */
    struct fab_path path;
    struct item item;
    uint8_t kind;
    bool live;
    uint32_t next_free;
};

/* A NodeInfo with a GUID that was last seen at another place. Discovery accepts or rejects it when
 * no other queries are left. */
struct claim {
    /* A copy of the query that returned this NodeInfo. */
    struct query query;
    struct fab_node_info info;
    /* Node GUID and port number of the port behind which a device with the claimed GUID was last
     * seen. */
    uint64_t first_guid;
    uint8_t first_port;
    /* true: verify() in contest.c has queued the queries of the place where the GUID was last
     * seen */
    bool verified;
};

struct fab_discover {
    struct fab_builder *builder;
    /* Memory of nodes and queries. Their addresses must not change, because `known`, `queries` and
     * callers point to them. */
    struct fab_arena arena;
    /* [known_capacity] known nodes, indexed by the builder's reference; NULL: the node is not
     * known. */
    struct known_node **known;
    size_t known_capacity;
    struct query **queries;
    size_t query_capacity;
    uint32_t query_count, free_query, in_flight;
    struct queue probes, reads, walks, identities;
    /* the query that settle() has found for the next call of fab_discover_next */
    struct item staged;
    uint8_t staged_kind;
    bool is_staged;
    /* FAB_E_NOMEM if an allocation has failed, else FAB_OK. */
    int status;

    uint32_t node_limit, port_limit, node_count, port_count;
    /* Reference of the manager's node; NO_REF: not known. */
    uint32_t self;
    uint8_t self_port;
    /* true: fab_discover_next has not yet returned the first query */
    bool root_pending;

    const struct fab_fabric *base;
    /* Only in a targeted sweep: suspects that are not queried yet. The sweep queries the nearest
     * ones first (targeted.c). */
    struct queue suspects;
    bool paths_stale;
    /* true: a link was lost or removed, so the manager may be unable to reach some nodes */
    bool cut;

    struct fab_places *places;
    /* Baseline of approved devices; NULL: every device is accepted. */
    struct fab_baseline *baseline;
    /* Silent switches, which are not queried; NULL: none. */
    struct fab_silent *silent;
    struct fab_fabric *former; /* the last snapshot; NULL: none */
    struct claim *claims;
    size_t claim_count, claim_capacity;
    /* Port GUIDs of all NodeInfo that this discovery has accepted -> node reference << 8 | port
     * number. */
    struct fab_map port_guids;

    struct fab_unresponsive *unresponsive;
    size_t unresponsive_count, unresponsive_capacity;
};

/* Functions of model.c. Those with an int result return OK or NOMEM, unless their comment names
 * other errors. */

/* Returns the node with this reference; NULL: not known. */
struct known_node *fab_discover_node_get(const struct fab_discover *d, uint32_t ref);
int fab_discover_node_add(struct fab_discover *d, uint32_t ref, const struct fab_node_info *info,
                          struct known_node **ret);
int fab_discover_unresponsive_add(struct fab_discover *d, struct fab_unresponsive entry);
/* Notes that a query of a node failed. The list of unresponsive nodes gets at most one entry for a
 * node and kind of query. Returns OK or NOMEM. */
int fab_discover_node_unresponsive(struct fab_discover *d, struct known_node *p, uint8_t kind,
                                   int status);
bool fab_discover_port_has_link(const struct fab_discover *d, const struct known_node *p,
                                uint8_t port);
/* Removes the link of the port, if the port has one, and calls fab_discover_targeted_link_lost for
 * the other end of the link. Returns OK or NOMEM. */
int fab_discover_link_lost(struct fab_discover *d, struct known_node *p, uint8_t port);
/* Returns true if a link from port_a of node a to port_b of node b is impossible, because this
 * discovery has seen another link at one of the two ports, or because both are the same port. b ==
 * NULL: the node at the other end is new. */
bool fab_discover_link_contradicts(const struct fab_discover *d, const struct known_node *a,
                                   uint8_t port_a, const struct known_node *b, uint8_t port_b);
/* Adds a link, or marks a known link as fresh. Returns EXISTS if the link contradicts a link that
 * this discovery has seen, or NOMEM. */
int fab_discover_link_seen(struct fab_discover *d, struct known_node *a, uint8_t port_a,
                           struct known_node *b, uint8_t port_b);

/* Functions of answer.c. Those with an int result return OK or NOMEM, unless their comment names
 * other errors. fab_discover_query_attr returns the ID of the attribute that a kind of query
 * requests. */
uint16_t fab_discover_query_attr(uint8_t kind);
int fab_discover_query_failed(struct fab_discover *d, const struct query *q, int status);
int fab_discover_query_answered(struct fab_discover *d, const struct query *q, const uint8_t *data);

/* Accepts the NodeInfo of the node behind a port. Returns EXISTS (the NodeInfo contradicts what
 * this discovery has seen), DENIED (the baseline does not have the device at this place), LIMIT,
 * INVAL or NOMEM. */
int fab_discover_neighbour_take(struct fab_discover *d, const struct query *q,
                                struct known_node *near, const struct fab_node_info *info);

/* Functions of contest.c. Those with an int result return OK or NOMEM. */
/* If the NodeInfo of the device behind a port has a GUID that was last seen at another place,
 * returns true and fills the claim *ret. Discovery decides about the claim later. The NodeInfo of
 * the device behind the manager's own port is never a claim. */
bool fab_discover_contested(const struct fab_discover *d, const struct known_node *near,
                            uint8_t near_port, const struct fab_node_info *info, struct claim *ret);
int fab_discover_claim_add(struct fab_discover *d, const struct query *q, struct claim *claim);
/* Call this when no other queries are left. The first calls queue queries of the last places of the
 * claimed GUIDs; a later call decides about claims. Returns false if there are no claims, or after
 * an error. */
bool fab_discover_claims_step(struct fab_discover *d);
int fab_discover_identity_answered(const struct fab_discover *d, const struct query *q,
                                   const uint8_t *data);
/* Returns true if this discovery has seen another port with the port GUID of *info; *ret_ref and
 * *ret_port are then the node and number of this other port. `p` is the known node with the node
 * GUID of *info; NULL: none. */
bool fab_discover_port_guid_taken(const struct fab_discover *d, const struct known_node *p,
                                  const struct fab_node_info *info, uint32_t *ret_ref,
                                  uint8_t *ret_port);
int fab_discover_port_guid_note(struct fab_discover *d, const struct known_node *p,
                                const struct fab_node_info *info);
/* Lists a device that was left out, because its NodeInfo has the GUID of another device. */
int fab_discover_duplicate(struct fab_discover *d, const struct query *q,
                           const struct fab_node_info *info);

/* Lists a device that was left out, because the baseline does not have it at this place. */
int fab_discover_denied(struct fab_discover *d, const struct query *q,
                        const struct fab_node_info *info);

/* Functions of keep.c. Those with an int result return OK or NOMEM. */
/* Returns true if a silent switch is behind this port. */
bool fab_discover_leads_to_silent(const struct fab_discover *d, const struct known_node *p,
                                  uint8_t port);
/* For a targeted sweep: marks the silent switches of the base snapshot, and adds their links that
 * the manager has excluded. */
int fab_discover_keep_base(struct fab_discover *d);
/* For a heavy sweep: copies the silent switches, which the sweep did not find, from the last
 * snapshot to the result. Then marks all silent switches that did not answer. Also lists as
 * unresponsive each port that is up, but has no known device behind it (list_unknown). If the limit
 * of nodes or ports is reached, copies no more nodes and lists no such ports; this is no error. The
 * caller calls this function before it makes the result. */
int fab_discover_keep_silent(struct fab_discover *d);

/* Functions of targeted.c. Those with an int result return OK or NOMEM. */
int fab_discover_targeted_start(struct fab_discover *d, const struct fab_discover_config *config);
/* Queues the queries of the next wave: of all suspects that are not queried yet, those nearest to
 * the manager. Returns false if no suspect is left, if no directed route leads to any suspect, or
 * after an error. */
bool fab_discover_targeted_wave(struct fab_discover *d);
/* Removes the nodes that have no directed route. Some of them still have links, but only to each
 * other or to adapters, which do not forward packets. */
int fab_discover_targeted_prune(struct fab_discover *d);
/* Handles the loss of the link at port far_port of `far`. The directed routes to all nodes are
 * computed again before the next wave. In a targeted sweep, a switch port becomes a suspect, and a
 * port of an adapter or router is removed from the snapshot; but if this sweep has already queried
 * the PortInfo of this port, the port stays as it is. */
int fab_discover_targeted_link_lost(struct fab_discover *d, struct known_node *far,
                                    uint8_t far_port);
/* Handles an unresponsive node: the switch ports that are linked to it become suspects. The
 * directed routes are computed again before the next wave, and avoid the node. */
int fab_discover_targeted_node_lost(struct fab_discover *d, const struct known_node *p);

#endif
