/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scoped look: a snapshot is the start, and only the suspects are looked at again, with what
 * hangs new on them.
 *
 * The way to a suspect may lead over the very cable that went. So suspects are taken in waves, the
 * nearest first; what a wave learns (cables cut, cables new, who does not answer) is in the ways of
 * the next. The look ends when there are no suspects, or no way to any of them; the result leaves
 * out what is not reached, but not what only lies behind somebody who does not answer.
 *
 * The far end of a cable that went has that one port read, if it is a switch (its trap may have
 * been lost); an adapter's port is forgotten, as a whole look would not find it. A switch that is
 * found at the end of a cable trained anew is walked whole, because it may have been restarted and
 * lost its tables.
 *
 * Of a node that does not answer, the switches around it are asked for the ports that face it: they
 * know whether it is off.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

/* Any node of the base is a place from the start; references of the builder are its ids. */
static int add_places(struct fab_discover *d)
{
    for (uint32_t n = 0; n < d->base->node_count; n++) {
        const struct fab_node *node = &d->base->nodes[n];
        struct fab_node_info info = {
            .node_type = node->type, .num_ports = node->num_ports, .node_guid = node->guid};
        struct place *p;
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
        struct item item = {.place = ref, .port = ALL_PORTS};
        int status = fab_discover_queue_push(&d->suspects, item);
        if (status != FAB_OK)
            return status;
    }
    return FAB_OK;
}

int fab_discover_targeted_start(struct fab_discover *d, const struct fab_discover_config *config)
{
    d->base = config->base;
    int status = add_places(d);
    if (status == FAB_OK)
        status = add_suspects(d, config);
    if (status != FAB_OK)
        return status;
    d->self = d->base->ports[d->base->self_port].node;
    d->self_port = d->base->ports[d->base->self_port].num;
    d->paths_stale = true;
    d->cut = true; /* the base may have lost cables since it was looked at */
    (void)fab_discover_targeted_wave(d);
    return d->status;
}

/* ---- ways -------------------------------------------------------------------------------------
 */

static void forget_paths(struct fab_discover *d)
{
    for (size_t i = 0; i < d->place_capacity; i++) {
        if (d->places[i] != NULL)
            d->places[i]->path.hops = FAB_PATH_UNKNOWN;
    }
}

/* A cable carries SMPs unless its port says that it is not up. */
static bool usable(const struct fab_discover *d, const struct place *p, uint8_t port)
{
    const struct fab_port_info *info = fab_fabric_builder_get_port_info(d->builder, p->ref, port);
    return info == NULL || info->phys_state == FAB_PHYS_LINKUP;
}

/* The place behind a port when it was not reached before, with its path set. */
static struct place *step(const struct fab_discover *d, const struct place *p, uint8_t port)
{
    uint32_t ref;
    uint8_t far_port;
    if (fab_fabric_builder_peer(d->builder, p->ref, port, &ref, &far_port) != FAB_OK ||
        !usable(d, p, port) || p->path.hops >= FAB_MAX_HOPS)
        return NULL;
    struct place *far = fab_discover_node_get(d, ref);
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

/* Adapters pass nothing on, nor does, when that counts, who does not answer. */
static bool leads_on(const struct fab_discover *d, const struct place *p, bool around)
{
    return p->ref == d->self ||
           (p->type == FAB_NODE_SWITCH && !(around && fab_discover_node_is_unresponsive(p)));
}

/* Ways to all places by breadth-first search over the cables that are known now; around: those who
 * do not answer. */
static int find_paths(struct fab_discover *d, bool around)
{
    struct queue queue = {0};
    struct item item = {.place = d->self};
    forget_paths(d);
    fab_discover_node_get(d, d->self)->path.hops = 0;
    int status = fab_discover_queue_push(&queue, item);
    while (status == FAB_OK && fab_discover_queue_pop(&queue, &item)) {
        const struct place *p = fab_discover_node_get(d, item.place);
        bool is_switch = p->type == FAB_NODE_SWITCH;
        unsigned first = is_switch ? 1 : d->self_port, last = is_switch ? p->num_ports : first;
        if (!leads_on(d, p, around))
            continue;
        for (unsigned port = first; port <= last && status == FAB_OK; port++) {
            const struct place *far = step(d, p, (uint8_t)port);
            if (far != NULL)
                status = fab_discover_queue_push(&queue, (struct item){.place = far->ref});
        }
    }
    free(queue.items);
    d->paths_stale = false;
    return status;
}

/* Adapters keep only the ports over which they are reached. */
static void remove_place(struct fab_discover *d, const struct place *p)
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
    for (size_t i = 0; i < d->place_capacity && status == FAB_OK; i++) {
        const struct place *p = d->places[i];
        if (p != NULL && p->path.hops == FAB_PATH_UNKNOWN)
            remove_place(d, p);
    }
    d->cut = false;
    return status;
}

