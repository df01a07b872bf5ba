/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovers the fabric breadth first over directed routes (IBA 14.2.2). Each query depends on the
 * responses so far. Discovery sends one NodeInfo for each link instead of one for each port.
 *
 * A heavy sweep (base == NULL) explores the whole fabric. A targeted sweep starts from a snapshot
 * and queries only the suspects and new nodes behind them.
 *
 * Discovery is a source of requests for a session of libfabmgr/mads. fab_discover_next returns
 * SubnGet requests. The caller passes each response to fab_discover_answer, with the tag of the
 * request.
 */
#ifndef LIBFABMGR_DISCOVER_DISCOVER_H
#define LIBFABMGR_DISCOVER_DISCOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/discover/baseline.h"
#include "libfabmgr/discover/places.h"
#include "libfabmgr/discover/silent.h"
#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/wire/wire.h"

struct fab_discover;

struct fab_discover_config {
    /* Snapshot from which a targeted sweep starts; NULL: the sweep is a heavy sweep, from the
     * manager's port. */
    const struct fab_fabric *base;
    /* For a targeted sweep: GUIDs of the nodes that the sweep must query again. */
    const uint64_t *suspects;
    uint32_t suspect_count;
    /* For a targeted sweep: GUIDs of switches that have probably failed. Only nodes without another
     * route get a route through these switches. */
    const uint64_t *failed;
    uint32_t failed_count;
    /* The places where ports were last seen; NULL: not known. If a GUID appears at another place,
     * the new place is accepted only if no device with this GUID answers at the last place
     * (contest.c). */
    struct fab_places *places;
    /* Baseline of approved devices; NULL: every device is accepted. The result leaves out devices
     * and links between switches that the baseline does not have at their place, and all devices
     * behind them. The manager's own port and the switch to which it is connected are never left
     * out. */
    struct fab_baseline *baseline;
    /* Silent switches; NULL: none. They are not queried, except over a port in Init, and stay in
     * the result as long as a neighbour reports a link to them as up (keep.c). */
    struct fab_silent *silent;
    /* The last snapshot; NULL: none. Since a heavy sweep does not query silent switches, it copies
     * them from this snapshot, and also the nodes that can be reached only through them. */
    const struct fab_fabric *former;
    /* Limits of the numbers of nodes and ports, against a hostile fabric; 0: default limits. */
    uint32_t node_limit, port_limit;
};
#define FAB_DISCOVER_NODE_LIMIT (1u << 18)
#define FAB_DISCOVER_PORT_LIMIT (1u << 22)
/* A query: SubnGet(attr_id, attr_mod) along the route `path`, which is valid until the query is
 * answered. */
struct fab_discover_ask {
    const struct fab_path *path;
    /* GUID that the queried node has reported earlier. For a query of NodeInfo it is 0, because the
     * answer has the GUID. */
    uint64_t guid;
    uint16_t attr_id;
    uint32_t attr_mod;
    uint64_t tag;
};
/* A port or node that did not respond, whose response was invalid, or that was left out (see
 * `status`). */
struct fab_unresponsive {
    /* Node GUID of the neighbour from which the port or node was reached. 0: the entry is about
     * the manager's own node. */
    uint64_t near_guid;
    uint8_t near_port;
    /* GUID of the node; 0: the node did not respond to NodeInfo. */
    uint64_t guid;
    uint16_t attr_id; /* the attribute that was queried */
    /* Why the port or node is listed: TIMEOUT, REFUSED, FORMAT, EXISTS (two devices have one GUID,
     * or links contradict each other), LIMIT (too many hops, nodes or ports) or DENIED (the device
     * is not in the baseline). */
    int status;
    /* For EXISTS: `claimed` is the node GUID or port GUID that two devices have; first_guid and
     * first_port are the place where this GUID was known before. For DENIED: `claimed` is the node
     * GUID of the device that was left out; first_guid and first_port are those of `unapproved`. */
    uint64_t claimed, first_guid;
    uint8_t first_port;
    /* Only for DENIED: the device that was left out, and why. */
    struct fab_unapproved unapproved;
};

/* Creates a discovery. Returns NOMEM, or INVAL if the base snapshot (config->base) has no
 * self_port. */
