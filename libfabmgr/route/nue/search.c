/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways for one destination, in the manner of Nue: from the destination outwards, over arcs whose
 * turn into the rest of the way closes no circle with any turn in use.
 *
 * find() gives each switch one arc, level by level. Where several neighbours are as near, turns
 * that are known to close no circle come first, and among these the least loaded rest of the way; a
 * turn that has to be looked into is tried only where there is no other; and where that fails too,
 * the neighbour is asked to go another way itself, as near (the paper's local backtracking). A
 * switch that still has nothing may have a longer way in a later level.
 *
 * Switches left at the end take the escape tree: every turn along it is in use from the start, so
 * that it closes no circle. All switches between them and the destination on the tree have to take
 * it too, as tables know destinations only; everything is done again around these.
 */
#include "libfabmgr/route/nue/search.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define RETRIES 8 /* with more and more switches on the tree; then all are */
/* An arc that carries so many times the mean spans a level more, twice as much two more, .. */
#define USUAL 2
#define SPAN_MAX (FAB_NUE_LEVELS - 2)

/* ---- making ---------------------------------------------------------------------------------- */

/* Everybody's first arc of a shortest climb to the summit. */
static void grow_tree(const struct fab_graph *g, const struct fab_order *o, uint32_t *trunk,
                      uint16_t *climb)
{
    for (uint32_t p = o->n; p-- > 0;) {
        uint32_t s = o->at[p];
        trunk[s] = FAB_NONE;
        climb[s] = 0;
        for (uint32_t a = g->nbr_at[s]; a < g->nbr_at[s + 1]; a++) {
            uint32_t v = g->nbr[a];
            if (!fab_route_order_is_up(o, s, v) ||
                (trunk[s] != FAB_NONE && climb[v] + 1 >= climb[s]))
                continue;
            trunk[s] = a;
            climb[s] = (uint16_t)(climb[v] + 1);
        }
    }
}

/* Neighbours by id, and ports: the first to each neighbour by id, then the second ones, .. */
static void number_slots(const struct fab_graph *g, uint8_t *port_slot)
{
    for (uint32_t s = 0; s < g->n; s++) {
        uint32_t slot = 0, degree = g->nbr_at[s + 1] - g->nbr_at[s];
        for (uint32_t port = g->port_at[s]; port < g->port_at[s + 1]; port++) {
            while (g->nbr[g->nbr_at[s] + slot] != g->port_peer[port])
                slot = slot + 1 < degree ? slot + 1 : 0;
            port_slot[port] = (uint8_t)slot;
        }
    }
}

int fab_route_nue_init(struct fab_nue *d, const struct fab_graph *g, const struct fab_order *o,
                       const struct fab_cdg *turns)
{
    struct fab_nue made = {.g = g};
    size_t n = (size_t)g->n + 1, arcs = (size_t)turns->arcs + 1;
    made.port_slot = calloc((size_t)g->port_at[g->n] + 1, sizeof(*made.port_slot));
    made.trunk = calloc(n, sizeof(*made.trunk));
    made.load = calloc(arcs, sizeof(*made.load));
    made.near = calloc(n, sizeof(*made.near));
    made.hops = calloc(n, sizeof(*made.hops));
    made.slot = calloc(n, sizeof(*made.slot));
    made.met = calloc(n, sizeof(*made.met));
    made.forced = calloc(n, sizeof(*made.forced));
    made.down = calloc(n, sizeof(*made.down));
    made.best = calloc(n, sizeof(*made.best));
    made.cost = calloc(n, sizeof(*made.cost));
    made.found = calloc(n, sizeof(*made.found));
    made.force = calloc(n, sizeof(*made.force));
    made.next_later = calloc(arcs, sizeof(*made.next_later));
    made.hard = calloc(arcs, sizeof(*made.hard));
    made.flow = calloc(n, sizeof(*made.flow));
    made.wide = calloc(n, turns->words * sizeof(*made.wide));
    if (!made.port_slot || !made.trunk || !made.load || !made.near || !made.hops || !made.slot ||
        !made.met || !made.forced || !made.down || !made.best || !made.cost || !made.found ||
        !made.force || !made.next_later || !made.hard || !made.flow || !made.wide) {
        fab_route_nue_fini(&made);
        return FAB_E_NOMEM;
    }
    number_slots(g, made.port_slot);
    grow_tree(g, o, made.trunk, made.met);
    *d = made;
    return FAB_OK;
}

void fab_route_nue_fini(struct fab_nue *d)
{
    free(d->port_slot);
    free(d->trunk);
    free(d->load);
    free(d->near);
    free(d->hops);
    free(d->slot);
    free(d->met);
    free(d->forced);
    free(d->down);
    free(d->best);
    free(d->cost);
    free(d->found);
    free(d->force);
    free(d->next_later);
    free(d->hard);
    free(d->flow);
    free(d->wide);
    memset(d, 0, sizeof(*d));
}

/* ---- the escape tree ------------------------------------------------------------------------- */

/* The arc is one of the tree, this way or the other. */
static bool on_tree(const struct fab_nue *d, uint32_t arc)
{
    return d->trunk[d->turns->tail[arc]] == arc ||
           d->trunk[fab_route_cdg_head(d->turns, arc)] == d->turns->back[arc];
}

void fab_route_nue_add_escape_tree(struct fab_nue *d)
{
    const struct fab_graph *g = d->g;
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t in = g->nbr_at[s]; in < g->nbr_at[s + 1]; in++) {
            if (!on_tree(d, in))
                continue;
            for (uint32_t out = g->nbr_at[s]; out < g->nbr_at[s + 1]; out++) {
                if (out != in && on_tree(d, out))
                    fab_route_cdg_add(d->turns, d->turns->back[in], out);
            }
        }
    }
}

