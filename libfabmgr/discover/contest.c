/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which of two devices with the same GUID is accepted. The root user of a host can answer
 * NodeInfo with any GUID, so the order in which discovery finds the two devices must not decide.
 *
 * If a NodeInfo contains a node GUID or port GUID that was last seen at another place (places.h),
 * discovery does not accept this NodeInfo yet, and keeps it as a claim. When no other queries are
 * left, discovery queries the last place of each claimed GUID. (A heavy sweep has queried this
 * place already, if it can be reached.) If a device with this GUID still answers at the last place,
 * the new device is a duplicate. Discovery then reports the new device, leaves it out, and discards
 * its NodeInfo. Otherwise the device has moved, and its NodeInfo is accepted.
 *
 * The last place of an adapter is the switch port to which it was connected. The last place of a
 * switch is its known route, because a switch may get new links at any time. If the switch answers
 * along this route, a new link of its port L is accepted only if the switch itself reports that
 * port L is up.
 *
 * Discovery decides about claims of switches before claims of adapters, because the last place of
 * an adapter can be behind a switch that has moved. A device that answers as an unused port of an
 * adapter with several ports cannot be distinguished from this adapter.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

/* ---- which NodeInfo is a claim --------------------------------------------------------------- */

static bool is_at(const struct fab_place *place, const struct known_node *near, uint8_t near_port)
{
    return place->near_guid == near->guid && place->near_port == near_port;
}

/* Returns the known place that contradicts this NodeInfo, which came from the node behind port
 * near_port of `near`; NULL: nothing contradicts the NodeInfo. The result is either another place,
 * at which the same port of the same node was last seen, or the place at which another port with
 * the same port GUID was last seen. */
static const struct fab_place *contradicted(const struct fab_discover *d,
                                            const struct known_node *near, uint8_t near_port,
                                            const struct fab_node_info *info)
{
    bool is_switch = info->node_type == FAB_NODE_SWITCH;
    const struct fab_place *place =
        fab_discover_place(d->places, info->node_guid, info->local_port);
    if (place == NULL && is_switch)
        place = fab_discover_place_of_node(d->places, info->node_guid);
    if (place != NULL && !is_at(place, near, near_port))
        return place;
    place = fab_discover_place_of_port_guid(d->places, info->port_guid);
    if (place != NULL &&
        (place->guid != info->node_guid || (!is_switch && place->port != info->local_port)))
        return place;
    return NULL;
}

bool fab_discover_contested(const struct fab_discover *d, const struct known_node *near,
                            uint8_t near_port, const struct fab_node_info *info, struct claim *ret)
{
    const struct fab_place *place =
        near->ref != d->self ? contradicted(d, near, near_port, info) : NULL;
    if (place == NULL)
        return false;
    *ret = (struct claim){
        .info = *info, .first_guid = place->near_guid, .first_port = place->near_port};
    return true;
}

int fab_discover_claim_add(struct fab_discover *d, const struct query *q, struct claim *claim)
{
    if (d->claim_count == d->claim_capacity) {
        void *grown =
            fab_base_grow(d->claims, sizeof *claim, d->claim_count + 1, &d->claim_capacity);
        if (grown == NULL)
            return FAB_E_NOMEM;
        d->claims = grown;
    }
    claim->query = *q;
    d->claims[d->claim_count++] = *claim;
    return FAB_OK;
}

/* ---- port GUIDs ------------------------------------------------------------------------------ */

static uint8_t guid_port(const struct fab_node_info *info)
{
    return info->node_type == FAB_NODE_SWITCH ? 0 : info->local_port;
}

int fab_discover_port_guid_note(struct fab_discover *d, const struct known_node *p,
                                const struct fab_node_info *info)
{
    return fab_base_map_put(&d->port_guids, info->port_guid, p->ref << 8 | guid_port(info));
}

