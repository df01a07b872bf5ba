/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds paths to one destination switch by the method of Nue. The search goes from the destination
 * outwards, over arcs whose dependency on the rest of the path closes no cycle with the
 * dependencies in use.
 *
 * An arc stands for all parallel links from a switch to one neighbour. The slot of an arc is its
 * index among the arcs that leave the same switch (acyclic_cdg.h).
 *
 * search() gives each switch the first arc of its path, level by level. The level of the
 * destination is 0. The level of any other switch is the level of the neighbour to which its arc
 * leads, plus the span of the arc. The span is 1 for arcs without much load.
 *
 * If a switch has several arcs to choose from, arcs whose dependency is known to close no cycle are
 * preferred. Among these, the search takes the arc with the least load along the rest of the path.
 * It tries an arc whose dependency needs a search for cycles only if there is no other arc. If that
 * dependency closes a cycle, the search gives the neighbour at the end of the arc another path of
 * the same length. The arc may then be usable (local backtracking in the paper). A switch that
 * still has no path may get a longer one in a later level.
 *
 * Switches without a path at the end take the escape tree. All dependencies along the tree are in
 * use from the start, so that paths along the tree never close a cycle. LFTs consider the
 * destination only. So if a switch takes the tree, all later switches on its path must take the
 * tree, too. The search is repeated, and these switches then keep the tree.
 */
#include "libfabmgr/route/nue/search.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* Maximum number of repetitions of a search in which only the switches without a path, and the
 * later switches on their paths, use the escape tree. One more repetition then makes all switches
 * use it. */
#define RETRIES 8
/* An arc with a load of NORMAL_LOADS times the mean load spans two levels of the search instead of
 * one. An arc with twice this load spans three levels, and so on. So the search uses loaded arcs
 * later, as if they were longer. */
#define NORMAL_LOADS 2
#define SPAN_MAX (FAB_NUE_LEVELS - 2)

/* ---- making ---------------------------------------------------------------------------------- */

/* Finds the escape tree: for each switch, the first arc of a shortest ascending path to the root
 * switch. */
static void find_escape_tree(const struct fab_graph *g, const struct fab_order *o,
                             uint32_t *escape_arc, uint16_t *climb)
{
    for (uint32_t p = o->n; p-- > 0;) {
        uint32_t s = o->at[p];
        escape_arc[s] = FAB_NONE;
        climb[s] = 0;
        for (uint32_t a = g->nbr_at[s]; a < g->nbr_at[s + 1]; a++) {
            uint32_t v = g->nbr[a];
            if (!fab_route_order_is_up(o, s, v) ||
                (escape_arc[s] != FAB_NONE && climb[v] + 1 >= climb[s]))
                continue;
            escape_arc[s] = a;
            climb[s] = (uint16_t)(climb[v] + 1);
        }
    }
}

/* Finds the slot of each port of a switch: the index of the port's peer among the neighbours of the
 * switch. port_at[] lists first one port to each neighbour, then the second ports of parallel
 * links, and so on (graph.h). */
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
                       const struct fab_cdg *cdg)
{
    struct fab_nue made = {.g = g};
    size_t n = (size_t)g->n + 1, arcs = (size_t)cdg->arcs + 1;
    made.port_slot =
        fab_base_arena_alloc(&made.arena, (size_t)g->port_at[g->n] + 1, sizeof(*made.port_slot));
    made.escape_arc = fab_base_arena_alloc(&made.arena, n, sizeof(*made.escape_arc));
    made.load = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.load));
    made.by_distance = fab_base_arena_alloc(&made.arena, n, sizeof(*made.by_distance));
    made.hops = fab_base_arena_alloc(&made.arena, n, sizeof(*made.hops));
    made.slot = fab_base_arena_alloc(&made.arena, n, sizeof(*made.slot));
    made.min_hops = fab_base_arena_alloc(&made.arena, n, sizeof(*made.min_hops));
    made.forced = fab_base_arena_alloc(&made.arena, n, sizeof(*made.forced));
    made.down = fab_base_arena_alloc(&made.arena, n, sizeof(*made.down));
    made.best = fab_base_arena_alloc(&made.arena, n, sizeof(*made.best));
    made.cost = fab_base_arena_alloc(&made.arena, n, sizeof(*made.cost));
    made.found = fab_base_arena_alloc(&made.arena, n, sizeof(*made.found));
    made.forced_list = fab_base_arena_alloc(&made.arena, n, sizeof(*made.forced_list));
    made.next_delayed = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.next_delayed));
    made.deferred = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.deferred));
    made.flow = fab_base_arena_alloc(&made.arena, n, sizeof(*made.flow));
    made.alternatives =
        fab_base_arena_alloc(&made.arena, n, cdg->words * sizeof(*made.alternatives));
    if (made.arena.failed) {
        fab_route_nue_fini(&made);
        return FAB_E_NOMEM;
    }
    number_slots(g, made.port_slot);
    find_escape_tree(g, o, made.escape_arc, made.min_hops);
    *d = made;
    return FAB_OK;
}

