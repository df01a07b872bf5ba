/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The targeted sweep starts from a snapshot. It queries the suspects (nodes or ports that may have
 * changed), and the new nodes that it finds beyond the suspects. It queries nothing else.
 *
 * The route to a suspect may use the very link that failed. The sweep therefore queries the
 * suspects in waves, the nearest first. Before each wave, routes are computed with what the earlier
 * waves found: lost and new links, and unresponsive nodes.
 *
 * The sweep ends when no suspect is left, or no route leads to any suspect. The result leaves out a
 * node if no chain of links leads to it any more. An unresponsive switch still counts as a part of
 * such chains, so the result keeps the nodes beyond the switch.
 *
 * If a port reports that its link is down, and the port at the other end belongs to a switch, the
 * sweep also reads that port, because its trap may have been lost. If the port at the other end
 * belongs to an adapter, the sweep removes that port, because a heavy sweep would not find it
 * either.
 *
 * If a link was trained again, the sweep reads all data of the switch behind the link, because this
 * switch may have restarted and lost its tables. If a node is unresponsive, the sweep reads the
 * ports of neighbours that are linked to it. Their state shows whether the node is off.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

/* Adds all nodes of the base snapshot as known nodes. In the builder, the reference of each of them
 * is its id in this snapshot. */
static int add_base_nodes(struct fab_discover *d)
{
    for (uint32_t n = 0; n < d->base->node_count; n++) {
        const struct fab_node *node = &d->base->nodes[n];
        struct fab_node_info info = {
            .node_type = node->type, .num_ports = node->num_ports, .node_guid = node->guid};
        struct known_node *p;
        int status = fab_discover_node_add(d, n, &info, &p);
        if (status != FAB_OK)
            return status;
    }
    return FAB_OK;
}

static int add_suspects(struct fab_discover *d, const struct fab_discover_config *config)
{
    for (uint32_t i = 0; i < config->suspect_count; i++) {
        uint32_t ref = fab_fabric_node_by_guid(d->base, config->suspects[i]);
        if (ref == FAB_NONE)
            continue;
        struct item item = {.ref = ref, .port = ALL_PORTS};
        int status = fab_discover_queue_push(&d->suspects, item);
        if (status != FAB_OK)
            return status;
    }
    return FAB_OK;
}

static void mark_failed(struct fab_discover *d, const struct fab_discover_config *config)
{
    for (uint32_t i = 0; i < config->failed_count; i++) {
        uint32_t ref = fab_fabric_node_by_guid(d->base, config->failed[i]);
        if (ref != FAB_NONE)
            fab_discover_node_get(d, ref)->reported_failed = true;
    }
}