/* down[] of the ancestors of home. */
static void descend_to(struct fab_nue *d, uint32_t home)
{
    memset(d->down, FAB_NUE_SLOT_NONE, d->g->n);
    for (uint32_t s = home; d->trunk[s] != FAB_NONE;) {
        uint32_t above = d->g->nbr[d->trunk[s]];
        d->down[above] = (uint8_t)fab_route_cdg_slot(d->turns, d->turns->back[d->trunk[s]]);
        s = above;
    }
}

static uint32_t tree_arc(const struct fab_nue *d, uint32_t s)
{
    return d->down[s] != FAB_NUE_SLOT_NONE ? d->g->nbr_at[s] + d->down[s] : d->trunk[s];
}

/* s and all behind it take the tree. */
static void force(struct fab_nue *d, uint32_t s)
{
    uint16_t far = 0;
    uint32_t v = s;
    for (; d->forced[v] == FAB_NUE_UNREACHED; v = d->g->nbr[tree_arc(d, v)])
        far++;
    far = (uint16_t)(far + d->forced[v]);
    for (v = s; d->forced[v] == FAB_NUE_UNREACHED; v = d->g->nbr[tree_arc(d, v)]) {
        d->forced[v] = far--;
        d->force[d->forces++] = v;
    }
}

/* ---- level by level -------------------------------------------------------------------------- */

static void settle(struct fab_nue *d, uint32_t s, uint32_t arc, uint16_t hops)
{
    d->hops[s] = hops;
    d->slot[s] = (uint8_t)fab_route_cdg_slot(d->turns, arc);
    d->cost[s] = d->cost[d->g->nbr[arc]] + d->load[arc];
    d->near[d->count++] = s;
}

/* Arc `in` may be how its tail gets there, at the level at hand. */
static void consider(struct fab_nue *d, uint32_t in)
{
    uint32_t r = d->turns->tail[in], s = d->g->nbr[in];
    uint64_t cost = d->cost[s] + d->load[in];
    if (s != d->home && !fab_route_cdg_in_order(d->turns, in, fab_route_nue_next(d, s))) {
        d->hard[d->hards++] = (struct fab_nue_deferred){cost, in};
        return;
    }
    if (d->best[r] == FAB_NONE)
        d->found[d->founds++] = r;
    else if (cost >= d->cost[d->g->nbr[d->best[r]]] + d->load[d->best[r]])
        return;
    d->best[r] = in;
}

/* Levels that the arc spans: more when it is loaded more than is usual. */
static uint32_t span(const struct fab_nue *d, uint32_t arc)
{
    if (d->usual == 0)
        return 1;
    uint64_t more = d->load[arc] / d->usual;
    return 1 + (uint32_t)(more < SPAN_MAX ? more : SPAN_MAX);
}

