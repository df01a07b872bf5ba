/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine that says what to ask next.
 *
 * Its work is in three queues. A *probe* is NodeInfo down a port: it finds a node, or the other
 * end of a cable between known ones. A *walk* is everything there is to ask of one node: of a
 * switch SwitchInfo, PortInfo of port 0..N and NodeDescription; of an adapter NodeDescription
 * alone. A *read* is one PortInfo, that of an adapter's port over the cable it was reached by.
 *
 * Probes go first. So all probes of the switches of one level are on the wire before the switches
 * they find are walked, and a cable between them has been answered for from one side when the
 * other side learns that the cable is there: then its probe is dropped when its turn comes. What is
 * measured by tests/bench/bench_discover is one NodeInfo a cable.
 *
 * A question owns the directed route it travels on until it is answered; a node's route is that
 * of the probe which found it first. Numbers from the wire are bounded in answer.c; places, cables
 * and silent places are in places.c, the scoped look in scoped.c, the result in result.c.
 *
 * IBA 14.2.2 (directed routes), 14.2.5 (attributes). Known gaps: two switches with one GUID are
 * seen only when their cables contradict each other.
 */
#include "libfabmgr/discover/discover.h"

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

int fab_discover_new(const struct fab_discover_config *config, struct fab_discover **ret)
{
    if (config->base != NULL && config->base->self_port == FAB_NONE)
        return FAB_E_INVAL;
    struct fab_discover *d = calloc(1, sizeof *d);
    int status = FAB_E_NOMEM;
    if (d == NULL)
        goto out;
    d->self = NO_PLACE;
    d->free_question = NO_PLACE;
    d->node_limit = config->node_limit ? config->node_limit : FAB_DISCOVER_NODE_LIMIT;
    d->port_limit = config->port_limit ? config->port_limit : FAB_DISCOVER_PORT_LIMIT;
    d->root_pending = config->base == NULL;
    d->builder = config->base ? fab_fabric_builder_from(config->base) : fab_fabric_builder_new();
    if (d->builder == NULL)
        goto out;
    status = config->base != NULL ? fab_discover_targeted_start(d, config) : FAB_OK;
    if (status != FAB_OK)
        goto out;
    *ret = d;
    d = NULL;
out:
    fab_discover_free(d);
    return status;
}

void fab_discover_free(struct fab_discover *d)
{
    if (d == NULL)
        return;
    fab_fabric_builder_free(d->builder);
    free(d->probes.items);
    free(d->reads.items);
    free(d->walks.items);
    free(d->suspects.items);
    free(d->places);
    free(d->questions);
    free(d->silent);
    fab_base_arena_fini(&d->arena);
    free(d);
}

/* ---- questions --------------------------------------------------------------------------------
 */

static struct question *question_create(struct fab_discover *d)
{
    if (d->question_count == d->question_capacity) {
        void *grown = fab_base_grow(d->questions, sizeof(struct question *),
                                    (size_t)d->question_count + 1, &d->question_capacity);
        if (grown == NULL)
            return NULL;
        d->questions = grown;
    }
    struct question *q = fab_base_arena_alloc(&d->arena, 1, sizeof *q);
    if (q == NULL)
        return NULL;
    q->next_free = d->question_count; /* its own index while it is live */
    d->questions[d->question_count++] = q;
    return q;
}

static struct question *question_new(struct fab_discover *d, uint8_t kind, struct item item,
                                     uint32_t *ret_tag)
{
    struct question *q;
    uint32_t tag = d->free_question;
    if (tag != NO_PLACE) {
        q = d->questions[tag];
        d->free_question = q->next_free;
    } else {
        q = question_create(d);
        if (q == NULL)
            return NULL;
        tag = d->question_count - 1;
    }
    q->kind = kind;
    q->item = item;
    q->live = true;
    d->in_flight++;
    *ret_tag = tag;
    return q;
}

static void question_free(struct fab_discover *d, uint32_t tag)
{
    struct question *q = d->questions[tag];
    q->live = false;
    q->next_free = d->free_question;
    d->free_question = tag;
    d->in_flight--;
}

/* ---- what comes next --------------------------------------------------------------------------
 */

/* Whether the question still makes sense: a cable may have been seen from its other end, a node
 * that never answers is not asked all there is, a way may have been lost. */
