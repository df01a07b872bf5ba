/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a discovery. For this folder only. */
#ifndef LIBFABMGR_DISCOVER_MACHINE_H
#define LIBFABMGR_DISCOVER_MACHINE_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/discover/discover.h"

#define ALL_PORTS 0xff /* port of a suspect: all ports are to be read */
#define NO_REF UINT32_MAX
#define FAB_DISCOVER_NODES_MOST (1u << 23) /* references fit into fab_discover.port_guids */

/* The data that discovery keeps about a node in addition to the builder. fab_discover.known has
 * them by the builder's reference of the node. */
struct known_node {
    struct fab_path path; /* if hops is FAB_PATH_UNKNOWN, there is no directed route */
    uint32_t ref;
    uint8_t type, num_ports;
    uint8_t near_port; /* the port of node near_guid by which this node was first reached */
    uint8_t failures;  /* queries that timed out */
    bool answered;     /* at least one query was answered */
    bool identified;   /* this discovery read its GUID at an accepted place (contest.c) */
    bool walked;       /* the node's walk was queued, so that no data of the node come from base */
    uint8_t reported;  /* bit mask by query kind: the node is in `unresponsive` for this kind */
    uint16_t cursor;   /* next step of the walk */
    uint64_t guid, near_guid;
    uint64_t asked[4];  /* bitset of ports whose PortInfo was asked for */
    uint64_t fresh[4];  /* bitset of ports whose link this discovery has seen */
    uint64_t probed[4]; /* bitset of ports behind which NodeInfo was asked for */
};

#define FAILURES_UNRESPONSIVE 2
static inline bool fab_discover_node_is_unresponsive(const struct known_node *p)
{
    return p->failures >= FAILURES_UNRESPONSIVE && !p->answered;
}

enum query_kind {
    ASK_NODE_INFO,
    ASK_NODE_DESC,
    ASK_SWITCH_INFO,
    ASK_PORT_INFO,
    ASK_IDENTITY /* NodeInfo of a known switch over its known route */
};

/* An entry of a queue: a probe of the node behind a port (NodeInfo), a read of a port (PortInfo),
 * or a walk of a node. */
struct item {
    uint32_t ref;
    uint8_t port;
};
struct queue {
    struct item *items;
    size_t head, tail, capacity;
};
int fab_discover_queue_push(struct queue *q, struct item item); /* NOMEM */
static inline bool fab_discover_queue_empty(const struct queue *q)
{
    return q->head == q->tail;
}
bool fab_discover_queue_pop(struct queue *q, struct item *ret);

/* A query in flight. Its tag is its index in `queries`. */
struct query {
    struct fab_path path; /* the route of the query, if it is not the route of a known node */
    struct item item;
    uint8_t kind;
    bool live;
    uint32_t next_free;
};

/* A NodeInfo that claims a GUID of another place. It is decided when nothing else is left to do. */
struct claim {
    struct query query; /* that found it; a copy */
    struct fab_node_info info;
    uint64_t first_guid; /* the last place of the GUID */
    uint8_t first_port;
    bool verified; /* queries of the last place were queued */
};

struct fab_discover {
    struct fab_builder *builder;
    struct fab_arena arena; /* memory of nodes and queries, which must not move */
    /* [known_capacity] known nodes by the builder's reference; NULL: not known */
    struct known_node **known;
    size_t known_capacity;
    struct query **queries;
    size_t query_capacity;
    uint32_t query_count, free_query, in_flight;
    struct queue probes, reads, walks, identities;
    /* Work that settle() has found and fab_discover_next has not returned yet. */
    struct item staged;
    uint8_t staged_kind;
    bool is_staged;
    int status; /* FAB_E_NOMEM once an allocation has failed */

    uint32_t node_limit, port_limit, node_count, port_count;
    uint32_t self; /* the manager's node; NO_REF: not known */
    uint8_t self_port;
    bool root_pending; /* fab_discover_next has not returned the first query yet */

    const struct fab_fabric *base;
    struct queue suspects; /* targeted sweep: suspects of later waves */
    bool paths_stale;
    bool cut; /* a link was lost, so nodes may be unreachable */

    struct fab_places *places;
    struct claim *claims;
    size_t claim_count, claim_capacity;
    struct fab_map
        port_guids; /* port GUID -> node reference << 8 | port number of its last PortInfo */

    struct fab_unresponsive *unresponsive;
    size_t unresponsive_count, unresponsive_capacity;
};

