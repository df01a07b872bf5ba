/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributes the pairs of switches evenly over their virtual layers, so that each layer has room
 * for the detours of local repairs (libfabmgr/repair/labels).
 *
 * An assignment of layers that needs as few of them as possible fills the first layers as far as it
 * can, and leaves the last ones nearly empty. A repair keeps the layer of each pair, because hosts
 * keep their SLs. In a full layer, most other paths would close a cycle.
 *
 * A step takes the dependency of a layer that the fewest pairs cause, and moves all these pairs to
 * other layers, so that this layer has one dependency less. Each pair moves to a layer in which its
 * paths close no cycle, and to which they add the fewest dependencies. If the sum of the squares of
 * the numbers of dependencies of all layers has not become smaller, the step is undone. The paths
 * do not change, so neither do the link loads.
 *
 * If the dependencies of up/down paths over the reserved channels (fab_route_escapes_find) close no
 * cycle in any layer, they count as dependencies of all layers. They then stay possible, and a
 * repair always finds a path.
 */
#include "libfabmgr/route/dependencies/even_layers.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/dependencies/acyclic_cdg.h"
#include "libfabmgr/route/route.h"

/* A step moves at most this number of pairs. */
#define STEP_PAIRS 64
/* The steps end when they have added or removed this number of dependencies, or followed this
 * number of them in searches for cycles. An arc that moves in the topological order counts as
 * SORTING dependencies. This takes about a third of a second. */
#define WORK_MAX 15000000
#define SORTING 8
/* number of orders in which the pairs are put into layers with reserved channels */
#define ORDERS 4
/* the largest number of neighbours of a switch to which channels are reserved */
#define PARENTS 2

struct pair {
    uint32_t a, b;     /* the two switches */
    size_t first, end; /* its dependencies are dependency[first] to dependency[end - 1] */
    uint8_t layer;
};

struct even {
    struct fab_arena arena; /* memory of the arrays, except dependency[], user[] and user_at[] */
    const struct fab_layers_input *in;
    uint32_t layers;
    uint32_t *arc; /* [port ids] the arc to which each port belongs; FAB_NONE: none */
    struct pair *pair;
    uint32_t pairs;
    /* the dependencies of the pairs; dependency number d is that of arc d / slots on the arc with
     * the slot d % slots of the next switch */
    uint32_t *dependency;
    size_t dependencies, dependency_room;
    uint32_t slots;
    uint32_t *user;  /* the pairs that cause each dependency: */
    size_t *user_at; /* [arcs * slots + 1] those of d are user[user_at[d]] to user[user_at[d + 1] -
                        1] */
    struct fab_cdg cdg[FAB_VLS_MAX]; /* of each layer */
    uint64_t edges[FAB_VLS_MAX];     /* number of dependencies in use in each layer */
    /* [layers][arcs * slots] number of pairs that cause each dependency in each layer; a reserved
     * dependency counts as one more */
    uint32_t *count;
    uint64_t *item; /* [arcs * slots] scratch memory: count << 32 | dependency */
    bool *is_up;    /* [arcs] a reserved channel that leads up */
    /* [pairs] the order in which pairs are put into layers; scratch memory; the former layers */
    uint32_t *order, *room;
    uint8_t *former;
    uint32_t moved[STEP_PAIRS]; /* the pairs of the present step */
    uint64_t work;
};

static size_t size_of(const struct pair *p)
{
    return p->end - p->first;
}

/* Returns one more than the greatest number of a dependency. */
static size_t numbers(const struct even *e)
{
    return (size_t)e->in->graph->nbr_at[e->in->graph->n] * e->slots;
}

static void fini(struct even *e)
{
    for (uint32_t v = 0; v < e->layers; v++)
        fab_route_cdg_fini(&e->cdg[v]);
    fab_base_arena_fini(&e->arena);
    free(e->dependency);
    free(e->user);
    free(e->user_at);
}

/* ---- the dependencies of the pairs ----------------------------------------------------------- */

static void find_arcs(struct even *e)
{
    const struct fab_graph *g = e->in->graph;
    memset(e->arc, 0xff, e->in->fabric->port_count * sizeof(*e->arc));
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t p = g->port_at[s]; p < g->port_at[s + 1]; p++)
            e->arc[fab_fabric_port_id(e->in->fabric, s, g->port_num[p])] =
                fab_route_graph_arc(g, s, g->port_peer[p]);
        uint32_t degree = g->nbr_at[s + 1] - g->nbr_at[s];
        e->slots = degree > e->slots ? degree : e->slots;
    }
}

