/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which query discovery sends next.
 *
 * There are four queues; the first has the highest priority. A *probe* requests NodeInfo of the
 * node behind a port. It finds a new node, or the other end of a link between known nodes. An
 * *identity query* requests NodeInfo of a known switch along its known route, because another
 * device claims its GUID (contest.c). A *read* requests one PortInfo, for example of the adapter
 * port by which an adapter was reached. A *walk* is the sequence of queries that reads a node:
 * SwitchInfo, PortInfo of all ports and NodeDescription for a switch, only NodeDescription for an
 * adapter.
 *
 * Probes have priority over walks. So discovery sends all probes from the switches at one distance
 * from the manager before it begins the walks of the switches one hop farther. If a link connects
 * two switches at the same distance, the walk of one end probes the link first; when the walk of
 * the other end comes to the link, its probe is dropped. tests/bench/bench_discover confirms that
 * discovery sends one NodeInfo for each link.
 *
 * A query owns its directed route until it is answered. The route to a node is the route of the
 * first probe that found the node. answer.c checks responses, contest.c decides between devices
 * with the same GUID, model.c keeps the nodes and links, targeted.c has the targeted sweep, and
 * result.c makes the result.
 *
 * See IBA 14.2.2 for directed routes and IBA 14.2.5 for attributes. If no earlier places of ports
 * are known, two switches with the same GUID are detected only if their links contradict each
 * other.
 */
#include "libfabmgr/discover/discover.h"

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

void fab_discover_free(struct fab_discover *d)
{
    if (d == NULL)
        return;
    fab_fabric_builder_free(d->builder);
    free(d->probes.items);
    free(d->reads.items);
    free(d->walks.items);
    free(d->suspects.items);
    free(d->identities.items);
    free(d->claims);
    fab_base_map_fini(&d->port_guids);
    fab_discover_places_unref(d->places);
    fab_discover_baseline_unref(d->baseline);
    fab_discover_silent_unref(d->silent);
    fab_fabric_unref(d->former);
    free(d->known);
    free(d->queries);
    free(d->unresponsive);
    fab_base_arena_fini(&d->arena);
    free(d);
}

/* ---- queries --------------------------------------------------------------------------------- */

static struct query *query_create(struct fab_discover *d)
{
    if (d->query_count == d->query_capacity) {
        void *grown = fab_base_grow(d->queries, sizeof(struct query *), (size_t)d->query_count + 1,
                                    &d->query_capacity);
        if (grown == NULL)
            return NULL;
        d->queries = grown;
    }
    struct query *q = fab_base_arena_alloc(&d->arena, 1, sizeof *q);
    if (q == NULL)
        return NULL;
    /* The index of the query in d->queries is its tag. This assignment only initialises next_free:
     * query_free() sets the value that is used. */
    q->next_free = d->query_count;
    d->queries[d->query_count++] = q;
    return q;
}

static struct query *query_new(struct fab_discover *d, uint8_t kind, struct item item,
                               uint32_t *ret_tag)
{
    struct query *q;
    uint32_t tag = d->free_query;
    if (tag != NO_REF) {
        q = d->queries[tag];
        d->free_query = q->next_free;
    } else {
        q = query_create(d);
        if (q == NULL)
            return NULL;
        tag = d->query_count - 1;
    }
    q->kind = kind;
    q->item = item;
    q->live = true;
    d->in_flight++;
    *ret_tag = tag;
    return q;
}

static void query_free(struct fab_discover *d, uint32_t tag)
{
    struct query *q = d->queries[tag];
    q->live = false;
    q->next_free = d->free_query;
    d->free_query = tag;
    d->in_flight--;
}

/* ---- the next query -------------------------------------------------------------------------- */

/* Returns true if the answer to a query is still needed. It is not needed if the link was already
 * seen from its other end, if the node is silent or unresponsive, or if no route leads to the node
 * any more. */
static bool worth_asking(const struct fab_discover *d, uint8_t kind, const struct item *item)
{
    const struct known_node *p = fab_discover_node_get(d, item->ref);
    if (p->path.hops == FAB_PATH_UNKNOWN || p->silent || fab_discover_node_is_unresponsive(p))
        return false;
    return kind != ASK_NODE_INFO || !fab_discover_port_has_link(d, p, item->port) ||
           !fab_base_bits_get(p->fresh, item->port);
}

/* Finds the next query of a walk: SwitchInfo, PortInfo of all ports and NodeDescription for a
 * switch, only NodeDescription for other nodes. Returns false if the walk has ended. */