void fab_route_nue_fini(struct fab_nue *d)
{
    fab_base_arena_fini(&d->arena);
    memset(d, 0, sizeof(*d));
}

/* ---- the escape tree ------------------------------------------------------------------------- */

/* Returns true if the escape tree contains the arc or its reverse. */
static bool in_tree(const struct fab_nue *d, uint32_t arc)
{
    return d->escape_arc[d->cdg->tail[arc]] == arc ||
           d->escape_arc[fab_route_cdg_head(d->cdg, arc)] == d->cdg->reverse[arc];
}

void fab_route_nue_add_escape_tree(struct fab_nue *d)
{
    const struct fab_graph *g = d->g;
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t in = g->nbr_at[s]; in < g->nbr_at[s + 1]; in++) {
            if (!in_tree(d, in))
                continue;
            for (uint32_t out = g->nbr_at[s]; out < g->nbr_at[s + 1]; out++) {
                if (out != in && in_tree(d, out))
                    fab_route_cdg_add(d->cdg, d->cdg->reverse[in], out);
            }
        }
    }
}

/* Sets down[] for each switch on the path from `home` to the root of the escape tree: the slot of
 * the arc that leads back towards `home`. */
static void find_descent(struct fab_nue *d, uint32_t home)
{
    memset(d->down, FAB_NUE_SLOT_NONE, d->g->n);
    for (uint32_t s = home; d->escape_arc[s] != FAB_NONE;) {
        uint32_t above = d->g->nbr[d->escape_arc[s]];
        d->down[above] = (uint8_t)fab_route_cdg_slot(d->cdg, d->cdg->reverse[d->escape_arc[s]]);
        s = above;
    }
}

static uint32_t tree_arc(const struct fab_nue *d, uint32_t s)
{
    return d->down[s] != FAB_NUE_SLOT_NONE ? d->g->nbr_at[s] + d->down[s] : d->escape_arc[s];
}

/* Makes switch s, and all later switches on its path along the escape tree, use this tree for the
 * current destination. */
static void use_tree(struct fab_nue *d, uint32_t s)
{
    uint16_t far = 0;
    uint32_t v = s;
    for (; d->forced[v] == FAB_NUE_UNREACHED; v = d->g->nbr[tree_arc(d, v)])
        far++;
    far = (uint16_t)(far + d->forced[v]);
    for (v = s; d->forced[v] == FAB_NUE_UNREACHED; v = d->g->nbr[tree_arc(d, v)]) {
        d->forced[v] = far--;
        d->forced_list[d->forced_count++] = v;
    }
}

/* ---- level by level -------------------------------------------------------------------------- */

static void settle(struct fab_nue *d, uint32_t s, uint32_t arc, uint16_t hops)
{
    d->hops[s] = hops;
    d->slot[s] = (uint8_t)fab_route_cdg_slot(d->cdg, arc);
    d->cost[s] = d->cost[d->g->nbr[arc]] + d->load[arc];
    d->by_distance[d->count++] = s;
}

/* Arc `in` leads from switch r, which has no path, to a switch that has one. If `in` is better than
 * the best arc of r at the current level of the search, makes it the best arc of r. But if `in`
 * needs a search for cycles first, appends it to deferred[]. */
static void consider(struct fab_nue *d, uint32_t in)
{
    uint32_t r = d->cdg->tail[in], s = d->g->nbr[in];
    uint64_t cost = d->cost[s] + d->load[in];
    if (s != d->home && !fab_route_cdg_in_order(d->cdg, in, fab_route_nue_next(d, s))) {
        d->deferred[d->deferred_count++] = (struct fab_nue_deferred){cost, in};
        return;
    }
    if (d->best[r] == FAB_NONE)
        d->found[d->found_count++] = r;
    else if (cost >= d->cost[d->g->nbr[d->best[r]]] + d->load[d->best[r]])
        return;
    d->best[r] = in;
}

/* Returns how many levels of the search the arc spans: one, or more if its load is normal_load or
 * greater. */
static uint32_t span(const struct fab_nue *d, uint32_t arc)
{
    if (d->normal_load == 0)
        return 1;
    uint64_t more = d->load[arc] / d->normal_load;
    return 1 + (uint32_t)(more < SPAN_MAX ? more : SPAN_MAX);
}