bool fab_discover_port_guid_taken(const struct fab_discover *d, const struct known_node *p,
                                  const struct fab_node_info *info, uint32_t *ret_ref,
                                  uint8_t *ret_port)
{
    uint32_t owner, ref;
    if (!fab_base_map_get(&d->port_guids, info->port_guid, &owner) ||
        (p != NULL && owner == (p->ref << 8 | guid_port(info))))
        return false;
    const struct known_node *other = fab_discover_node_get(d, owner >> 8);
    uint8_t port = (uint8_t)owner;
    if (fab_fabric_builder_find_node(d->builder, other->guid, &ref) != FAB_OK ||
        ref != other->ref || (port > 0 && !fab_base_bits_get(other->fresh, port)))
        return false;
    *ret_ref = other->ref;
    *ret_port = port;
    return true;
}

/* ---- duplicates ------------------------------------------------------------------------------ */

/* Sets first_guid and first_port of *ret to the place of a port: the port at the other end of its
 * link; or, if the port has no link, the port by which its node was found. */
static void name_place(const struct fab_discover *d, const struct known_node *p, uint8_t port,
                       struct fab_unresponsive *ret)
{
    uint32_t ref;
    uint8_t far_port;
    ret->first_guid = p->near_guid;
    ret->first_port = p->near_port;
    if (fab_fabric_builder_peer(d->builder, p->ref, port, &ref, &far_port) != FAB_OK)
        return;
    ret->first_guid = fab_discover_node_get(d, ref)->guid;
    ret->first_port = far_port;
}

int fab_discover_duplicate(struct fab_discover *d, const struct query *q,
                           const struct fab_node_info *info)
{
    uint32_t ref;
    uint8_t port = info->local_port;
    struct fab_unresponsive entry = {.near_guid = fab_discover_node_get(d, q->item.ref)->guid,
                                     .near_port = q->item.port,
                                     .attr_id = FAB_ATTR_NODE_INFO,
                                     .status = FAB_E_EXISTS,
                                     .claimed = info->node_guid};
    if (fab_fabric_builder_find_node(d->builder, info->node_guid, &ref) == FAB_OK) {
        name_place(d, fab_discover_node_get(d, ref), port, &entry);
    } else if (fab_discover_port_guid_taken(d, NULL, info, &ref, &port)) {
        entry.claimed = info->port_guid;
        name_place(d, fab_discover_node_get(d, ref), port, &entry);
    }
    return fab_discover_unresponsive_add(d, entry);
}

/* ---- the last places ------------------------------------------------------------------------- */

int fab_discover_identity_answered(const struct fab_discover *d, const struct query *q,
                                   const uint8_t *data)
{
    struct fab_node_info info;
    struct known_node *p = fab_discover_node_get(d, q->item.ref);
    if (fab_wire_attr_unpack(&fab_wire_attr_node_info, data, FAB_SMP_DATA, &info) == FAB_OK &&
        info.node_guid == p->guid && info.node_type == p->type && info.num_ports == p->num_ports)
        p->identified = true;
    return FAB_OK;
}

static struct known_node *find(const struct fab_discover *d, uint64_t guid)
{
    uint32_t ref;
    return fab_fabric_builder_find_node(d->builder, guid, &ref) == FAB_OK
               ? fab_discover_node_get(d, ref)
               : NULL;
}

/* Queues a query of the PortInfo of a switch port. If this PortInfo was queried already and shows
 * the link as up, queues the NodeInfo of the node behind the port instead. Never queues the same
 * query twice. */
static int ask_behind(struct fab_discover *d, struct known_node *near, uint8_t port)
{
    const struct item item = {.ref = near->ref, .port = port};
    if (near->type != FAB_NODE_SWITCH || port > near->num_ports)
        return FAB_OK;
    if (fab_base_bits_add(near->asked, port))
        return fab_discover_queue_push(&d->reads, item);
    const struct fab_port_info *info =
        fab_fabric_builder_get_port_info(d->builder, near->ref, port);
    bool up = info != NULL && info->phys_state == FAB_PHYS_LINKUP;
    return up && fab_base_bits_add(near->probed, port) ? fab_discover_queue_push(&d->probes, item)
                                                       : FAB_OK;
}

/* Queues the next queries of the last place of the claimed GUID (see the head of this file). If the
 * GUID belongs to a known switch, also queues two queries of this switch: NodeInfo along its known
 * route, and PortInfo of the port that the claim gives as LocalPortNum. Never queues the same query
 * twice. */
