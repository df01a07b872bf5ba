/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes directed routes to all nodes of a snapshot, by a breadth-first search from the manager's
 * port over links that are up. Only switches forward directed-route SMPs, so at an adapter a route
 * can only begin or end (IBA 14.2.2). Routes lead through a silent switch only to nodes that have
 * no other route, because a silent switch possibly forwards no directed-route SMPs.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"

struct search {
    const struct fab_fabric *f;
    struct fab_path *paths;
    /* [node_count] queue of node ids; the search puts each node into it at most once */
    uint32_t *queue;
    /* [switch_count] switches that are silent or in `avoid`; the search continues behind them only
     * after it has visited all other nodes */
    uint32_t *late;
    uint32_t tail, lates;
    /* Bitset of nodes that are treated like silent switches: a route leads through such a node only
     * to nodes that have no other route. NULL: there are no such nodes. */
    const uint64_t *avoid;
};

static void step(struct search *s, uint32_t node, uint8_t num)
{
    const struct fab_path *here = &s->paths[node];
    uint32_t port = fab_fabric_port_id(s->f, node, num);
    uint32_t far = fab_fabric_peer_node(s->f, port);
    if (far == FAB_NONE || s->paths[far].hops != FAB_PATH_UNKNOWN ||
        !fab_fabric_port_is_up(s->f, port) || here->hops >= FAB_MAX_HOPS)
        return;
    s->paths[far] = *here;
    s->paths[far].port[++s->paths[far].hops] = num;
    s->queue[s->tail++] = far;
}

static void expand(struct search *s, uint32_t node)
{
    for (unsigned num = 1; num <= s->f->nodes[node].num_ports; num++)
        step(s, node, (uint8_t)num);
}

static bool is_late(const struct search *s, uint32_t node)
{
    return s->f->nodes[node].silent || (s->avoid != NULL && fab_base_bits_get(s->avoid, node));
}

static void search(struct search *s)
{
    const struct fab_port *self = fab_fabric_port(s->f, s->f->self_port);
    s->paths[self->node].hops = 0;
    s->queue[s->tail++] = self->node;
    if (!fab_fabric_node_is_switch(s->f, self->node))
        step(s, self->node, self->num);
    for (uint32_t head = 0, late = 0; head < s->tail || late < s->lates;) {
        if (head == s->tail) {
            expand(s, s->late[late++]);
            continue;
        }
        uint32_t node = s->queue[head++];
        if (fab_fabric_node_is_switch(s->f, node) && is_late(s, node))
            s->late[s->lates++] = node;
        else if (fab_fabric_node_is_switch(s->f, node))
            expand(s, node);
    }
}

int fab_discover_paths_around(const struct fab_fabric *f, const uint64_t *avoid,
                              struct fab_path **ret_paths)
{
    if (f->self_port == FAB_NONE)
        return FAB_E_INVAL;
    struct search s = {.f = f, .paths = calloc(f->node_count, sizeof *s.paths), .avoid = avoid};
    int status = FAB_E_NOMEM;
    s.queue = fab_base_alloc_array(f->node_count, sizeof *s.queue);
    s.late = fab_base_alloc_array((size_t)f->switch_count + 1, sizeof *s.late);
    if (s.paths == NULL || s.queue == NULL || s.late == NULL)
        goto out;
    for (uint32_t n = 0; n < f->node_count; n++)
        s.paths[n].hops = FAB_PATH_UNKNOWN;
    search(&s);
    *ret_paths = s.paths;
    s.paths = NULL;
    status = FAB_OK;
out:
    free(s.paths);
    free(s.queue);
    free(s.late);
    return status;
}

int fab_discover_paths(const struct fab_fabric *f, struct fab_path **ret_paths)
{
    int status = fab_discover_paths_around(f, NULL, ret_paths);
    for (uint32_t n = 0; status == FAB_OK && n < f->switch_count; n++)
        if (f->nodes[n].silent)
            (*ret_paths)[n].hops = FAB_PATH_UNKNOWN;
    return status;
}

/* ---- lost links ------------------------------------------------------------------------------ */

/* A search for new routes after links were lost (fab_discover_paths_without), or when routes must
 * avoid a node (fab_discover_paths_avoid). It replaces only the routes over these links or through
 * this node. A route leads over a link if it begins with the route to the far end of this link. A
 * silent switch itself has no route, so this test fails for routes through it. In a fabric with
 * silent switches, the search therefore follows each route hop by hop. */