/* The functions of model.c return NOMEM; only fab_discover_link_seen has another error. */
struct known_node *fab_discover_node_get(const struct fab_discover *d,
                                         uint32_t ref); /* NULL: not known */
int fab_discover_node_add(struct fab_discover *d, uint32_t ref, const struct fab_node_info *info,
                          struct known_node **ret);
int fab_discover_unresponsive_add(struct fab_discover *d, struct fab_unresponsive entry);
/* Records that a query of a node failed. Each kind of query adds at most one entry for a node. */
int fab_discover_node_unresponsive(struct fab_discover *d, struct known_node *p, uint8_t kind,
                                   int status);
bool fab_discover_port_has_link(const struct fab_discover *d, const struct known_node *p,
                                uint8_t port);
/* Removes the link of the port, if there is one. The far end becomes a suspect. */
int fab_discover_link_lost(struct fab_discover *d, struct known_node *p, uint8_t port);
/* Returns whether the link contradicts a link that this discovery has seen. b may be NULL: a new
 * node. */
bool fab_discover_link_contradicts(const struct fab_discover *d, const struct known_node *a,
                                   uint8_t port_a, const struct known_node *b, uint8_t port_b);
/* Adds a link, or confirms a known one. EXISTS: it contradicts a link that this discovery has seen.
 * NOMEM. */
int fab_discover_link_seen(struct fab_discover *d, struct known_node *a, uint8_t port_a,
                           struct known_node *b, uint8_t port_b);

/* The functions of answer.c return NOMEM; they have no other error. */
uint16_t fab_discover_query_attr(uint8_t kind);
int fab_discover_query_failed(struct fab_discover *d, const struct query *q, int status);
int fab_discover_query_answered(struct fab_discover *d, const struct query *q, const uint8_t *data);

/* Takes the NodeInfo of the neighbour behind a port as it is. EXISTS: it contradicts what this
 * discovery has seen. Other errors: LIMIT, INVAL, NOMEM. */
int fab_discover_neighbour_take(struct fab_discover *d, const struct query *q,
                                struct known_node *near, const struct fab_node_info *info);

/* The functions of contest.c return NOMEM; they have no other error. */
/* Returns whether the NodeInfo of the device behind a port claims a GUID of another place. If so,
 * it is kept, to be decided later. */
bool fab_discover_contested(const struct fab_discover *d, const struct known_node *near,
                            uint8_t near_port, const struct fab_node_info *info, struct claim *ret);
int fab_discover_claim_add(struct fab_discover *d, const struct query *q, struct claim *claim);
/* Called when nothing else is left to do: queries the last places of claimed GUIDs, then decides
 * claims. False: there is no claim. */
bool fab_discover_claims_step(struct fab_discover *d);
int fab_discover_identity_answered(const struct fab_discover *d, const struct query *q,
                                   const uint8_t *data);
/* Returns whether another port, seen by this discovery, has the port GUID of a NodeInfo. p: the
 * node with its node GUID, or NULL. *ret_ref, *ret_port: the other port. */
bool fab_discover_port_guid_taken(const struct fab_discover *d, const struct known_node *p,
                                  const struct fab_node_info *info, uint32_t *ret_ref,
                                  uint8_t *ret_port);
int fab_discover_port_guid_note(struct fab_discover *d, const struct known_node *p,
                                const struct fab_node_info *info);
/* Reports that a device was left out because its NodeInfo has a GUID of another device. */
int fab_discover_duplicate(struct fab_discover *d, const struct query *q,
                           const struct fab_node_info *info);

/* The functions of targeted.c return NOMEM; they have no other error. */
int fab_discover_targeted_start(struct fab_discover *d, const struct fab_discover_config *config);
/* Queues the queries of the next wave of suspects. False: there is no further wave. */
bool fab_discover_targeted_wave(struct fab_discover *d);
/* Removes the nodes without a directed route. Such nodes can exist although links connect them,
 * because adapters do not forward. */
int fab_discover_targeted_prune(struct fab_discover *d);
/* Called when a link was lost. Routes are computed again, and the far end becomes a suspect. */
int fab_discover_targeted_link_lost(struct fab_discover *d, const struct known_node *far,
                                    uint8_t far_port);
/* Called when a node is unresponsive. Routes avoid the node, and its neighbours become suspects. */
int fab_discover_targeted_node_lost(struct fab_discover *d, const struct known_node *p);

#endif
