/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery of the fabric. It chooses the next query from the responses so far, and explores the
 * fabric breadth first over directed routes (IBA 14.2.2). It sends one NodeInfo for each link
 * instead of one for each port. A heavy sweep (base == NULL) explores the whole fabric. A targeted
 * sweep starts from a snapshot and queries only the suspects, and new nodes behind them.
 *
 * Discovery is a source of requests for a session of libfabmgr/mads. fab_discover_next returns
 * SubnGet requests; the caller passes each response to fab_discover_answer with the tag of its
 * request.
 */
#ifndef LIBFABMGR_DISCOVER_DISCOVER_H
#define LIBFABMGR_DISCOVER_DISCOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/discover/places.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/wire/wire.h"

struct fab_discover;

struct fab_discover_config {
    const struct fab_fabric *base; /* NULL: a heavy sweep from the manager's port */
    const uint64_t *suspects; /* only for a targeted sweep: GUIDs of the nodes to query again */
    uint32_t suspect_count;
    /* Where ports were last seen, or NULL. A GUID that appears at another place is accepted there
     * only if it does not answer at its last place in this discovery (contest.c). */
    struct fab_places *places;
    uint64_t m_key;
    uint32_t node_limit, port_limit; /* limits against a hostile fabric; 0: the defaults */
};
#define FAB_DISCOVER_NODE_LIMIT (1u << 18)
#define FAB_DISCOVER_PORT_LIMIT (1u << 22)
/* A query: SubnGet(attr_id, attr_mod) along path. The path is valid until the query is answered. */
struct fab_discover_ask {
    const struct fab_path *path;
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t tag;
};
/* A port or node that did not respond, or whose response was not valid. */
struct fab_unresponsive {
    uint64_t near_guid; /* the neighbour from which the port or node was reached; 0: it is the
                           manager's own node */
    uint8_t near_port;
    uint64_t guid;    /* GUID of the node; 0: it did not respond to NodeInfo */
    uint16_t attr_id; /* the attribute of the query */
    int status;       /* TIMEOUT, REFUSED, FORMAT, EXISTS (duplicate GUID or contradicting links),
                         LIMIT (too many hops, nodes or ports) */
    /* EXISTS: the node GUID or port GUID that another device has, and the place of that device */
    uint64_t claimed, first_guid;
    uint8_t first_port;
};

/* Creates a discovery. INVAL: base has no self_port. NOMEM. */
int fab_discover_new(const struct fab_discover_config *config, struct fab_discover **ret);
void fab_discover_free(struct fab_discover *d);
/* Returns the next query. False: there is none before another response arrives. */
bool fab_discover_next(struct fab_discover *d, struct fab_discover_ask *ret_ask);
/* Passes the result of a query: a status as in fab_mads_answer and, if it is OK, 64 bytes of data.
 * If the data are malformed, the node counts as unresponsive; this is no error here. NOMEM. */
int fab_discover_answer(struct fab_discover *d, uint64_t tag, int status, const uint8_t *data);
/* Returns whether discovery has ended: all queries are answered, and there is no further query. */
bool fab_discover_done(const struct fab_discover *d);
/* Makes a snapshot of all nodes that links connect to the manager's port. The caller calls this
 * function when fab_discover_done is true, and owns the reference. NOT_FOUND: the manager's own
 * node did not respond. NOMEM. */
int fab_discover_result(struct fab_discover *d, struct fab_fabric **ret_fabric);
/* Returns the ports and nodes that have not responded so far, in a fixed order. The array is valid
 * until the next call of a function of this header. */
const struct fab_unresponsive *fab_discover_unresponsive(const struct fab_discover *d,
                                                         uint32_t *ret_count);
/* Computes the shortest directed routes from self_port to all nodes of a snapshot, over links that
 * are up. The caller frees *ret_paths. INVAL: no self_port. NOMEM. */
int fab_discover_paths(const struct fab_fabric *f, struct fab_path **ret_paths /* [node_count] */);
#define FAB_PATH_UNKNOWN 0xff /* value of hops for a node that is not reached */

#endif