struct detour {
    const struct fab_fabric *f;
    bool silent; /* the fabric has silent switches */
    /* The node through which no route may lead; FAB_NONE: there is none. */
    uint32_t avoid;
    struct fab_path *paths;
    /* [losts] routes to the far ends of the lost links, or to the node to avoid; every route that
     * begins with one of these is lost */
    struct fab_path *lost;
    size_t losts;
    /* [nodes] ids of the nodes that lost their routes, ascending. */
    uint32_t *node;
    uint32_t nodes;
    /* [node_count] number of hops of the shortest route found so far to each node of node[];
     * FAB_PATH_UNKNOWN: none yet; 0 for all nodes that are not in node[]. */
    uint8_t *hops;
    /* [node_count] for each node of node[], the output port of the last hop of its shortest
     * route. */
    uint32_t *via;
};

/* Returns true if the route `path` begins with the route `start`. */
static bool begins_with(const struct fab_path *path, const struct fab_path *start)
{
    return path->hops != FAB_PATH_UNKNOWN && path->hops >= start->hops &&
           memcmp(path->port + 1, start->port + 1, start->hops) == 0;
}

/* Appends the route to the node of port `to` to lost[], if its last hop is the link from port
 * `from` to port `to`. */
static void note_lost(struct detour *d, uint32_t from, uint32_t to)
{
    const struct fab_port *near = fab_fabric_port(d->f, from);
    const struct fab_path *a = &d->paths[near->node],
                          *b = &d->paths[fab_fabric_port(d->f, to)->node];
    if (a->hops == FAB_PATH_UNKNOWN || b->hops != a->hops + 1 || b->port[b->hops] != near->num ||
        !begins_with(b, a))
        return;
    for (size_t i = 0; i < d->losts; i++)
        if (begins_with(b, &d->lost[i]))
            return;
    d->lost[d->losts++] = *b;
}

/* Follows a route, and returns the node at its end. Returns FAB_NONE if a link of the route is not
 * up, or if the route passes through the node to avoid. Sets *ret_silent if the route passes
 * through a silent switch. */
static uint32_t follow(const struct detour *d, const struct fab_path *path, bool *ret_silent)
{
    const struct fab_fabric *f = d->f;
    uint32_t node = fab_fabric_port(f, f->self_port)->node;
    for (unsigned hop = 1; hop <= path->hops && node != FAB_NONE; hop++) {
        uint32_t port = fab_fabric_port_id(f, node, path->port[hop]);
        bool leads_on = node != d->avoid && fab_fabric_port_is_up(f, port);
        *ret_silent |= f->nodes[node].silent;
        node = leads_on ? fab_fabric_peer_node(f, port) : FAB_NONE;
    }
    return node;
}

static bool is_lost(const struct detour *d, uint32_t node)
{
    const struct fab_path *path = &d->paths[node];
    bool silent = false;
    size_t i = 0;
    if (d->silent)
        return path->hops != FAB_PATH_UNKNOWN && follow(d, path, &silent) != node;
    if (node == d->avoid)
        return false;
    while (i < d->losts && !begins_with(path, &d->lost[i]))
        i++;
    return i < d->losts;
}

/* Returns true if routes to other nodes may lead through this node, whose own route must be known:
 * it is not the node to avoid, and its own route passes no silent switch. */
static bool may_lead_on(const struct detour *d, uint32_t node)
{
    bool silent = false;
    if (d->silent)
        follow(d, &d->paths[node], &silent);
    return !silent && node != d->avoid;
}

static void list_nodes(struct detour *d)
{
    for (uint32_t n = 0; (d->losts > 0 || d->silent) && n < d->f->node_count; n++)
        if (is_lost(d, n))
            d->node[d->nodes++] = n;
    for (uint32_t i = 0; i < d->nodes; i++) {
        d->paths[d->node[i]].hops = FAB_PATH_UNKNOWN;
        d->hops[d->node[i]] = FAB_PATH_UNKNOWN;
    }
}

/* If the node at the other end of this port's link has lost its route, proposes the route over this
 * link. The node gets the shortest of all proposed routes. */
static void offer(struct detour *d, uint32_t port)
{
    const struct fab_fabric *f = d->f;
    uint32_t node = fab_fabric_port(f, port)->node, far = fab_fabric_peer_node(f, port);
    unsigned hops = d->paths[node].hops + 1u;
    bool forwards = fab_fabric_node_is_switch(f, node) || port == f->self_port;
    if (!forwards || far == FAB_NONE || d->paths[far].hops != FAB_PATH_UNKNOWN ||
        hops > FAB_MAX_HOPS || hops >= d->hops[far] || !fab_fabric_port_is_up(f, port))
        return;
    d->hops[far] = (uint8_t)hops;
    d->via[far] = port;
}

static void offer_to_neighbours(struct detour *d, uint32_t node)
{
    for (unsigned num = 1; num <= d->f->nodes[node].num_ports; num++)
        offer(d, fab_fabric_port_id(d->f, node, (uint8_t)num));
}

/* For each node that lost its route, proposes the routes over those of its neighbours that still
 * have a route. */