static bool walk_step(struct known_node *p, struct item *item, uint8_t *ret_kind)
{
    bool is_switch = p->type == FAB_NODE_SWITCH;
    uint16_t last = is_switch ? (uint16_t)(p->num_ports + 2) : 0;
    while (p->cursor <= last) {
        uint16_t step = p->cursor++;
        if (step == last) {
            *ret_kind = ASK_NODE_DESC;
            return true;
        }
        if (step == 0) {
            *ret_kind = ASK_SWITCH_INFO;
            return true;
        }
        item->port = (uint8_t)(step - 1);
        *ret_kind = ASK_PORT_INFO;
        if (fab_base_bits_add(p->asked, item->port))
            return true;
    }
    return false;
}

static bool take_walk(struct fab_discover *d, struct item *ret_item, uint8_t *ret_kind)
{
    while (!fab_discover_queue_empty(&d->walks)) {
        struct item item = d->walks.items[d->walks.head];
        if (walk_step(fab_discover_node_get(d, item.ref), &item, ret_kind)) {
            *ret_item = item;
            return true;
        }
        fab_discover_queue_pop(&d->walks, &item);
    }
    return false;
}

/* Takes the next item from the queues, whether or not its answer is still needed. Returns false if
 * the queues are empty. */
static bool take_work(struct fab_discover *d, struct item *ret_item, uint8_t *ret_kind)
{
    if (d->is_staged) {
        d->is_staged = false;
        *ret_item = d->staged;
        *ret_kind = d->staged_kind;
        return true;
    }
    if (fab_discover_queue_pop(&d->probes, ret_item)) {
        *ret_kind = ASK_NODE_INFO;
        return true;
    }
    if (fab_discover_queue_pop(&d->identities, ret_item)) {
        *ret_kind = ASK_IDENTITY;
        return true;
    }
    if (fab_discover_queue_pop(&d->reads, ret_item)) {
        *ret_kind = ASK_PORT_INFO;
        return true;
    }
    return take_walk(d, ret_item, ret_kind);
}

/* Takes the next query whose answer is still needed. If the queues are empty, first queues queries
 * of further suspects (targeted.c), or decides about claimed GUIDs (contest.c). Returns false if no
 * query is left. */
static bool take_query(struct fab_discover *d, struct item *ret_item, uint8_t *ret_kind)
{
    if (d->status != FAB_OK)
        return false;
    do {
        while (take_work(d, ret_item, ret_kind)) {
            if (worth_asking(d, *ret_kind, ret_item))
                return true;
        }
    } while (d->in_flight == 0 && (fab_discover_targeted_wave(d) || fab_discover_claims_step(d)));
    return false;
}

/* If no query is in flight, stores the next query in d->staged. Then fab_discover_done knows at
 * once whether a query is left. */
static void settle(struct fab_discover *d)
{
    if (d->in_flight == 0 && !d->root_pending)
        d->is_staged = take_query(d, &d->staged, &d->staged_kind);
}

int fab_discover_new(const struct fab_discover_config *config, struct fab_discover **ret)
{
    if (config->base != NULL && config->base->self_port == FAB_NONE)
        return FAB_E_INVAL;
    struct fab_discover *d = calloc(1, sizeof *d);
    int status = FAB_E_NOMEM;
    if (d == NULL)
        goto out;
    d->self = NO_REF;
    d->free_query = NO_REF;
    d->node_limit = config->node_limit ? config->node_limit : FAB_DISCOVER_NODE_LIMIT;
    if (d->node_limit > FAB_DISCOVER_NODES_MOST)
        d->node_limit = FAB_DISCOVER_NODES_MOST;
    d->port_limit = config->port_limit ? config->port_limit : FAB_DISCOVER_PORT_LIMIT;
    d->root_pending = config->base == NULL;
    d->places = fab_discover_places_ref(config->places);
    d->baseline = fab_discover_baseline_ref(config->baseline);
    d->silent = fab_discover_silent_ref(config->silent);
    d->former = config->former != NULL ? fab_fabric_ref(config->former) : NULL;
    d->builder = config->base ? fab_fabric_builder_from(config->base) : fab_fabric_builder_new();
    if (d->builder == NULL)
        goto out;
    status = config->base != NULL ? fab_discover_targeted_start(d, config) : FAB_OK;
    if (status != FAB_OK)
        goto out;
    settle(d);
    *ret = d;
    d = NULL;
out:
    fab_discover_free(d);
    return status;
}

/* Returns the directed route for a PortInfo query. Adapters do not forward packets, so the route to
 * a port of an adapter must end with the link of this port. */
static const struct fab_path *port_path(const struct fab_discover *d, const struct known_node *p,
                                        uint8_t port, struct fab_path *scratch)
{
    uint32_t ref;
    uint8_t far_port;
    bool own = p->ref == d->self && port == d->self_port;
    if (p->type == FAB_NODE_SWITCH || own ||
        fab_fabric_builder_peer(d->builder, p->ref, port, &ref, &far_port) != FAB_OK)
        return &p->path;
    const struct known_node *far = fab_discover_node_get(d, ref);
    if (far == NULL || far->path.hops >= FAB_MAX_HOPS)
        return &p->path;
    *scratch = far->path;
    scratch->port[++scratch->hops] = far_port;
    return scratch;
}