static int verify(struct fab_discover *d, struct claim *c)
{
    struct known_node *near = find(d, c->first_guid), *p = find(d, c->info.node_guid);
    bool first = !c->verified, is_switch = p != NULL && p->type == FAB_NODE_SWITCH;
    int status = FAB_OK;
    c->verified = true;
    if (first && is_switch && !p->identified)
        status = fab_discover_queue_push(&d->identities, (struct item){.ref = p->ref});
    if (status == FAB_OK && is_switch)
        status = ask_behind(d, p, c->info.local_port);
    if (status == FAB_OK && near != NULL)
        status = ask_behind(d, near, c->first_port);
    return status;
}

static bool has_work(const struct fab_discover *d)
{
    return !fab_discover_queue_empty(&d->probes) || !fab_discover_queue_empty(&d->reads) ||
           !fab_discover_queue_empty(&d->identities) || !fab_discover_queue_empty(&d->walks);
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* Returns true if the claim is certainly false; the new device is then a duplicate. There are two
 * cases: the device claims to be the manager's own port, which has a link already; or it claims to
 * be a port of a switch, but the switch, queried along its known route, has reported this port as
 * down. fab_discover_neighbour_take finds other contradictions. */
static bool is_refuted(const struct fab_discover *d, const struct claim *c)
{
    const struct known_node *p = find(d, c->info.node_guid);
    uint8_t port = c->info.local_port;
    if (p == NULL || port > p->num_ports)
        return false;
    if (p->ref == d->self)
        return port == d->self_port && fab_discover_port_has_link(d, p, port);
    const struct fab_port_info *info = fab_fabric_builder_get_port_info(d->builder, p->ref, port);
    return p->type == FAB_NODE_SWITCH && p->identified && info != NULL &&
           info->phys_state != FAB_PHYS_LINKUP;
}

static int decide(struct fab_discover *d, const struct claim *c)
{
    struct known_node *near = fab_discover_node_get(d, c->query.item.ref);
    int status =
        is_refuted(d, c) ? FAB_E_EXISTS : fab_discover_neighbour_take(d, &c->query, near, &c->info);
    if (status == FAB_E_EXISTS)
        return fab_discover_duplicate(d, &c->query, &c->info);
    if (status == FAB_E_DENIED)
        return fab_discover_denied(d, &c->query, &c->info);
    return status == FAB_OK || status == FAB_E_NOMEM
               ? status
               : fab_discover_query_failed(d, &c->query, status);
}

enum which { KNOWN_SWITCHES, ONE_SWITCH, ALL };

static bool is_due(const struct fab_discover *d, const struct claim *c, enum which which)
{
    bool is_switch = c->info.node_type == FAB_NODE_SWITCH;
    return which == ALL || (is_switch && (which == ONE_SWITCH || find(d, c->info.node_guid)));
}

/* Decides about some claims. Before, the caller must have queried the last places of the claimed
 * GUIDs. `which` selects the claims. KNOWN_SWITCHES: those of the GUIDs of known switches.
 * ONE_SWITCH: the first claim of a switch. ALL: all. *ret_decided is the number of claims that were
 * decided. Returns OK or NOMEM. */
static int decide_due(struct fab_discover *d, enum which which, size_t *ret_decided)
{
    size_t kept = 0;
    int status = FAB_OK;
    *ret_decided = 0;
    for (size_t i = 0; i < d->claim_count; i++) {
        struct claim c = d->claims[i];
        bool enough = which == ONE_SWITCH && *ret_decided > 0;
        if (status != FAB_OK || enough || !is_due(d, &c, which)) {
            d->claims[kept++] = c;
            continue;
        }
        status = decide(d, &c);
        (*ret_decided)++;
    }
    d->claim_count = kept;
    return status;
}

bool fab_discover_claims_step(struct fab_discover *d)
{
    int status = FAB_OK;
    size_t decided = 0;
    if (d->claim_count == 0 || d->status != FAB_OK)
        return false;
    for (size_t i = 0; i < d->claim_count && status == FAB_OK; i++)
        status = verify(d, &d->claims[i]);
    if (status == FAB_OK && has_work(d))
        return true;
    for (unsigned which = KNOWN_SWITCHES; which <= ALL && decided == 0 && status == FAB_OK; which++)
        status = decide_due(d, which, &decided);
    d->status = status;
    return status == FAB_OK;
}