static void offer_from_outside(struct detour *d)
{
    const struct fab_fabric *f = d->f;
    for (uint32_t i = 0; i < d->nodes; i++)
        for (unsigned num = 1; num <= f->nodes[d->node[i]].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, d->node[i], (uint8_t)num);
            uint32_t near = fab_fabric_peer_node(f, port);
            if (near != FAB_NONE && d->paths[near].hops != FAB_PATH_UNKNOWN && may_lead_on(d, near))
                offer(d, fab_fabric_port(f, port)->peer);
        }
}

/* Sets the routes that were found for the nodes in node[], the shortest route first. */
static void take_routes(struct detour *d)
{
    uint32_t left = d->nodes;
    for (unsigned hops = 1; hops <= FAB_MAX_HOPS && left > 0; hops++) {
        left = 0;
        for (uint32_t i = 0; i < d->nodes; i++) {
            uint32_t node = d->node[i];
            struct fab_path *path = &d->paths[node];
            left += path->hops == FAB_PATH_UNKNOWN;
            if (d->hops[node] != hops || path->hops != FAB_PATH_UNKNOWN)
                continue;
            const struct fab_port *via = fab_fabric_port(d->f, d->via[node]);
            *path = d->paths[via->node];
            path->port[++path->hops] = via->num;
            offer_to_neighbours(d, node);
        }
    }
}

/* If some nodes are still without a route and the fabric has silent switches, computes all routes
 * anew. */
static int search_behind_silent(struct detour *d)
{
    struct fab_path *anew = NULL;
    uint32_t i = 0;
    while (i < d->nodes && d->paths[d->node[i]].hops != FAB_PATH_UNKNOWN)
        i++;
    if (!d->silent || i == d->nodes)
        return FAB_OK;
    int status = fab_discover_paths(d->f, &anew);
    if (status == FAB_OK)
        memcpy(d->paths, anew, d->f->node_count * sizeof(*anew));
    free(anew);
    return status;
}

static bool any_silent(const struct fab_fabric *f)
{
    uint32_t sw = 0;
    while (sw < f->switch_count && !f->nodes[sw].silent)
        sw++;
    return sw < f->switch_count;
}

/* Prepares a search; lost[] has room for `losts` elements. Returns OK or NOMEM. */
static int begin(struct detour *d, const struct fab_fabric *f, struct fab_path *paths, size_t losts)
{
    *d = (struct detour){.f = f, .paths = paths, .silent = any_silent(f), .avoid = FAB_NONE};
    d->lost = calloc(losts + 1, sizeof(*d->lost));
    d->node = fab_base_alloc_array(f->node_count, sizeof(*d->node));
    d->hops = calloc(f->node_count, sizeof(*d->hops));
    d->via = fab_base_alloc_array(f->node_count, sizeof(*d->via));
    return d->lost && d->node && d->hops && d->via ? FAB_OK : FAB_E_NOMEM;
}

static void find_routes(struct detour *d)
{
    list_nodes(d);
    offer_from_outside(d);
    take_routes(d);
}

static void end(struct detour *d)
{
    free(d->lost);
    free(d->node);
    free(d->hops);
    free(d->via);
}

int fab_discover_paths_without(const struct fab_fabric *f, const uint32_t *port, size_t count,
                               struct fab_path *paths)
{
    struct detour d;
    int status = begin(&d, f, paths, 2 * count);
    for (size_t i = 0; status == FAB_OK && i < count; i++) {
        note_lost(&d, port[2 * i], port[2 * i + 1]);
        note_lost(&d, port[2 * i + 1], port[2 * i]);
    }
    if (status == FAB_OK) {
        find_routes(&d);
        status = search_behind_silent(&d);
    }
    end(&d);
    return status;
}

int fab_discover_paths_avoid(const struct fab_fabric *f, uint32_t node, struct fab_path *paths)
{
    struct detour d;
    if (paths[node].hops == FAB_PATH_UNKNOWN)
        /* The node itself has no route, so no other route leads through it. */
        return FAB_OK;
    int status = begin(&d, f, paths, 1);
    if (status == FAB_OK) {
        d.avoid = node;
        d.lost[d.losts++] = paths[node];
        find_routes(&d);
        /* Nodes that are still without a route can be reached only through this node, so they get
         * routes through it. */
        offer_to_neighbours(&d, node);
        take_routes(&d);
        d.avoid = FAB_NONE;
        status = search_behind_silent(&d);
    }
    end(&d);
    return status;
}

bool fab_discover_path_leads_through(const struct fab_path *paths, uint32_t node, uint32_t through)
{
    return node != through && paths[through].hops != FAB_PATH_UNKNOWN &&
           begins_with(&paths[node], &paths[through]);
}