static const struct fab_path *query_path(const struct fab_discover *d, struct query *q)
{
    const struct known_node *p = fab_discover_node_get(d, q->item.ref);
    if (q->kind == ASK_PORT_INFO)
        return port_path(d, p, q->item.port, &q->path);
    if (q->kind != ASK_NODE_INFO)
        return &p->path;
    fab_base_bits_set(fab_discover_node_get(d, q->item.ref)->probed, q->item.port);
    q->path = p->path;
    q->path.port[++q->path.hops] = q->item.port;
    return &q->path;
}

static bool ask_root(struct fab_discover *d, struct fab_discover_ask *ret_ask)
{
    uint32_t tag;
    struct query *q = query_new(d, ASK_NODE_INFO, (struct item){.ref = NO_REF}, &tag);
    d->root_pending = false;
    if (q == NULL) { /* discovery has ended, because it failed */
        d->status = FAB_E_NOMEM;
        return false;
    }
    q->path = (struct fab_path){.hops = 0};
    *ret_ask = (struct fab_discover_ask){
        .path = &q->path, .attr_id = fab_discover_query_attr(q->kind), .tag = tag};
    return true;
}

bool fab_discover_next(struct fab_discover *d, struct fab_discover_ask *ret_ask)
{
    struct item item;
    uint8_t kind;
    uint32_t tag;
    if (d->root_pending)
        return ask_root(d, ret_ask);
    if (!take_query(d, &item, &kind))
        return false;
    struct query *q = query_new(d, kind, item, &tag);
    if (q == NULL) {
        d->status = FAB_E_NOMEM;
        return false;
    }
    *ret_ask = (struct fab_discover_ask){
        .path = query_path(d, q),
        .guid = kind == ASK_NODE_INFO || kind == ASK_IDENTITY
                    ? 0
                    : fab_discover_node_get(d, item.ref)->guid,
        .attr_id = fab_discover_query_attr(kind),
        .attr_mod = kind == ASK_PORT_INFO ? item.port : 0,
        .tag = tag,
    };
    return true;
}

int fab_discover_answer(struct fab_discover *d, uint64_t tag, int status, const uint8_t *data)
{
    if (tag >= d->query_count || !d->queries[tag]->live)
        /* a second response to a query that was answered before is ignored */
        return d->status;
    const struct query *q = d->queries[tag];
    int result = status == FAB_OK && data != NULL ? fab_discover_query_answered(d, q, data)
                                                  : fab_discover_query_failed(d, q, status);
    query_free(d, (uint32_t)tag);
    if (result != FAB_OK)
        d->status = result;
    settle(d);
    return d->status;
}

/* Returns the GUID of the node whose answer to the query is awaited; 0: the GUID is not known. */
static uint64_t awaited(const struct fab_discover *d, const struct query *q)
{
    uint32_t ref = q->item.ref;
    uint8_t far_port;
    if (ref == NO_REF ||
        (q->kind == ASK_NODE_INFO &&
         fab_fabric_builder_peer(d->builder, q->item.ref, q->item.port, &ref, &far_port) != FAB_OK))
        return 0;
    return fab_discover_node_get(d, ref)->guid;
}

uint64_t fab_discover_awaited_by(const struct fab_discover *d, uint64_t tag)
{
    return tag < d->query_count && d->queries[tag]->live ? awaited(d, d->queries[tag]) : 0;
}

uint32_t fab_discover_awaited(const struct fab_discover *d, uint64_t *guid, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->query_count && count < max; i++) {
        uint64_t what = fab_discover_awaited_by(d, i);
        if (what != 0)
            guid[count++] = what;
    }
    return count;
}

uint32_t fab_discover_route_of(const struct fab_discover *d, uint64_t node_guid, uint64_t *guid,
                               uint32_t max)
{
    uint32_t ref, at = d->self, count = 0;
    uint8_t far_port;
    if (fab_fabric_builder_find_node(d->builder, node_guid, &ref) != FAB_OK)
        return 0;
    const struct fab_path *path = &fab_discover_node_get(d, ref)->path;
    for (unsigned hop = 1; path->hops != FAB_PATH_UNKNOWN && hop < path->hops && count < max;
         hop++) {
        if (fab_fabric_builder_peer(d->builder, at, path->port[hop], &at, &far_port) != FAB_OK)
            break;
        guid[count++] = fab_discover_node_get(d, at)->guid;
    }
    return count;
}

bool fab_discover_done(const struct fab_discover *d)
{
    return d->in_flight == 0 && !d->is_staged && !d->root_pending;
}