int fab_discover_targeted_start(struct fab_discover *d, const struct fab_discover_config *config)
{
    d->base = config->base;
    int status = add_base_nodes(d);
    if (status == FAB_OK)
        status = fab_discover_keep_base(d);
    if (status == FAB_OK)
        status = add_suspects(d, config);
    if (status != FAB_OK)
        return status;
    mark_failed(d, config);
    d->self = fab_fabric_port(d->base, d->base->self_port)->node;
    d->self_port = fab_fabric_port(d->base, d->base->self_port)->num;
    d->paths_stale = true;
    /* The base snapshot lacks the links that the manager has excluded, so some of its nodes may be
     * unreachable. */
    d->cut = true;
    (void)fab_discover_targeted_wave(d);
    return d->status;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static void forget_paths(struct fab_discover *d)
{
    for (size_t i = 0; i < d->known_capacity; i++) {
        if (d->known[i] == NULL)
            continue;
        d->known[i]->path.hops = FAB_PATH_UNKNOWN;
        d->known[i]->passed = false;
    }
}

/* Returns true unless the PortInfo of the port shows that its link is down. */
static bool usable(const struct fab_discover *d, const struct known_node *p, uint8_t port)
{
    const struct fab_port_info *info = fab_fabric_builder_get_port_info(d->builder, p->ref, port);
    return info == NULL || info->phys_state == FAB_PHYS_LINKUP;
}

/* Sets the directed route to the node behind a port, and returns this node. Returns NULL if there
 * is no node, if it already has a route, or if no route can lead over this link. */
static struct known_node *step(const struct fab_discover *d, const struct known_node *p,
                               uint8_t port)
{
    uint32_t ref;
    uint8_t far_port;
    if (fab_fabric_builder_peer(d->builder, p->ref, port, &ref, &far_port) != FAB_OK ||
        !usable(d, p, port) || p->path.hops >= FAB_MAX_HOPS)
        return NULL;
    struct known_node *far = fab_discover_node_get(d, ref);
    if (far->path.hops != FAB_PATH_UNKNOWN)
        return NULL;
    far->path = p->path;
    far->path.port[++far->path.hops] = port;
    if (far->near_guid == 0) {
        far->near_guid = p->guid;
        far->near_port = port;
    }
    return far;
}

/* Returns true if routes may lead through this node. Adapters do not forward packets. If `around`
 * is true, routes avoid unresponsive switches. */
static bool leads_on(const struct fab_discover *d, const struct known_node *p, bool around)
{
    return p->ref == d->self ||
           (p->type == FAB_NODE_SWITCH && !(around && fab_discover_node_is_unresponsive(p)));
}

static int expand(struct fab_discover *d, const struct known_node *p, struct queue *queue)
{
    bool is_switch = p->type == FAB_NODE_SWITCH;
    unsigned first = is_switch ? 1 : d->self_port, last = is_switch ? p->num_ports : first;
    int status = FAB_OK;
    for (unsigned port = first; port <= last && status == FAB_OK; port++) {
        const struct known_node *far = step(d, p, (uint8_t)port);
        if (far != NULL)
            status = fab_discover_queue_push(queue, (struct item){.ref = far->ref});
    }
    return status;
}

/* Computes directed routes to all nodes by a breadth-first search over the known links. If `around`
 * is true, no route leads through an unresponsive switch. Routes lead through a silent switch only
 * to nodes that have no other route, because a silent switch possibly forwards no directed-route
 * SMPs. The same applies to switches that have probably failed. */
static int find_paths(struct fab_discover *d, bool around)
{
    struct queue queue = {0}, last = {0};
    struct item item = {.ref = d->self};
    forget_paths(d);
    fab_discover_node_get(d, d->self)->path.hops = 0;
    int status = fab_discover_queue_push(&queue, item);
    while (status == FAB_OK &&
           (fab_discover_queue_pop(&queue, &item) || fab_discover_queue_pop(&last, &item))) {
        struct known_node *p = fab_discover_node_get(d, item.ref);
        if (!leads_on(d, p, around))
            continue;
        bool last_choice = p->silent || fab_discover_node_has_failed(p);
        bool later = last_choice && !p->passed;
        p->passed = last_choice;
        status = later ? fab_discover_queue_push(&last, item) : expand(d, p, &queue);
    }
    free(queue.items);
    free(last.items);
    d->paths_stale = false;
    return status;
}

/* Removes the node from the snapshot. Also removes adapter ports that were linked to it, because a
 * snapshot has only adapter ports with a link. */
static void remove_node(struct fab_discover *d, const struct known_node *p)
{
    uint32_t ref;
    uint8_t far_port;
    for (unsigned port = 1; port <= p->num_ports; port++) {
        if (fab_fabric_builder_peer(d->builder, p->ref, (uint8_t)port, &ref, &far_port) == FAB_OK &&
            fab_discover_node_get(d, ref)->type != FAB_NODE_SWITCH)
            fab_fabric_builder_forget_port(d->builder, ref, far_port);
    }
    fab_fabric_builder_remove_node(d->builder, p->ref);
}

int fab_discover_targeted_prune(struct fab_discover *d)
{
    int status = find_paths(d, false);
    for (size_t i = 0; i < d->known_capacity && status == FAB_OK; i++) {
        const struct known_node *p = d->known[i];
        if (p != NULL && p->path.hops == FAB_PATH_UNKNOWN)
            remove_node(d, p);
    }
    d->cut = false;
    return status;
}

/* ---- waves ----------------------------------------------------------------------------------- */

static int queue_node(struct fab_discover *d, struct known_node *p)
{
    int status = fab_discover_queue_push(&d->walks, (struct item){.ref = p->ref});
    if (p->type == FAB_NODE_SWITCH)
        return status;
    for (unsigned port = 1; port <= p->num_ports && status == FAB_OK; port++) {
        if (fab_discover_port_has_link(d, p, (uint8_t)port) && fab_base_bits_add(p->asked, port))
            status = fab_discover_queue_push(&d->reads,
                                             (struct item){.ref = p->ref, .port = (uint8_t)port});
    }
    return status;
}

static int queue_suspect(struct fab_discover *d, struct item item)
{
    struct known_node *p = fab_discover_node_get(d, item.ref);
    if (item.port != ALL_PORTS)
        return fab_base_bits_add(p->asked, item.port) ? fab_discover_queue_push(&d->reads, item)
                                                      : FAB_OK;
    if (p->walked)
        return FAB_OK;
    p->walked = true;
    return queue_node(d, p);
}

static uint8_t nearest(const struct fab_discover *d)
{
    uint8_t hops = FAB_PATH_UNKNOWN;
    for (size_t i = d->suspects.head; i < d->suspects.tail; i++) {
        const struct known_node *p = fab_discover_node_get(d, d->suspects.items[i].ref);
        if (p->path.hops < hops)
            hops = p->path.hops;
    }
    return hops;
}

/* Queues queries of the suspects that are `hops` hops away from the manager. */
static int queue_wave(struct fab_discover *d, uint8_t hops)
{
    struct queue waiting = d->suspects;
    struct item item;
    int status = FAB_OK;
    d->suspects = (struct queue){0};
    while (status == FAB_OK && fab_discover_queue_pop(&waiting, &item)) {
        uint8_t far = fab_discover_node_get(d, item.ref)->path.hops;
        status = far == hops ? queue_suspect(d, item) : fab_discover_queue_push(&d->suspects, item);
    }
    free(waiting.items);
    return status;
}

bool fab_discover_targeted_wave(struct fab_discover *d)
{
    if (d->base == NULL || fab_discover_queue_empty(&d->suspects) || d->status != FAB_OK)
        return false;
    int status = d->paths_stale ? find_paths(d, true) : FAB_OK;
    uint8_t hops = nearest(d);
    if (status == FAB_OK && hops != FAB_PATH_UNKNOWN)
        status = queue_wave(d, hops);
    d->status = status;
    return status == FAB_OK && hops != FAB_PATH_UNKNOWN;
}

int fab_discover_targeted_link_lost(struct fab_discover *d, struct known_node *far,
                                    uint8_t far_port)
{
    d->paths_stale = true;
    if (far->lost_links < UINT8_MAX)
        far->lost_links++;
    if (d->base == NULL || fab_base_bits_get(far->asked, far_port))
        return FAB_OK;
    if (far->type != FAB_NODE_SWITCH)
        return fab_fabric_builder_forget_port(d->builder, far->ref, far_port);
    return fab_discover_queue_push(&d->suspects, (struct item){.ref = far->ref, .port = far_port});
}

int fab_discover_targeted_node_lost(struct fab_discover *d, const struct known_node *p)
{
    uint32_t ref;
    uint8_t far_port;
    int status = FAB_OK;
    d->paths_stale = true;
    for (unsigned port = 1; port <= p->num_ports && status == FAB_OK; port++) {
        if (fab_fabric_builder_peer(d->builder, p->ref, (uint8_t)port, &ref, &far_port) == FAB_OK &&
            fab_discover_node_get(d, ref)->type == FAB_NODE_SWITCH)
            status =
                fab_discover_queue_push(&d->suspects, (struct item){.ref = ref, .port = far_port});
    }
    return status;
}
