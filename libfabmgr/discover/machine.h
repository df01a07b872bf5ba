/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a discovery. For this folder only. */
#ifndef LIBFABMGR_DISCOVER_MACHINE_H
#define LIBFABMGR_DISCOVER_MACHINE_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/discover/discover.h"

#define ALL_PORTS 0xff /* as the port of a suspect */
#define NO_REF UINT32_MAX

/* What discovery knows of a node in addition to the builder; indexed by the builder's reference. */
struct known_node {
    struct fab_path path; /* hops FAB_PATH_UNKNOWN: no directed route */
    uint32_t ref;
    uint8_t type, num_ports;
    uint8_t near_port; /* the port of near_guid from which it was first reached */
    uint8_t failures;  /* queries that timed out */
    bool answered;     /* at least one query was answered */
    bool walked;       /* its walk was queued: all its data are read again, not taken from base */
    uint8_t reported;  /* bits 1 << query_kind: it has an unresponsive entry for that kind */
    uint16_t cursor;   /* next step of the walk */
    uint64_t guid, near_guid;
    uint64_t asked[4]; /* bitset of ports whose PortInfo was asked for */
    uint64_t fresh[4]; /* bitset of ports whose link was seen by this discovery */
};

#define FAILURES_UNRESPONSIVE 2
static inline bool fab_discover_node_is_unresponsive(const struct known_node *p)
{
    return p->failures >= FAILURES_UNRESPONSIVE && !p->answered;
}

enum query_kind { ASK_NODE_INFO, ASK_NODE_DESC, ASK_SWITCH_INFO, ASK_PORT_INFO };

/* A piece of work: a probe of a port (NodeInfo), a read (PortInfo), or a walk (all of a node). */
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

/* A query in flight; its tag is its index. */
struct query {
    struct fab_path path; /* its route, if that is not the route of a known node */
    struct item item;
    uint8_t kind;
    bool live;
    uint32_t next_free;
};

struct fab_discover {
    struct fab_builder *builder;
    struct fab_arena arena;    /* of nodes and queries: they do not move */
    struct known_node **known; /* [known_capacity] by ref, NULL: not known */
    size_t known_capacity;
    struct query **queries;
    size_t query_capacity;
    uint32_t query_count, free_query, in_flight;
    struct queue probes, reads, walks;
    struct item staged; /* found by settle(), not yet returned by fab_discover_next */
    uint8_t staged_kind;
    bool is_staged;
    int status; /* FAB_E_NOMEM once an allocation has failed */

    uint32_t node_limit, port_limit, node_count, port_count;
    uint32_t self; /* the manager's node; NO_REF: not known */
    uint8_t self_port;
    bool root_pending; /* the first query was not returned yet */

    const struct fab_fabric *base;
    struct queue suspects; /* targeted sweep: nodes that wait for their wave */
    bool paths_stale;
    bool cut; /* a link was lost: nodes may be unreachable */

    struct fab_unresponsive *unresponsive;
    size_t unresponsive_count, unresponsive_capacity;
};

/* model.c. Errors of its functions: NOMEM. */
struct known_node *fab_discover_node_get(const struct fab_discover *d,
                                         uint32_t ref); /* NULL: not known */
int fab_discover_node_add(struct fab_discover *d, uint32_t ref, const struct fab_node_info *info,
                          struct known_node **ret);
int fab_discover_unresponsive_add(struct fab_discover *d, struct fab_unresponsive entry);
/* A query of a node failed; each kind of query adds one entry for a node. */
int fab_discover_node_unresponsive(struct fab_discover *d, struct known_node *p, uint8_t kind,
                                   int status);
bool fab_discover_port_has_link(const struct fab_discover *d, const struct known_node *p,
                                uint8_t port);
/* Removes the link of the port, if there is one; the far end becomes a suspect. */
int fab_discover_link_lost(struct fab_discover *d, struct known_node *p, uint8_t port);
/* Adds a link, or confirms it. EXISTS: it contradicts a link that this discovery has seen. NOMEM.
 */
int fab_discover_link_seen(struct fab_discover *d, struct known_node *a, uint8_t port_a,
                           struct known_node *b, uint8_t port_b);

/* answer.c. Errors of its functions: NOMEM. */
uint16_t fab_discover_query_attr(uint8_t kind);
int fab_discover_query_failed(struct fab_discover *d, const struct query *q, int status);
int fab_discover_query_answered(struct fab_discover *d, const struct query *q, const uint8_t *data);

/* targeted.c. Errors of its functions: NOMEM. */
int fab_discover_targeted_start(struct fab_discover *d, const struct fab_discover_config *config);
/* Queues the work of the next wave of suspects; false: there is none. */
bool fab_discover_targeted_wave(struct fab_discover *d);
/* Removes the nodes without a directed route. Adapters do not forward, so nodes can remain
 * connected by links and have none. */
int fab_discover_targeted_prune(struct fab_discover *d);
/* A link was lost: routes are searched again, and the far end becomes a suspect. */
int fab_discover_targeted_link_lost(struct fab_discover *d, const struct known_node *far,
                                    uint8_t far_port);
/* A node is unresponsive: routes avoid it, and its neighbours become suspects. */
int fab_discover_targeted_node_lost(struct fab_discover *d, const struct known_node *p);

#endif
