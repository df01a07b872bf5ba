/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interprets the responses of devices. A response may be hostile, so each number is checked against
 * the range that the specification permits before it is used as an index. Discovery limits the
 * numbers of hops, nodes and ports.
 *
 * LocalPortNum in NodeInfo is the number of the port by which the query reached the node. This
 * number depends on the route, so sealing replaces it by a number that is the same for all routes
 * (seal.c).
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

uint16_t fab_discover_query_attr(uint8_t kind)
{
    static const uint16_t attr[] = {
        [ASK_NODE_INFO] = FAB_ATTR_NODE_INFO,     [ASK_NODE_DESC] = FAB_ATTR_NODE_DESC,
        [ASK_SWITCH_INFO] = FAB_ATTR_SWITCH_INFO, [ASK_PORT_INFO] = FAB_ATTR_PORT_INFO,
        [ASK_IDENTITY] = FAB_ATTR_NODE_INFO,
    };
    return attr[kind];
}

int fab_discover_query_failed(struct fab_discover *d, const struct query *q, int status)
{
    struct known_node *p = fab_discover_node_get(d, q->item.ref);
    if (status == FAB_OK)
        status = FAB_E_FORMAT;
    if (q->kind == ASK_IDENTITY)
        return FAB_OK;
    if (q->kind == ASK_NODE_INFO)
        return fab_discover_unresponsive_add(
            d, (struct fab_unresponsive){.near_guid = p != NULL ? p->guid : 0,
                                         .near_port = q->item.port,
                                         .attr_id = FAB_ATTR_NODE_INFO,
                                         .status = status});
    bool fails = status == FAB_E_TIMEOUT && p->failures < UINT8_MAX;
    p->failures += fails;
    int result = fab_discover_node_unresponsive(d, p, q->kind, status);
    bool gives_up = fails && p->failures == FAILURES_UNRESPONSIVE &&
                    fab_discover_node_is_unresponsive(p) && d->base != NULL;
    return result == FAB_OK && gives_up ? fab_discover_targeted_node_lost(d, p) : result;
}

/* ---- NodeInfo -------------------------------------------------------------------------------- */

static bool node_info_valid(const struct fab_node_info *info, bool root)
{
    bool is_switch = info->node_type == FAB_NODE_SWITCH;
    return info->node_type >= FAB_NODE_CA && info->node_type <= FAB_NODE_ROUTER &&
           info->num_ports >= 1 && info->num_ports <= 254 && info->local_port <= info->num_ports &&
           (info->local_port >= 1 || (root && is_switch)) && info->node_guid != 0 &&
           info->port_guid != 0;
}

static int queue_walk(struct fab_discover *d, struct known_node *p)
{
    if (p->walked)
        return FAB_OK;
    p->walked = true;
    return fab_discover_queue_push(&d->walks, (struct item){.ref = p->ref});
}

/* Handles the NodeInfo of a new node. `near` is the known node at the other end of the link over
 * which the query reached the new node; NULL: the new node is the manager's own. Returns OK, LIMIT,
 * NOMEM or another error of fab_fabric_builder_add_node. */
static int node_found(struct fab_discover *d, const struct query *q, const struct known_node *near,
                      const struct fab_node_info *info, struct known_node **ret)
{
    uint32_t ref;
    if (d->node_count >= d->node_limit || d->port_count + info->num_ports + 1u > d->port_limit)
        return FAB_E_LIMIT;
    int status = fab_fabric_builder_add_node(d->builder, info, &ref);
    if (status == FAB_OK)
        status = fab_discover_node_add(d, ref, info, ret);
    if (status != FAB_OK)
        return status;
    struct known_node *p = *ret;
    p->path = q->path;
    p->near_guid = near != NULL ? near->guid : 0;
    p->near_port = q->item.port;
    return queue_walk(d, p);
}

/* Handles the NodeInfo of a known node that a query reached over another link. Returns EXISTS if
 * the type or the number of ports has changed: then two nodes have the same GUID. */
static int node_again(struct fab_discover *d, const struct query *q,
                      const struct fab_node_info *info, struct known_node *p)
{
    uint32_t ref;
    if (p->type != info->node_type || p->num_ports != info->num_ports)
        return FAB_E_EXISTS;
    if (!p->walked)
        /* The node gets the route of this query, because its known route comes from the base
         * snapshot and may use a link that no longer exists. */
        p->path = q->path;
    return p->type == FAB_NODE_SWITCH ? FAB_OK
                                      : fab_fabric_builder_add_node(d->builder, info, &ref);
}