/* Returns the arc by which switch `sw` forwards packets to the LID; FAB_NONE: it delivers them. */
static uint32_t arc_to(const struct even *e, uint32_t sw, uint32_t lid)
{
    uint8_t num = fab_target_lft_at(e->in->lft, sw, lid);
    return num <= e->in->fabric->nodes[sw].num_ports
               ? e->arc[fab_fabric_port_id(e->in->fabric, sw, num)]
               : FAB_NONE;
}

static int add_dependency(struct even *e, uint32_t from, uint32_t to)
{
    const struct fab_graph *g = e->in->graph;
    if (e->dependencies == e->dependency_room) {
        void *more = fab_base_grow(e->dependency, sizeof(*e->dependency), e->dependencies + 1,
                                   &e->dependency_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        e->dependency = more;
    }
    e->dependency[e->dependencies++] = from * e->slots + (to - g->nbr_at[g->nbr[from]]);
    return FAB_OK;
}

/* Adds the dependencies of the paths from a switch to the LIDs of another one. */
static int add_one_way(struct even *e, const struct fab_layers_lids *l, uint32_t from, uint32_t to)
{
    int status = FAB_OK;
    for (uint32_t i = l->at[to]; i < l->at[to + 1]; i++) {
        uint32_t arc = arc_to(e, from, l->lid[i]);
        while (arc != FAB_NONE && status == FAB_OK) {
            uint32_t next = arc_to(e, e->in->graph->nbr[arc], l->lid[i]);
            if (next != FAB_NONE)
                status = add_dependency(e, arc, next);
            arc = next;
        }
    }
    return status;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the dependencies of the newest pair, and removes duplicates. */
static void close_pair(struct even *e, struct pair *p)
{
    size_t to = p->first;
    if (e->dependencies > p->first)
        qsort(e->dependency + p->first, e->dependencies - p->first, sizeof(*e->dependency),
              by_number);
    for (size_t i = p->first; i < e->dependencies; i++) {
        if (i == p->first || e->dependency[i] != e->dependency[to - 1])
            e->dependency[to++] = e->dependency[i];
    }
    e->dependencies = p->end = to;
}

/* Lists the pairs whose paths cause dependencies. Any layer is as good for the others. */
static int list_pairs(struct even *e, const struct fab_layers_lids *l, const uint8_t *layer)
{
    uint32_t n = e->in->graph->n;
    int status = FAB_OK;
    for (uint32_t a = 0; a < n && status == FAB_OK; a++) {
        for (uint32_t b = a + 1; b < n && status == FAB_OK; b++) {
            struct pair *p = &e->pair[e->pairs];
            *p = (struct pair){.a = a, .b = b, .first = e->dependencies};
            e->former[e->pairs] = layer[(size_t)a * n + b];
            status = add_one_way(e, l, a, b);
            if (status == FAB_OK)
                status = add_one_way(e, l, b, a);
            close_pair(e, p);
            e->pairs += p->end > p->first;
        }
    }
    return status;
}

static int list_users(struct even *e)
{
    size_t count = numbers(e);
    e->user = fab_base_alloc_array(e->dependencies + 1, sizeof(*e->user));
    e->user_at = calloc(count + 2, sizeof(*e->user_at));
    if (e->user == NULL || e->user_at == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < e->dependencies; i++)
        e->user_at[e->dependency[i] + 2]++;
    for (size_t d = 2; d < count + 2; d++)
        e->user_at[d] += e->user_at[d - 1];
    for (uint32_t p = 0; p < e->pairs; p++) {
        for (size_t i = e->pair[p].first; i < e->pair[p].end; i++)
            e->user[e->user_at[e->dependency[i] + 1]++] = p;
    }
    return FAB_OK;
}

/* ---- pairs in a layer ------------------------------------------------------------------------ */

static uint32_t from_of(const struct even *e, uint32_t dependency)
{
    return dependency / e->slots;
}

static uint32_t to_of(const struct even *e, uint32_t dependency)
{
    const struct fab_graph *g = e->in->graph;
    return g->nbr_at[g->nbr[dependency / e->slots]] + dependency % e->slots;
}

static uint32_t *count_of(const struct even *e, uint32_t layer, uint32_t dependency)
{
    return &e->count[layer * numbers(e) + dependency];
}

static bool use(struct even *e, uint32_t layer, uint32_t dependency)
{
    uint32_t *count = count_of(e, layer, dependency);
    struct fab_cdg *t = &e->cdg[layer];
    uint64_t budget = t->budget, moved = t->moved;
    bool good = *count > 0 || fab_route_cdg_add(t, from_of(e, dependency), to_of(e, dependency));
    e->work += 1 + (budget - t->budget) + SORTING * (t->moved - moved);
    if (!good)
        return false;
    e->edges[layer] += *count == 0;
    ++*count;
    return true;
}

static void release(struct even *e, uint32_t layer, uint32_t dependency)
{
    uint32_t *count = count_of(e, layer, dependency);
    e->work++;
    if (--*count > 0)
        return;
    fab_route_cdg_remove(&e->cdg[layer], from_of(e, dependency), to_of(e, dependency));
    e->edges[layer]--;
}

static void take_out(struct even *e, struct pair *p)
{
    for (size_t i = p->first; i < p->end; i++)
        release(e, p->layer, e->dependency[i]);
}

/* Puts the pair into a layer. Returns false if its paths would close a cycle there; the layer then
 * stays as it was. */
static bool put_into(struct even *e, struct pair *p, uint32_t layer)
{
    for (size_t i = p->first; i < p->end; i++) {
        if (use(e, layer, e->dependency[i]))
            continue;
        while (i-- > p->first)
            release(e, layer, e->dependency[i]);
        return false;
    }
    p->layer = (uint8_t)layer;
    return true;
}

static uint64_t sum_of_squares(const struct even *e)
{
    uint64_t sum = 0;
    for (uint32_t v = 0; v < e->layers; v++)
        sum += e->edges[v] * e->edges[v];
    return sum;
}

/* Returns by how much the sum of squares grows if the pair moves to the layer. */
static uint64_t cost_of(const struct even *e, const struct pair *p, uint32_t layer)
{
    uint64_t added = 0;
    for (size_t i = p->first; i < p->end; i++)
        added += *count_of(e, layer, e->dependency[i]) == 0;
    return added * (2 * e->edges[layer] + added);
}

/* Puts the pair into the cheapest layer, except `from`, in which its paths close no cycle. FAB_NONE
 * as `from`: all layers are permitted. Returns false if there is no such layer. */
static bool put_elsewhere(struct even *e, struct pair *p, uint32_t from)
{
    uint64_t cost[FAB_VLS_MAX];
    for (uint32_t v = 0; v < e->layers; v++)
        cost[v] = v != from ? cost_of(e, p, v) : UINT64_MAX;
    e->work += size_of(p) * e->layers;
    for (uint32_t tried = from != FAB_NONE; tried < e->layers; tried++) {
        uint32_t best = 0;
        for (uint32_t v = 1; v < e->layers; v++)
            best = cost[v] < cost[best] ? v : best;
        if (put_into(e, p, best))
            return true;
        cost[best] = UINT64_MAX;
    }
    return false;
}

/* ---- reserved channels ----------------------------------------------------------------------- */

/* Calls visit() for each dependency of up/down paths over reserved channels (see the top of this
 * file), until visit() returns false. Then also returns false, otherwise true. */
static bool each_reserved(struct even *e, uint32_t layer,
                          bool (*visit)(struct even *e, uint32_t layer, uint32_t dependency))
{
    const struct fab_graph *g = e->in->graph;
    const uint32_t *reverse = e->cdg[0].reverse;
    for (uint32_t from = 0; from < g->nbr_at[g->n]; from++) {
        uint32_t sw = g->nbr[from];
        for (uint32_t to = g->nbr_at[sw]; to < g->nbr_at[sw + 1]; to++) {
            bool reserved = (e->is_up[from] || e->is_up[reverse[from]]) &&
                            (e->is_up[to] || e->is_up[reverse[to]]) && to != reverse[from] &&
                            (e->is_up[from] || !e->is_up[to]);
            if (reserved && !visit(e, layer, from * e->slots + (to - g->nbr_at[sw])))
                return false;
        }
    }
    return true;
}

static bool is_possible(struct even *e, uint32_t layer, uint32_t dependency)
{
    return fab_route_cdg_add(&e->cdg[layer], from_of(e, dependency), to_of(e, dependency));
}

/* Reserves channels in all layers; in none if this would close a cycle in any layer. */
static bool reserve_everywhere(struct even *e)
{
    bool good = true;
    for (uint32_t v = 0; v < e->layers && good; v++) {
        e->cdg[v].logging = true;
        good = each_reserved(e, v, is_possible);
        fab_route_cdg_undo(&e->cdg[v], 0);
        e->cdg[v].logging = false;
    }
    for (uint32_t v = 0; v < e->layers && good; v++)
        each_reserved(e, v, use);
    return good;
}

/* Empties all layers. */
static void clear(struct even *e)
{
    memset(e->count, 0, e->layers * numbers(e) * sizeof(*e->count));
    for (uint32_t v = 0; v < e->layers; v++) {
        fab_route_cdg_clear(&e->cdg[v]);
        e->edges[v] = 0;
    }
}

/* Puts each pair into the layer former[]. Returns false if a layer then has a cycle. */
static bool put_all(struct even *e)
{
    for (uint32_t p = 0; p < e->pairs; p++) {
        if (e->former[p] >= e->layers || !put_into(e, &e->pair[p], e->former[p]))
            return false;
    }
    return true;
}

/* Reserves channels in empty layers, and then puts the pairs into them. Pairs that do not fit into
 * any layer come first in the next order. Returns false if some do not fit. */
static bool put_after_reserved(struct even *e)
{
    uint32_t first = 0, last = e->pairs;
    clear(e);
    for (uint32_t v = 0; v < e->layers; v++)
        each_reserved(e, v, use);
    /* room[] gets the pairs that do not fit from its start on, and the others from its end on */
    for (uint32_t i = 0; i < e->pairs; i++) {
        bool good = put_elsewhere(e, &e->pair[e->order[i]], FAB_NONE);
        e->room[good ? --last : first++] = e->order[i];
    }
    memcpy(e->order, e->room, first * sizeof(*e->order));
    for (uint32_t i = first; i < e->pairs; i++)
        e->order[i] = e->room[first + e->pairs - 1 - i];
    return first == 0;
}

/* Sorts the pairs by their number of dependencies, the greatest first. */
static void order_by_size(struct even *e)
{
    size_t most = 0;
    uint32_t count = 0;
    for (uint32_t p = 0; p < e->pairs; p++)
        most = size_of(&e->pair[p]) > most ? size_of(&e->pair[p]) : most;
    for (size_t size = most; size > 0; size--) {
        for (uint32_t p = 0; p < e->pairs; p++) {
            if (size_of(&e->pair[p]) == size)
                e->order[count++] = p;
        }
    }
}

/* Puts all pairs into other layers, so that channels can be reserved in all layers. If this is not
 * possible, leaves the pairs where they are. */
static void rearrange(struct even *e)
{
    bool good = false;
    order_by_size(e);
    for (unsigned i = 0; i < ORDERS && !good && e->work < WORK_MAX; i++)
        good = put_after_reserved(e);
    if (good)
        return;
    clear(e);
    put_all(e);
}

/* Finds the reserved channels of at most `parents` neighbours of each switch. */
static int find_reserved(struct even *e, uint32_t parents)
{
    const struct fab_fabric *f = e->in->fabric;
    uint64_t *up = NULL;
    int status = fab_route_escapes_find(f, e->in->policy, parents, &up);
    if (status != FAB_OK)
        return status;
    memset(e->is_up, 0, e->in->graph->nbr_at[e->in->graph->n]);
    for (uint32_t port = 0; port < f->port_count; port++) {
        if (e->arc[port] != FAB_NONE && fab_base_bits_get(up, port))
            e->is_up[e->arc[port]] = true;
    }
    free(up);
    return FAB_OK;
}

static bool no_memory(const struct even *e)
{
    bool failed = false;
    for (uint32_t v = 0; v < e->layers; v++)
        failed |= e->cdg[v].no_memory;
    return failed;
}

static int reserve(struct even *e)
{
    int status = FAB_OK;
    bool good = false;
    for (uint32_t parents = PARENTS; parents > 0 && !good && status == FAB_OK; parents--) {
        status = find_reserved(e, parents);
        good = status == FAB_OK && reserve_everywhere(e);
        if (no_memory(e))
            status = FAB_E_NOMEM;
    }
    if (status == FAB_OK && !good)
        rearrange(e);
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Lists the pairs of a layer that cause the dependency in moved[]. Returns their number; 0: too
 * many, or none. */
static uint32_t list_moved(struct even *e, uint32_t layer, uint32_t dependency)
{
    uint32_t count = 0;
    for (size_t i = e->user_at[dependency]; i < e->user_at[dependency + 1]; i++) {
        if (e->pair[e->user[i]].layer != layer)
            continue;
        if (count == STEP_PAIRS)
            return 0;
        e->moved[count++] = e->user[i];
    }
    return count;
}

/* Moves the pairs that cause the dependency to other layers. Returns false, and changes nothing, if
 * this is not possible, or does not make the layers more even. */
static bool step(struct even *e, uint32_t layer, uint32_t dependency)
{
    uint32_t count = list_moved(e, layer, dependency), put = 0;
    uint64_t before = sum_of_squares(e);
    for (uint32_t i = 0; i < count; i++)
        take_out(e, &e->pair[e->moved[i]]);
    while (put < count && put_elsewhere(e, &e->pair[e->moved[put]], layer))
        put++;
    if (put == count && count > 0 && sum_of_squares(e) < before)
        return true;
    while (put > 0)
        take_out(e, &e->pair[e->moved[--put]]);
    for (uint32_t i = 0; i < count; i++)
        put_into(e, &e->pair[e->moved[i]], layer);
    return false;
}

static int by_item(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Makes a step for each dependency of the layer, beginning with those that the fewest pairs cause.
 * Returns the number of successful steps. */
static uint32_t relieve(struct even *e, uint32_t layer)
{
    size_t items = 0;
    uint32_t good = 0;
    for (uint32_t d = 0; d < numbers(e); d++) {
        uint32_t count = *count_of(e, layer, d);
        if (count > 0)
            e->item[items++] = (uint64_t)count << 32 | d;
    }
    qsort(e->item, items, sizeof(*e->item), by_item);
    for (size_t i = 0; i < items && e->work < WORK_MAX; i++)
        good += step(e, layer, (uint32_t)e->item[i]);
    return good;
}

static void relieve_all(struct even *e)
{
    uint32_t good = 1;
    while (good > 0 && e->work < WORK_MAX) {
        good = 0;
        for (uint32_t v = 0; v < e->layers; v++)
            good += relieve(e, v);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

static int init(struct even *e)
{
    const struct fab_graph *g = e->in->graph;
    size_t n = g->n, ports = e->in->fabric->port_count;
    e->arc = fab_base_arena_alloc(&e->arena, ports + 1, sizeof(*e->arc));
    if (e->arena.failed)
        return FAB_E_NOMEM;
    find_arcs(e);
    e->pair = fab_base_arena_alloc(&e->arena, n * n / 2 + 1, sizeof(*e->pair));
    e->order = fab_base_arena_alloc(&e->arena, n * n / 2 + 1, sizeof(*e->order));
    e->room = fab_base_arena_alloc(&e->arena, n * n / 2 + 1, sizeof(*e->room));
    e->former = fab_base_arena_alloc(&e->arena, n * n / 2 + 1, sizeof(*e->former));
    e->count = fab_base_arena_alloc(&e->arena, e->layers * numbers(e) + 1, sizeof(*e->count));
    e->item = fab_base_arena_alloc(&e->arena, numbers(e) + 1, sizeof(*e->item));
    e->is_up = fab_base_arena_alloc(&e->arena, (size_t)g->nbr_at[g->n] + 1, sizeof(*e->is_up));
    return !e->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

static int init_graphs(struct even *e)
{
    struct fab_order o;
    int status = fab_route_order_find(e->in->graph, e->in->fabric, e->in->policy, &o);
    if (status != FAB_OK)
        return status;
    for (uint32_t v = 0; v < e->layers && status == FAB_OK; v++) {
        status = fab_route_cdg_init(&e->cdg[v], e->in->graph, &o);
        e->cdg[v].budget = UINT64_MAX;
    }
    fab_route_order_fini(&o);
    return status;
}

static void store(const struct even *e, uint8_t *layer)
{
    size_t n = e->in->graph->n;
    for (uint32_t i = 0; i < e->pairs; i++) {
        const struct pair *p = &e->pair[i];
        layer[p->a * n + p->b] = layer[p->b * n + p->a] = p->layer;
    }
}

int fab_route_layers_even(const struct fab_layers_input *in, uint32_t layers, uint8_t *layer)
{
    struct even e = {.in = in, .layers = layers};
    struct fab_layers_lids lids = {0};
    int status = init(&e);
    if (status == FAB_OK)
        status = fab_route_layers_lids(in, &lids);
    if (status == FAB_OK)
        status = list_pairs(&e, &lids, layer);
    if (status == FAB_OK)
        status = list_users(&e);
    if (status == FAB_OK)
        status = init_graphs(&e);
    /* An arc stands for all parallel links, so there may be a cycle of arcs without one of
     * channels. The layers then stay as they are. */
    bool good = status == FAB_OK && put_all(&e);
    if (good)
        status = reserve(&e);
    if (good && status == FAB_OK) {
        relieve_all(&e);
        store(&e, layer);
    }
    fab_route_layers_lids_fini(&lids);
    fini(&e);
    return status;
}