/* The neighbours of s that have no way yet. */
static void meet(struct fab_nue *d, uint32_t s)
{
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
        uint32_t r = d->g->nbr[out], in = d->turns->back[out];
        if (d->hops[r] != FAB_NUE_UNREACHED || d->forced[r] != FAB_NUE_UNREACHED)
            continue;
        uint32_t levels = span(d, in);
        if (levels == 1) {
            consider(d, in);
            continue;
        }
        uint32_t *list = &d->later[(d->hops[s] + levels) % FAB_NUE_LEVELS];
        d->next_later[in] = *list;
        *list = in;
        d->laters++;
    }
}

/* Arcs that were put off to this level. */
static void meet_later(struct fab_nue *d, uint16_t hops)
{
    uint32_t *list = &d->later[hops % FAB_NUE_LEVELS];
    for (; *list != FAB_NONE; *list = d->next_later[*list], d->laters--) {
        if (d->hops[d->turns->tail[*list]] == FAB_NUE_UNREACHED)
            consider(d, *list);
    }
}

/* s goes by `arc` instead, and those that come to it too, and one more, by `in`. */
static bool turn_aside(struct fab_nue *d, uint32_t s, uint32_t arc, uint32_t in)
{
    struct fab_cdg *t = d->turns;
    uint32_t v = d->g->nbr[arc];
    bool was_logging = t->logging;
    size_t mark = t->logged;
    t->logging = true;
    bool good = (v == d->home || fab_route_cdg_add(t, arc, fab_route_nue_next(d, v))) &&
                fab_route_cdg_add(t, in, arc);
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1] && good; out++) {
        uint32_t r = d->g->nbr[out];
        if (d->hops[r] != FAB_NUE_UNREACHED && r != d->home &&
            fab_route_nue_next(d, r) == t->back[out])
            good = fab_route_cdg_add(t, t->back[out], arc);
    }
    if (!good)
        fab_route_cdg_undo(t, mark);
    t->logging = was_logging;
    if (!was_logging)
        t->logged = mark;
    if (good) {
        d->slot[s] = (uint8_t)fab_route_cdg_slot(t, arc);
        d->cost[s] = d->cost[v] + d->load[arc];
    }
    return good;
}

/* The way behind `in` goes aside, so that `in` can be taken. */
static bool backtrack(struct fab_nue *d, uint32_t in)
{
    uint32_t s = d->g->nbr[in];
    if (s == d->home || d->forced[s] != FAB_NUE_UNREACHED)
        return false;
    for (uint32_t arc = d->g->nbr_at[s]; arc < d->g->nbr_at[s + 1]; arc++) {
        uint32_t v = d->g->nbr[arc];
        if (arc != fab_route_nue_next(d, s) && d->hops[v] != FAB_NUE_UNREACHED &&
            d->hops[v] < d->hops[s] && turn_aside(d, s, arc, in))
            return true;
    }
    return false;
}

static int by_cost(const void *a, const void *b)
{
    const struct fab_nue_deferred *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return (x->arc > y->arc) - (x->arc < y->arc);
}

/* False: a switch that is met has no way. */
static bool settle_level(struct fab_nue *d, uint16_t hops)
{
    bool all = true;
    for (uint32_t i = 0; i < d->founds; i++) {
        uint32_t r = d->found[i], arc = d->best[r], s = d->g->nbr[arc];
        if (s != d->home)
            fab_route_cdg_add(d->turns, arc, fab_route_nue_next(d, s));
        settle(d, r, arc, hops);
        d->best[r] = FAB_NONE;
    }
    qsort(d->hard, d->hards, sizeof(*d->hard), by_cost);
    for (uint32_t i = 0; i < d->hards; i++) {
        uint32_t arc = d->hard[i].arc, r = d->turns->tail[arc];
        if (d->hops[r] == FAB_NUE_UNREACHED &&
            fab_route_cdg_add(d->turns, arc, fab_route_nue_next(d, d->g->nbr[arc])))
            settle(d, r, arc, hops);
    }
    for (uint32_t i = 0; i < d->hards; i++) {
        uint32_t arc = d->hard[i].arc, r = d->turns->tail[arc];
        if (d->hops[r] != FAB_NUE_UNREACHED)
            continue;
        if (backtrack(d, arc))
            settle(d, r, arc, hops);
        else
            all = false;
    }
    return all;
}

static void begin(struct fab_nue *d)
{
    memset(d->hops, 0xff, d->g->n * sizeof(*d->hops));
    memset(d->later, 0xff, sizeof(d->later));
    d->laters = 0;
    d->near[0] = d->home;
    d->count = 1;
    d->hops[d->home] = 0;
    d->cost[d->home] = 0;
}