static int read_port(struct fab_discover *d, struct known_node *p, uint8_t port)
{
    if (!fab_base_bits_add(p->asked, port))
        return FAB_OK;
    return fab_discover_queue_push(&d->reads, (struct item){.ref = p->ref, .port = port});
}

static int take_root(struct fab_discover *d, const struct query *q,
                     const struct fab_node_info *info)
{
    struct known_node *p;
    int status = node_found(d, q, NULL, info, &p);
    if (status != FAB_OK)
        return status;
    d->self = p->ref;
    d->self_port = p->type == FAB_NODE_SWITCH ? 0 : info->local_port;
    fab_fabric_builder_set_self(d->builder, d->self, d->self_port);
    p->identified = true;
    status = fab_discover_port_guid_note(d, p, info);
    if (status != FAB_OK)
        return status;
    return p->type == FAB_NODE_SWITCH ? FAB_OK : read_port(d, p, info->local_port);
}

/* ---- devices that are not approved ----------------------------------------------------------- */

/* Returns true, with a description of the device in *ret, if the device behind a port is not
 * approved at this place (baseline.h). The manager's own port is always accepted, and so is the
 * switch to which it is connected. `near` is the node through which the manager found the
 * device: a switch, or the manager's own adapter, at which routes begin. Adapters do not forward
 * packets. */
static bool is_unapproved(const struct fab_discover *d, const struct known_node *near,
                          uint8_t near_port, const struct fab_node_info *info,
                          struct fab_unapproved *ret)
{
    const struct known_node *self = fab_discover_node_get(d, d->self);
    bool own = self != NULL && info->node_guid == self->guid && info->local_port == d->self_port;
    const struct fab_place place = {.guid = info->node_guid,
                                    .port_guid = info->port_guid,
                                    .near_guid = near->guid,
                                    .port = info->local_port,
                                    .near_port = near_port,
                                    .is_switch = info->node_type == FAB_NODE_SWITCH};
    return d->baseline != NULL && near->type == FAB_NODE_SWITCH && !own &&
           fab_discover_baseline_judge(d->baseline, &place, ret) != FAB_APPROVED_HERE;
}

int fab_discover_denied(struct fab_discover *d, const struct query *q,
                        const struct fab_node_info *info)
{
    const struct known_node *near = fab_discover_node_get(d, q->item.ref);
    struct fab_unapproved u;
    if (!is_unapproved(d, near, q->item.port, info, &u))
        return FAB_OK;
    return fab_discover_unresponsive_add(d, (struct fab_unresponsive){.near_guid = near->guid,
                                                                      .near_port = q->item.port,
                                                                      .attr_id = FAB_ATTR_NODE_INFO,
                                                                      .status = FAB_E_DENIED,
                                                                      .claimed = info->node_guid,
                                                                      .first_guid = u.first_guid,
                                                                      .first_port = u.first_port,
                                                                      .unapproved = u});
}

int fab_discover_neighbour_take(struct fab_discover *d, const struct query *q,
                                struct known_node *near, const struct fab_node_info *info)
{
    uint32_t ref;
    uint8_t port;
    struct known_node *p = NULL;
    if (fab_fabric_builder_find_node(d->builder, info->node_guid, &ref) == FAB_OK)
        p = fab_discover_node_get(d, ref);
    if (fab_discover_link_contradicts(d, near, q->item.port, p, info->local_port) ||
        fab_discover_port_guid_taken(d, p, info, &ref, &port))
        return FAB_E_EXISTS;
    struct fab_unapproved unapproved;
    if (is_unapproved(d, near, q->item.port, info, &unapproved))
        return FAB_E_DENIED;
    int status = p != NULL ? node_again(d, q, info, p) : node_found(d, q, near, info, &p);
    if (status == FAB_OK)
        status = fab_discover_link_seen(d, near, q->item.port, p, info->local_port);
    if (status == FAB_OK)
        status = fab_discover_port_guid_note(d, p, info);
    if (status != FAB_OK)
        return status;
    p->identified = true;
    return p->type == FAB_NODE_SWITCH ? queue_walk(d, p) : read_port(d, p, info->local_port);
}

static int take_neighbour(struct fab_discover *d, const struct query *q, struct known_node *near,
                          const struct fab_node_info *info)
{
    struct claim claim;
    if (fab_discover_contested(d, near, q->item.port, info, &claim))
        return fab_discover_claim_add(d, q, &claim);
    int status = fab_discover_neighbour_take(d, q, near, info);
    if (status == FAB_E_DENIED)
        return fab_discover_denied(d, q, info);
    return status == FAB_E_EXISTS ? fab_discover_duplicate(d, q, info) : status;
}