/* Evaluates the arcs to switch s from neighbours that have no path yet. */
static void consider_neighbours(struct fab_nue *d, uint32_t s)
{
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
        uint32_t r = d->g->nbr[out], in = d->cdg->reverse[out];
        if (d->hops[r] != FAB_NUE_UNREACHED || d->forced[r] != FAB_NUE_UNREACHED)
            continue;
        uint32_t levels = span(d, in);
        if (levels == 1) {
            consider(d, in);
            continue;
        }
        uint32_t *list = &d->delayed[(d->hops[s] + levels) % FAB_NUE_LEVELS];
        d->next_delayed[in] = *list;
        *list = in;
        d->delayed_count++;
    }
}

/* Evaluates the arcs of delayed[] that span several levels and whose last level is `hops`. */
static void consider_delayed(struct fab_nue *d, uint16_t hops)
{
    uint32_t *list = &d->delayed[hops % FAB_NUE_LEVELS];
    for (; *list != FAB_NONE; *list = d->next_delayed[*list], d->delayed_count--) {
        if (d->hops[d->cdg->tail[*list]] == FAB_NUE_UNREACHED)
            consider(d, *list);
    }
}

/* Changes the first arc of the path from switch s to `arc`. Then the arcs by which other switches
 * send through s depend on `arc`; the new arc `in` also depends on it. If one of these dependencies
 * would close a cycle, changes nothing and returns false. */