/* Everything that can be reached; false: strict, and something is not at its level. */
static bool flood(struct fab_nue *d, bool strict)
{
    uint32_t at = 0, forced = 0;
    begin(d);
    for (uint16_t hops = 1; hops < FAB_NUE_UNREACHED; hops++) {
        if (at == d->count && forced == d->forces && d->laters == 0)
            break;
        uint32_t end = d->count;
        d->founds = d->hards = 0;
        for (; at < end; at++)
            meet(d, d->near[at]);
        meet_later(d, hops);
        if (!settle_level(d, hops) && strict)
            return false;
        for (uint32_t i = 0; i < d->forces; i++) {
            if (d->forced[d->force[i]] != hops)
                continue;
            settle(d, d->force[i], tree_arc(d, d->force[i]), hops);
            forced++;
        }
    }
    return true;
}

/* Switches without a way (or all, then) take the tree from now on. Returns how many have none. */
static uint32_t force_rest(struct fab_nue *d, bool all)
{
    uint32_t rest = 0, island = d->g->component[d->home];
    for (uint32_t s = 0; s < d->g->n; s++) {
        if (d->g->component[s] != island || d->hops[s] != FAB_NUE_UNREACHED)
            continue;
        rest++;
        force(d, s);
    }
    for (uint32_t s = 0; s < d->g->n && all && rest > 0; s++) {
        if (d->g->component[s] == island)
            force(d, s);
    }
    return rest;
}

/* Counts what the ways carry. */
static void load_ways(struct fab_nue *d)
{
    uint32_t receivers = d->g->hosts[d->home];
    if (receivers == 0)
        return;
    memset(d->flow, 0, d->g->n * sizeof(*d->flow));
    for (uint32_t i = d->count; i-- > 1;) {
        uint32_t s = d->near[i], arc = fab_route_nue_next(d, s);
        d->flow[s] += d->g->hosts[s];
        d->flow[d->g->nbr[arc]] += d->flow[s];
        d->load[arc] += d->flow[s] * receivers;
    }
}

/* Hosts whose way is longer than cables ask for. */
static uint64_t count_late(struct fab_nue *d)
{
    uint64_t late = 0;
    uint32_t count = 1;
    memset(d->met, 0xff, d->g->n * sizeof(*d->met));
    d->met[d->home] = 0;
    d->found[0] = d->home;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t s = d->found[at];
        for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
            uint32_t r = d->g->nbr[out];
            if (d->met[r] != FAB_NUE_UNREACHED)
                continue;
            d->met[r] = (uint16_t)(d->met[s] + 1);
            d->found[count++] = r;
            late += d->hops[r] > d->met[r] ? d->g->hosts[r] : 0;
        }
    }
    return late;
}

static uint64_t usual_load(const struct fab_nue *d)
{
    uint64_t sum = 0;
    for (uint32_t arc = 0; arc < d->turns->arcs; arc++)
        sum += d->load[arc];
    return sum / (d->turns->arcs + 1) * USUAL + 1;
}

/* Leaves what was taken in the log. */
static bool search(struct fab_nue *d, uint32_t home, bool strict)
{
    d->home = home;
    d->forces = 0;
    d->usual = strict || d->g->hosts[home] == 0 ? 0 : usual_load(d);
    memset(d->best, 0xff, d->g->n * sizeof(*d->best));
    memset(d->forced, 0xff, d->g->n * sizeof(*d->forced));
    d->forced[home] = 0;
    descend_to(d, home);
    d->turns->logging = true;
    d->turns->logged = 0;
    bool good = flood(d, strict);
    for (unsigned retry = 1; good && retry <= RETRIES + 1; retry++) {
        if (force_rest(d, retry > RETRIES) == 0)
            break;
        fab_route_cdg_undo(d->turns, 0);
        good = flood(d, false);
    }
    d->turns->logging = false;
    d->late = 0;
    if (good && !strict) {
        fab_route_nue_restore(d, home);
        d->late = count_late(d);
    }
    return good;
}

bool fab_route_nue_find(struct fab_nue *d, uint32_t home, bool strict)
{
    bool good = search(d, home, strict);
    if (good)
        load_ways(d);
    else
        fab_route_cdg_undo(d->turns, 0);
    return good;
}

uint64_t fab_route_nue_count_detours(struct fab_nue *d, uint32_t home)
{
    search(d, home, false);
    fab_route_cdg_undo(d->turns, 0);
    return d->late;
}