int fab_discover_new(const struct fab_discover_config *config, struct fab_discover **ret);
void fab_discover_free(struct fab_discover *d);
/* Stores the next query in *ret_ask. Returns false if there is none now; responses may lead to
 * further queries. */
bool fab_discover_next(struct fab_discover *d, struct fab_discover_ask *ret_ask);
/* Passes the result of a query to discovery: a status (as in fab_mads_answer) and, for OK, 64 bytes
 * of data. If the data are malformed, discovery lists the node as unresponsive, and the function
 * still returns OK. Returns OK or NOMEM. */
int fab_discover_answer(struct fab_discover *d, uint64_t tag, int status, const uint8_t *data);
/* Returns true if discovery has ended: all queries are answered, and no further queries follow. */
bool fab_discover_done(const struct fab_discover *d);
/* Lists the nodes whose answers are awaited: one GUID for each query in flight, so a node may be
 * listed several times. For a NodeInfo query through a port, the node is the one that the base
 * snapshot has behind this port; if it has none, nothing is listed. Returns the number of GUIDs, at
 * most `max`. */
uint32_t fab_discover_awaited(const struct fab_discover *d, uint64_t *guid, uint32_t max);
/* Returns the GUID of the node that fab_discover_awaited lists for the query with this tag; 0: the
 * query is answered, or the node is not known. */
uint64_t fab_discover_awaited_by(const struct fab_discover *d, uint64_t tag);
/* Stores in guid[] the GUIDs of the switches through which the directed route to a known node
 * leads; the switch nearest to the manager comes first. Returns the number of these switches, at
 * most `max`; 0: there are none, or the node or its route is not known. */
uint32_t fab_discover_route_of(const struct fab_discover *d, uint64_t node_guid, uint64_t *guid,
                               uint32_t max);
/* Makes a snapshot of all nodes that can be reached over links from the manager's port. Call this
 * function only after fab_discover_done has returned true. The caller owns the reference to the
 * snapshot. Returns NOT_FOUND if the manager's own node did not respond, or NOMEM. */
int fab_discover_result(struct fab_discover *d, struct fab_fabric **ret_fabric);
/* Returns the ports and nodes that have not responded so far, in a fixed order. The array is valid
 * until the next call of a function in this header. */
const struct fab_unresponsive *fab_discover_unresponsive(const struct fab_discover *d,
                                                         uint32_t *ret_count);
/* Computes the shortest directed routes from self_port to all nodes of a snapshot, over links that
 * are up. Silent switches get no route. A route leads through a silent switch only to a node that
 * has no other route. The caller frees *ret_paths. Returns OK; INVAL if there is no self_port; or
 * NOMEM. */
int fab_discover_paths(const struct fab_fabric *f, struct fab_path **ret_paths /* [node_count] */);
/* Like fab_discover_paths, with two differences. Nodes in the bitset `avoid` are avoided: a route
 * leads through them only if the destination has no other route. Silent switches get routes,
 * too. */
int fab_discover_paths_around(const struct fab_fabric *f, const uint64_t *avoid,
                              struct fab_path **ret_paths);
/* After links were lost, replaces the directed routes in paths[node_count] that lead over these
 * links. port[2 * i] and port[2 * i + 1] are the ports of lost link i. The snapshot no longer has
 * the lost links. All other links must be the same as when the routes were computed. The function
 * takes time proportional to the number of nodes whose routes change, and a short check for each
 * other node. But if a node has no new route that avoids the silent switches, it computes all
 * routes anew. Returns OK or NOMEM. After NOMEM, either no route has changed, or some nodes are
 * without a route. */
int fab_discover_paths_without(const struct fab_fabric *f, const uint32_t *port, size_t count,
                               struct fab_path *paths);
/* Replaces the directed routes in paths[node_count] that lead through `node` by routes around it. A
 * destination that has no other route keeps a route through `node`. Returns OK or NOMEM; for NOMEM
 * see fab_discover_paths_without. */
int fab_discover_paths_avoid(const struct fab_fabric *f, uint32_t node, struct fab_path *paths);
/* Returns true if the route to `node` leads through the node `through`. All routes in `paths` must
 * come from one of the functions above. */
bool fab_discover_path_leads_through(const struct fab_path *paths, uint32_t node, uint32_t through);
/* value of fab_path.hops that means: the node has no route */
#define FAB_PATH_UNKNOWN 0xff

#endif