static bool change_path(struct fab_nue *d, uint32_t s, uint32_t arc, uint32_t in)
{
    struct fab_cdg *t = d->cdg;
    uint32_t v = d->g->nbr[arc];
    bool was_logging = t->logging;
    size_t mark = t->logged;
    t->logging = true;
    bool good = (v == d->home || fab_route_cdg_add(t, arc, fab_route_nue_next(d, v))) &&
                fab_route_cdg_add(t, in, arc);
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1] && good; out++) {
        uint32_t r = d->g->nbr[out];
        if (d->hops[r] != FAB_NUE_UNREACHED && r != d->home &&
            fab_route_nue_next(d, r) == t->reverse[out])
            good = fab_route_cdg_add(t, t->reverse[out], arc);
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

/* Tries to make the arc `in` usable: gives the switch to which it leads another path of the same
 * length. Returns false if there is no such path. */
static bool backtrack(struct fab_nue *d, uint32_t in)
{
    uint32_t s = d->g->nbr[in];
    if (s == d->home || d->forced[s] != FAB_NUE_UNREACHED)
        return false;
    for (uint32_t arc = d->g->nbr_at[s]; arc < d->g->nbr_at[s + 1]; arc++) {
        uint32_t v = d->g->nbr[arc];
        if (arc != fab_route_nue_next(d, s) && d->hops[v] != FAB_NUE_UNREACHED &&
            d->hops[v] < d->hops[s] && change_path(d, s, arc, in))
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

/* Gives paths to the switches that the search has reached at this level. Returns false if one of
 * these switches gets no path. */
static bool settle_level(struct fab_nue *d, uint16_t hops)
{
    bool all = true;
    for (uint32_t i = 0; i < d->found_count; i++) {
        uint32_t r = d->found[i], arc = d->best[r], s = d->g->nbr[arc];
        if (s != d->home)
            fab_route_cdg_add(d->cdg, arc, fab_route_nue_next(d, s));
        settle(d, r, arc, hops);
        d->best[r] = FAB_NONE;
    }
    qsort(d->deferred, d->deferred_count, sizeof(*d->deferred), by_cost);
    for (uint32_t i = 0; i < d->deferred_count; i++) {
        uint32_t arc = d->deferred[i].arc, r = d->cdg->tail[arc];
        if (d->hops[r] == FAB_NUE_UNREACHED &&
            fab_route_cdg_add(d->cdg, arc, fab_route_nue_next(d, d->g->nbr[arc])))
            settle(d, r, arc, hops);
    }
    for (uint32_t i = 0; i < d->deferred_count; i++) {
        uint32_t arc = d->deferred[i].arc, r = d->cdg->tail[arc];
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
    memset(d->delayed, 0xff, sizeof(d->delayed));
    d->delayed_count = 0;
    d->by_distance[0] = d->home;
    d->count = 1;
    d->hops[d->home] = 0;
    d->cost[d->home] = 0;
}

/* Searches level by level until no further switch can be reached. If `strict` is true, returns
 * false as soon as a switch gets no path at its level. */
static bool expand_levels(struct fab_nue *d, bool strict)
{
    uint32_t at = 0, forced = 0;
    begin(d);
    for (uint16_t hops = 1; hops < FAB_NUE_UNREACHED; hops++) {
        if (at == d->count && forced == d->forced_count && d->delayed_count == 0)
            break;
        uint32_t end = d->count;
        d->found_count = d->deferred_count = 0;
        for (; at < end; at++)
            consider_neighbours(d, d->by_distance[at]);
        consider_delayed(d, hops);
        if (!settle_level(d, hops) && strict)
            return false;
        for (uint32_t i = 0; i < d->forced_count; i++) {
            if (d->forced[d->forced_list[i]] != hops)
                continue;
            settle(d, d->forced_list[i], tree_arc(d, d->forced_list[i]), hops);
            forced++;
        }
    }
    return true;
}

/* Makes the switches without a path use the escape tree. If `all` is true, makes all switches use
 * it. Returns the number of switches that had no path. */
static uint32_t put_rest_on_tree(struct fab_nue *d, bool all)
{
    uint32_t rest = 0, component = d->g->component[d->home];
    for (uint32_t s = 0; s < d->g->n; s++) {
        if (d->g->component[s] != component || d->hops[s] != FAB_NUE_UNREACHED)
            continue;
        rest++;
        use_tree(d, s);
    }
    for (uint32_t s = 0; s < d->g->n && all && rest > 0; s++) {
        if (d->g->component[s] == component)
            use_tree(d, s);
    }
    return rest;
}

/* Adds the paths that were found last to the loads of the arcs: for each arc, the number of pairs
 * of hosts that use it. */
static void add_loads(struct fab_nue *d)
{
    uint32_t receivers = d->g->hosts[d->home];
    if (receivers == 0)
        return;
    memset(d->flow, 0, d->g->n * sizeof(*d->flow));
    for (uint32_t i = d->count; i-- > 1;) {
        uint32_t s = d->by_distance[i], arc = fab_route_nue_next(d, s);
        d->flow[s] += d->g->hosts[s];
        d->flow[d->g->nbr[arc]] += d->flow[s];
        d->load[arc] += d->flow[s] * receivers;
    }
}

/* Returns the number of hosts that have a path to d->home, but not a shortest one. */
static uint64_t count_detours(struct fab_nue *d)
{
    uint64_t detour_hosts = 0;
    uint32_t count = 1;
    memset(d->min_hops, 0xff, d->g->n * sizeof(*d->min_hops));
    d->min_hops[d->home] = 0;
    d->found[0] = d->home;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t s = d->found[at];
        for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
            uint32_t r = d->g->nbr[out];
            if (d->min_hops[r] != FAB_NUE_UNREACHED)
                continue;
            d->min_hops[r] = (uint16_t)(d->min_hops[s] + 1);
            d->found[count++] = r;
            detour_hosts += d->hops[r] > d->min_hops[r] ? d->g->hosts[r] : 0;
        }
    }
    return detour_hosts;
}

static uint64_t mean_based_load(const struct fab_nue *d)
{
    uint64_t sum = 0;
    for (uint32_t arc = 0; arc < d->cdg->arcs; arc++)
        sum += d->load[arc];
    return sum / (d->cdg->arcs + 1) * NORMAL_LOADS + 1;
}

/* Finds the paths to `home`. If `strict` is true, returns false unless all paths are shortest
 * paths. The new dependencies stay in the log of the channel dependency graph, so that the caller
 * can undo them. */
static bool search(struct fab_nue *d, uint32_t home, bool strict)
{
    d->home = home;
    d->forced_count = 0;
    d->normal_load = strict || d->g->hosts[home] == 0 ? 0 : mean_based_load(d);
    memset(d->best, 0xff, d->g->n * sizeof(*d->best));
    memset(d->forced, 0xff, d->g->n * sizeof(*d->forced));
    d->forced[home] = 0;
    find_descent(d, home);
    d->cdg->logging = true;
    d->cdg->logged = 0;
    bool good = expand_levels(d, strict);
    for (unsigned retry = 1; good && retry <= RETRIES + 1; retry++) {
        if (put_rest_on_tree(d, retry > RETRIES) == 0)
            break;
        fab_route_cdg_undo(d->cdg, 0);
        good = expand_levels(d, false);
    }
    d->cdg->logging = false;
    d->detour_hosts = 0;
    if (good && !strict) {
        fab_route_nue_restore(d, home);
        d->detour_hosts = count_detours(d);
    }
    return good;
}

bool fab_route_nue_find(struct fab_nue *d, uint32_t home, bool strict)
{
    bool good = search(d, home, strict);
    if (good)
        add_loads(d);
    else
        fab_route_cdg_undo(d->cdg, 0);
    return good;
}

uint64_t fab_route_nue_count_detours(struct fab_nue *d, uint32_t home)
{
    search(d, home, false);
    fab_route_cdg_undo(d->cdg, 0);
    return d->detour_hosts;
}