/* ---- waves ------------------------------------------------------------------------------------
 */

static int release_ports(struct fab_discover *d, struct place *p)
{
    int status = fab_discover_queue_push(&d->walks, (struct item){.place = p->ref});
    if (p->type == FAB_NODE_SWITCH)
        return status;
    for (unsigned port = 1; port <= p->num_ports && status == FAB_OK; port++) {
        if (fab_discover_port_has_link(d, p, (uint8_t)port) && fab_base_bits_add(p->asked, port))
            status = fab_discover_queue_push(&d->reads,
                                             (struct item){.place = p->ref, .port = (uint8_t)port});
    }
    return status;
}

static int release(struct fab_discover *d, struct item item)
{
    struct place *p = fab_discover_node_get(d, item.place);
    if (item.port != ALL_PORTS)
        return fab_base_bits_add(p->asked, item.port) ? fab_discover_queue_push(&d->reads, item)
                                                      : FAB_OK;
    if (p->walked)
        return FAB_OK;
    p->walked = true;
    return release_ports(d, p);
}

static uint8_t nearest(const struct fab_discover *d)
{
    uint8_t hops = FAB_PATH_UNKNOWN;
    for (size_t i = d->suspects.head; i < d->suspects.tail; i++) {
        const struct place *p = fab_discover_node_get(d, d->suspects.items[i].place);
        if (p->path.hops < hops)
            hops = p->path.hops;
    }
    return hops;
}

/* Moves the suspects at that distance to the queues of work. */
static int release_wave(struct fab_discover *d, uint8_t hops)
{
    struct queue waiting = d->suspects;
    struct item item;
    int status = FAB_OK;
    d->suspects = (struct queue){0};
    while (status == FAB_OK && fab_discover_queue_pop(&waiting, &item)) {
        uint8_t far = fab_discover_node_get(d, item.place)->path.hops;
        status = far == hops ? release(d, item) : fab_discover_queue_push(&d->suspects, item);
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
        status = release_wave(d, hops);
    d->status = status;
    return status == FAB_OK && hops != FAB_PATH_UNKNOWN;
}

int fab_discover_targeted_link_lost(struct fab_discover *d, const struct place *far,
                                    uint8_t far_port)
{
    d->paths_stale = true;
    if (d->base == NULL || fab_base_bits_get(far->asked, far_port))
        return FAB_OK;
    if (far->type != FAB_NODE_SWITCH)
        return fab_fabric_builder_forget_port(d->builder, far->ref, far_port);
    return fab_discover_queue_push(&d->suspects,
                                   (struct item){.place = far->ref, .port = far_port});
}

int fab_discover_targeted_node_lost(struct fab_discover *d, const struct place *p)
{
    uint32_t ref;
    uint8_t far_port;
    int status = FAB_OK;
    d->paths_stale = true;
    for (unsigned port = 1; port <= p->num_ports && status == FAB_OK; port++) {
        if (fab_fabric_builder_peer(d->builder, p->ref, (uint8_t)port, &ref, &far_port) == FAB_OK &&
            fab_discover_node_get(d, ref)->type == FAB_NODE_SWITCH)
            status = fab_discover_queue_push(&d->suspects,
                                             (struct item){.place = ref, .port = far_port});
    }
    return status;
}