static bool worth_asking(const struct fab_discover *d, uint8_t kind, const struct item *item)
{
    const struct place *p = fab_discover_node_get(d, item->place);
    if (p->path.hops == FAB_PATH_UNKNOWN || fab_discover_node_is_unresponsive(p))
        return false;
    return kind != ASK_NODE_INFO || !fab_discover_port_has_link(d, p, item->port) ||
           !fab_base_bits_get(p->fresh, item->port);
}

/* Steps of a switch: SwitchInfo, PortInfo 0..N, NodeDescription; of others: NodeDescription.
 * False: the walk is over. */
static bool walk_step(struct place *p, struct item *item, uint8_t *ret_kind)
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
        if (walk_step(fab_discover_node_get(d, item.place), &item, ret_kind)) {
            *ret_item = item;
            return true;
        }
        fab_discover_queue_pop(&d->walks, &item);
    }
    return false;
}

/* The next piece of work, asked or not. */
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
    if (fab_discover_queue_pop(&d->reads, ret_item)) {
        *ret_kind = ASK_PORT_INFO;
        return true;
    }
    return take_walk(d, ret_item, ret_kind);
}

/* The next piece of work that is worth asking; starts waves when nothing else is left. */
static bool take_question(struct fab_discover *d, struct item *ret_item, uint8_t *ret_kind)
{
    if (d->status != FAB_OK)
        return false;
    do {
        while (take_work(d, ret_item, ret_kind)) {
            if (worth_asking(d, *ret_kind, ret_item))
                return true;
        }
    } while (d->in_flight == 0 && fab_discover_targeted_wave(d));
    return false;
}

/* Drops what is no longer worth asking, so that fab_discover_done needs no more than a look. */
static void settle(struct fab_discover *d)
{
    if (d->in_flight == 0 && !d->root_pending)
        d->is_staged = take_question(d, &d->staged, &d->staged_kind);
}

/* The way to an adapter's port is the cable that ends there: an adapter does not forward. */
static const struct fab_path *port_path(const struct fab_discover *d, const struct place *p,
                                        uint8_t port, struct fab_path *scratch)
{
    uint32_t ref;
    uint8_t far_port;
    bool own = p->ref == d->self && port == d->self_port;
    if (p->type == FAB_NODE_SWITCH || own ||
        fab_fabric_builder_peer(d->builder, p->ref, port, &ref, &far_port) != FAB_OK)
        return &p->path;
    const struct place *far = fab_discover_node_get(d, ref);
    if (far == NULL || far->path.hops >= FAB_MAX_HOPS)
        return &p->path;
    *scratch = far->path;
    scratch->port[++scratch->hops] = far_port;
    return scratch;
}

static const struct fab_path *question_path(const struct fab_discover *d, struct question *q)
{
    const struct place *p = fab_discover_node_get(d, q->item.place);
    if (q->kind == ASK_PORT_INFO)
        return port_path(d, p, q->item.port, &q->path);
    if (q->kind != ASK_NODE_INFO)
        return &p->path;
    q->path = p->path;
    q->path.port[++q->path.hops] = q->item.port;
    return &q->path;
}

static bool ask_root(struct fab_discover *d, struct fab_discover_ask *ret_ask)
{
    uint32_t tag;
    struct question *q = question_new(d, ASK_NODE_INFO, (struct item){.place = NO_PLACE}, &tag);
    if (q == NULL) {
        d->status = FAB_E_NOMEM;
        return false;
    }
    d->root_pending = false;
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
    if (!take_question(d, &item, &kind))
        return false;
    struct question *q = question_new(d, kind, item, &tag);
    if (q == NULL) {
        d->status = FAB_E_NOMEM;
        return false;
    }
    *ret_ask = (struct fab_discover_ask){
        .path = question_path(d, q),
        .attr_id = fab_discover_query_attr(kind),
        .attr_mod = kind == ASK_PORT_INFO ? item.port : 0,
        .tag = tag,
    };
    return true;
}

int fab_discover_answer(struct fab_discover *d, uint64_t tag, int status, const uint8_t *data)
{
    if (tag >= d->question_count || !d->questions[tag]->live)
        return d->status; /* answered before */
    const struct question *q = d->questions[tag];
    int result = status == FAB_OK && data != NULL ? fab_discover_query_answered(d, q, data)
                                                  : fab_discover_query_failed(d, q, status);
    question_free(d, (uint32_t)tag);
    if (result != FAB_OK)
        d->status = result;
    settle(d);
    return d->status;
}

bool fab_discover_done(const struct fab_discover *d)
{
    return d->in_flight == 0 && !d->is_staged && !d->root_pending;
}