static int take_node_info(struct fab_discover *d, const struct query *q, const uint8_t *data)
{
    struct fab_node_info info;
    struct known_node *near = fab_discover_node_get(d, q->item.ref);
    int status = fab_wire_attr_unpack(&fab_wire_attr_node_info, data, FAB_SMP_DATA, &info);
    if (status == FAB_OK && !node_info_valid(&info, near == NULL))
        status = FAB_E_FORMAT;
    if (status == FAB_OK)
        status = near == NULL ? take_root(d, q, &info) : take_neighbour(d, q, near, &info);
    return status == FAB_OK || status == FAB_E_NOMEM ? status
                                                     : fab_discover_query_failed(d, q, status);
}

/* ---- other attributes ------------------------------------------------------------------------ */

static int take_node_desc(struct fab_discover *d, const struct known_node *p, const uint8_t *data)
{
    const char *text = (const char *)data;
    return fab_fabric_builder_set_desc(d->builder, p->ref, text, strnlen(text, FAB_NODE_DESC_LEN));
}

static int take_switch_info(struct fab_discover *d, const struct known_node *p, const uint8_t *data)
{
    struct fab_switch_info info;
    int status = fab_wire_attr_unpack(&fab_wire_attr_switch_info, data, FAB_SMP_DATA, &info);
    return status == FAB_OK ? fab_fabric_builder_set_switch_info(d->builder, p->ref, &info)
                            : status;
}

/* Returns true if a directed route can leave the node through this port. Directed routes begin at
 * the manager's own port. Other adapters do not forward packets. */
static bool leads_on(const struct fab_discover *d, const struct known_node *p, uint8_t port)
{
    if (p->type == FAB_NODE_SWITCH)
        return port > 0;
    return p->ref == d->self && port == d->self_port;
}

/* Handles the PortInfo of a port. If the port is not LinkUp, removes its link from the snapshot. If
 * it is LinkUp, and directed routes can lead over the link, queries NodeInfo over it in two cases:
 * the node at the other end is unknown; or it is known only from the base snapshot, and the port is
 * in Init, which means that the link was trained again and may now lead to another node. Exception:
 * while a silent switch is behind the port, NodeInfo is queried only if the port is in Init. If the
 * route would be too long, lists the port as unresponsive (LIMIT) instead. */
static int port_seen(struct fab_discover *d, struct known_node *p, uint8_t port,
                     const struct fab_port_info *info)
{
    bool linked = port > 0 && fab_discover_port_has_link(d, p, port);
    if (info->phys_state != FAB_PHYS_LINKUP)
        return linked ? fab_discover_link_lost(d, p, port) : FAB_OK;
    bool doubtful = !fab_base_bits_get(p->fresh, port) && info->port_state == FAB_STATE_INIT;
    if (!leads_on(d, p, port) || (linked && !doubtful))
        return FAB_OK;
    if (info->port_state != FAB_STATE_INIT && fab_discover_leads_to_silent(d, p, port))
        return FAB_OK;
    if (p->path.hops >= FAB_MAX_HOPS)
        return fab_discover_unresponsive_add(
            d, (struct fab_unresponsive){.near_guid = p->guid,
                                         .near_port = port,
                                         .attr_id = FAB_ATTR_NODE_INFO,
                                         .status = FAB_E_LIMIT});
    return fab_discover_queue_push(&d->probes, (struct item){.ref = p->ref, .port = port});
}

static int take_port_info(struct fab_discover *d, const struct query *q, struct known_node *p,
                          const uint8_t *data)
{
    struct fab_port_info info;
    uint8_t port = q->item.port;
    int status = fab_wire_attr_unpack(&fab_wire_attr_port_info, data, FAB_SMP_DATA, &info);
    if (status != FAB_OK)
        return status;
    status = fab_fabric_builder_set_port(d->builder, p->ref, port, 0, &info);
    return status == FAB_OK ? port_seen(d, p, port, &info) : status;
}

int fab_discover_query_answered(struct fab_discover *d, const struct query *q, const uint8_t *data)
{
    struct known_node *p = fab_discover_node_get(d, q->item.ref);
    int status = FAB_OK;
    if (q->kind == ASK_NODE_INFO)
        return take_node_info(d, q, data);
    if (q->kind == ASK_IDENTITY)
        return fab_discover_identity_answered(d, q, data);
    p->answered = true;
    if (q->kind == ASK_NODE_DESC)
        status = take_node_desc(d, p, data);
    else if (q->kind == ASK_SWITCH_INFO)
        status = take_switch_info(d, p, data);
    else
        status = take_port_info(d, q, p, data);
    return status == FAB_OK || status == FAB_E_NOMEM ? status
                                                     : fab_discover_query_failed(d, q, status);
}
