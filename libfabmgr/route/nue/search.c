/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds paths to one destination switch by the method of Nue. The search goes from the destination
 * outwards, over arcs whose dependency on the rest of the path closes no cycle with the
 * dependencies in use. Each path also gets a VL; dependencies are in use on a VL.
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
 * (The members `dense` and `by_load` of struct fab_nue change these preferences.) It tries an arc
 * whose dependency needs a search for cycles only if there is no other arc. If that dependency
 * closes a cycle, the search gives the neighbour at the end of the arc another path, over a switch
 * of a lower level. The arc may then be usable (local backtracking in the paper). A switch that
 * still has no path may get a longer one in a later level.
 *
 * Switches that have no path at the end of the search take the escape tree. On the first d->trees
 * VLs, all dependencies along the tree are in use from the start, so paths along the tree close no
 * cycle there. On another VL, such a path may close a cycle; the search then fails. LFTs consider
 * the destination only. So if a switch takes the tree, all later switches on its path must take the
 * tree, too. Therefore the search is repeated, and all these switches take the tree in the
 * repetition.
 */
#include "libfabmgr/route/nue/search.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* Maximum number of repetitions of a search in which only the switches without a path, and the
 * later switches on their paths, use the escape tree. In one more repetition, all switches use the
 * tree. */
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
                       struct fab_cdg *cdg)
{
    struct fab_nue made = {.g = g, .cdg = cdg, .lanes = 1};
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
    made.lane_of = fab_base_arena_alloc(&made.arena, n, n);
    made.kept = fab_base_arena_alloc(&made.arena, n, n);
    made.lane = fab_base_arena_alloc(&made.arena, n, sizeof(*made.lane));
    made.lane_was = fab_base_arena_alloc(&made.arena, n, sizeof(*made.lane_was));
    made.arc_lanes = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.arc_lanes));
    made.through = fab_base_arena_alloc(&made.arena, n, sizeof(*made.through));
    if (made.arena.failed) {
        fab_route_nue_fini(&made);
        return FAB_E_NOMEM;
    }
    number_slots(g, made.port_slot);
    find_escape_tree(g, o, made.escape_arc, made.min_hops);
    *d = made;
    fab_route_nue_clear(d);
    return FAB_OK;
}

void fab_route_nue_fini(struct fab_nue *d)
{
    fab_base_arena_fini(&d->arena);
    memset(d, 0, sizeof(*d));
}

/* ---- virtual lanes --------------------------------------------------------------------------- */

void fab_route_nue_clear(struct fab_nue *d)
{
    size_t n = d->g->n;
    memset(d->lane_of, FAB_NUE_LANE_NONE, n * n);
    memset(d->kept, FAB_NUE_SLOT_NONE, n * n);
}

void fab_route_nue_keep(struct fab_nue *d)
{
    size_t n = d->g->n;
    memcpy(d->kept + d->home * n, d->slot, n);
    for (uint32_t i = 1; i < d->count; i++) {
        uint32_t s = d->by_distance[i];
        d->lane_of[d->home * n + s] = d->lane_of[s * n + d->home] = d->lane[s];
    }
}

/* Consider the path that begins with `arc` and continues by the paths found so far. Returns true if
 * each of its dependencies is in use on the VL, or can be added without a search. */
static bool is_in_order(const struct fab_nue *d, uint32_t lane, uint32_t arc)
{
    for (uint32_t s = d->g->nbr[arc]; s != d->home; s = d->g->nbr[arc]) {
        uint32_t next = fab_route_nue_next(d, s);
        if (!fab_route_cdg_in_order(&d->cdg[lane], arc, next))
            return false;
        if (d->lane[s] == lane)
            return true; /* the dependencies of the path from s are in use */
        arc = next;
    }
    return true;
}

/* Returns a number n: paths between switch s and d->home may use the first n VLs. Paths of switches
 * without hosts need a VL with the escape tree. */
static uint32_t lanes_for(const struct fab_nue *d, uint32_t s)
{
    bool hosts = d->g->hosts[s] > 0 && d->g->hosts[d->home] > 0;
    return hosts ? d->lanes : d->trees;
}

/* Returns a VL on which switch s can take the path that begins with `arc`, without a search for
 * cycles. Returns FAB_NUE_LANE_NONE if there is none. */
static uint8_t lane_in_order(const struct fab_nue *d, uint32_t s, uint32_t arc)
{
    uint8_t fixed = d->lane_of[(size_t)d->home * d->g->n + s];
    if (fixed != FAB_NUE_LANE_NONE)
        return is_in_order(d, fixed, arc) ? fixed : FAB_NUE_LANE_NONE;
    for (uint32_t lane = 0; lane < (d->dense ? 1 : lanes_for(d, s)); lane++) {
        if (is_in_order(d, lane, arc))
            return (uint8_t)lane;
    }
    return FAB_NUE_LANE_NONE;
}

/* Adds the dependencies of the path that begins with `arc` and continues by the paths found so far.
 * If one of them would close a cycle on the VL, adds none and returns false. */
static bool add_path(struct fab_nue *d, uint32_t lane, uint32_t arc)
{
    struct fab_cdg *t = &d->cdg[lane];
    size_t mark = t->logged;
    for (uint32_t s = d->g->nbr[arc]; s != d->home; s = d->g->nbr[arc]) {
        uint32_t next = fab_route_nue_next(d, s);
        if (!fab_route_cdg_add(t, arc, next)) {
            fab_route_cdg_undo(t, mark);
            return false;
        }
        if (d->lane[s] == lane)
            return true; /* the dependencies of the path from s are in use */
        arc = next;
    }
    return true;
}

/* Adds the dependencies of the kept path from d->home to switch s. If one of them would close a
 * cycle on the VL, adds none and returns false. */
static bool add_path_back(struct fab_nue *d, uint32_t lane, uint32_t s)
{
    struct fab_cdg *t = &d->cdg[lane];
    const uint8_t *slot = d->kept + (size_t)s * d->g->n;
    size_t mark = t->logged;
    uint32_t arc = d->g->nbr_at[d->home] + slot[d->home];
    for (uint32_t at = d->g->nbr[arc]; at != s; at = d->g->nbr[arc]) {
        uint32_t next = d->g->nbr_at[at] + slot[at];
        if (!fab_route_cdg_add(t, arc, next)) {
            fab_route_cdg_undo(t, mark);
            return false;
        }
        arc = next;
    }
    return true;
}

/* Moves the pair of switch s and d->home to another VL, on which the path that begins with `arc`
 * and the path back close no cycle. Returns false if there is no such VL. */
static bool move_pair(struct fab_nue *d, uint32_t s, uint32_t arc)
{
    for (uint32_t lane = 0; lane < lanes_for(d, s); lane++) {
        size_t mark = d->cdg[lane].logged;
        if (lane == d->lane_of[(size_t)d->home * d->g->n + s] || !add_path(d, lane, arc))
            continue;
        if (add_path_back(d, lane, s)) {
            d->lane[s] = (uint8_t)lane;
            return true;
        }
        fab_route_cdg_undo(&d->cdg[lane], mark);
    }
    return false;
}

/* Returns true if the path from switch s gets its VL later (fab_route_nue_complete). */
static bool comes_later(const struct fab_nue *d, uint32_t s)
{
    return d->defer && d->g->hosts[s] == 0;
}

/* Chooses a VL for switch s and the path that begins with `arc`, and adds the dependencies of this
 * path. Returns false if they would close a cycle on each VL. A path that comes later (comes_later)
 * gets no VL, and its dependencies are not added. */
static bool add_on_some_lane(struct fab_nue *d, uint32_t s, uint32_t arc)
{
    uint8_t fixed = d->lane_of[(size_t)d->home * d->g->n + s];
    if (comes_later(d, s)) {
        d->lane[s] = FAB_NUE_LANE_NONE;
        return true;
    }
    if (fixed != FAB_NUE_LANE_NONE) {
        d->lane[s] = fixed;
        return add_path(d, fixed, arc) || move_pair(d, s, arc);
    }
    for (uint32_t lane = 0; lane < lanes_for(d, s); lane++) {
        d->lane[s] = (uint8_t)lane;
        if (add_path(d, lane, arc))
            return true;
    }
    return false;
}

static void undo_all(struct fab_nue *d, const size_t mark[FAB_VLS_MAX])
{
    for (uint32_t l = 0; l < d->lanes; l++)
        fab_route_cdg_undo(&d->cdg[l], mark[l]);
}

static void set_logging(struct fab_nue *d, bool logging)
{
    for (uint32_t l = 0; l < d->lanes; l++) {
        d->cdg[l].logging = logging;
        if (logging)
            d->cdg[l].logged = 0;
    }
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
    struct fab_cdg *t = &d->cdg[d->trees++];
    const struct fab_graph *g = d->g;
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t in = g->nbr_at[s]; in < g->nbr_at[s + 1]; in++) {
            if (!in_tree(d, in))
                continue;
            for (uint32_t out = g->nbr_at[s]; out < g->nbr_at[s + 1]; out++) {
                if (out != in && in_tree(d, out))
                    fab_route_cdg_add(t, t->reverse[in], out);
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

/* Returns the sum of the loads on the path that begins with the arc. Returns 0 if the destination
 * switch has no hosts: paths to this switch carry no load. With equal costs, they all prefer the
 * same arcs, and so need few dependencies. */
static uint64_t cost_of(const struct fab_nue *d, uint32_t arc)
{
    return d->g->hosts[d->home] > 0 ? d->cost[d->g->nbr[arc]] + d->load[arc] : 0;
}

static void settle(struct fab_nue *d, uint32_t s, uint32_t arc, uint16_t hops)
{
    d->hops[s] = hops;
    d->slot[s] = (uint8_t)fab_route_cdg_slot(d->cdg, arc);
    d->cost[s] = cost_of(d, arc);
    d->by_distance[d->count++] = s;
}

/* Evaluates the arc `in`, which leads from a switch r without a path to a switch that has a path.
 * If `in` is better than the best arc of r at the current level of the search, makes it the best
 * arc of r. But if `in` needs a search for cycles first, appends `in` to deferred[]. */
static void consider(struct fab_nue *d, uint32_t in)
{
    uint32_t r = d->cdg->tail[in];
    uint64_t cost = cost_of(d, in);
    uint8_t lane = d->by_load ? FAB_NUE_LANE_NONE : lane_in_order(d, r, in);
    if (lane == FAB_NUE_LANE_NONE) {
        d->deferred[d->deferred_count++] = (struct fab_nue_deferred){cost, in};
        return;
    }
    if (d->best[r] == FAB_NONE)
        d->found[d->found_count++] = r;
    else if (cost >= cost_of(d, d->best[r]))
        return;
    d->best[r] = in;
    d->lane[r] = lane;
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

/* Adds the dependencies of the paths that lead through switch s, after this switch has got another
 * path. Returns false if some of them would close a cycle on each VL. */
static bool add_upstream(struct fab_nue *d, uint32_t s)
{
    for (uint32_t out = d->g->nbr_at[s]; out < d->g->nbr_at[s + 1]; out++) {
        uint32_t r = d->g->nbr[out], in = d->cdg->reverse[out];
        if (d->hops[r] != FAB_NUE_UNREACHED && r != d->home && fab_route_nue_next(d, r) == in &&
            (!add_on_some_lane(d, r, in) || !add_upstream(d, r)))
            return false;
    }
    return true;
}

/* Makes `arc` the first arc of the path from switch s, and so changes all paths that lead through
 * s. Also adds the new path that begins with the arc `in` to s. If one of these paths would close a
 * cycle on each VL, changes nothing and returns false. */
static bool change_path(struct fab_nue *d, uint32_t s, uint32_t arc, uint32_t in)
{
    uint8_t slot = d->slot[s];
    size_t mark[FAB_VLS_MAX];
    for (uint32_t l = 0; l < d->lanes; l++)
        mark[l] = d->cdg[l].logged;
    memcpy(d->lane_was, d->lane, d->g->n);
    d->slot[s] = (uint8_t)fab_route_cdg_slot(d->cdg, arc);
    if (add_on_some_lane(d, s, arc) && add_upstream(d, s) &&
        add_on_some_lane(d, d->cdg->tail[in], in)) {
        d->cost[s] = cost_of(d, arc);
        return true;
    }
    undo_all(d, mark);
    memcpy(d->lane, d->lane_was, d->g->n);
    d->slot[s] = slot;
    return false;
}

/* Tries to make the arc `in` usable: gives the switch to which it leads another path, over a switch
 * of a lower level. Returns false if there is no such path. */
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

/* Gives paths to the switches that the search has reached at this level. Returns false if
 * backtracking fails for an arc of a switch with hosts, even if the switch then gets a path by
 * another arc. */
static bool settle_level(struct fab_nue *d, uint16_t hops)
{
    bool all = true;
    for (uint32_t i = 0; i < d->found_count; i++) {
        uint32_t r = d->found[i], arc = d->best[r];
        if (comes_later(d, r))
            d->lane[r] = FAB_NUE_LANE_NONE;
        else
            add_path(d, d->lane[r], arc);
        settle(d, r, arc, hops);
        d->best[r] = FAB_NONE;
    }
    qsort(d->deferred, d->deferred_count, sizeof(*d->deferred), by_cost);
    for (uint32_t i = 0; i < d->deferred_count; i++) {
        uint32_t arc = d->deferred[i].arc, r = d->cdg->tail[arc];
        if (d->hops[r] == FAB_NUE_UNREACHED && add_on_some_lane(d, r, arc))
            settle(d, r, arc, hops);
    }
    for (uint32_t i = 0; i < d->deferred_count; i++) {
        uint32_t arc = d->deferred[i].arc, r = d->cdg->tail[arc];
        if (d->hops[r] != FAB_NUE_UNREACHED)
            continue;
        if (backtrack(d, arc))
            settle(d, r, arc, hops);
        else
            all = all && d->g->hosts[r] == 0;
    }
    return all;
}

static void begin(struct fab_nue *d)
{
    memset(d->hops, 0xff, d->g->n * sizeof(*d->hops));
    memset(d->delayed, 0xff, sizeof(d->delayed));
    memset(d->lane, FAB_NUE_LANE_NONE, d->g->n);
    memset(d->slot, FAB_NUE_SLOT_NONE, d->g->n);
    d->delayed_count = 0;
    d->by_distance[0] = d->home;
    d->count = 1;
    d->hops[d->home] = 0;
    d->cost[d->home] = 0;
}

/* Gives switch s its path along the escape tree. Returns false if the VL of the path lacks the
 * tree, and the path would close a cycle there. */
static bool settle_on_tree(struct fab_nue *d, uint32_t s, uint16_t hops)
{
    bool good = add_on_some_lane(d, s, tree_arc(d, s));
    settle(d, s, tree_arc(d, s), hops);
    return good;
}

/* Searches level by level until no further switch can be reached. If `strict` is true, returns
 * false as soon as settle_level() does. Also returns false if a path along the escape tree would
 * close a cycle (settle_on_tree). */
static bool expand_levels(struct fab_nue *d, bool strict)
{
    bool good = true;
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
            good = settle_on_tree(d, d->forced_list[i], hops) && good;
            forced++;
        }
    }
    return good;
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

/* ---- one destination ------------------------------------------------------------------------- */

/* Removes the dependencies that the last search has added. */
static void undo_search(struct fab_nue *d)
{
    static const size_t none[FAB_VLS_MAX];
    undo_all(d, none);
}

/* Finds the paths to `home`. If `strict` is true, returns false unless all hosts get shortest
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
    set_logging(d, true);
    bool good = expand_levels(d, strict);
    for (unsigned retry = 1; good && retry <= RETRIES + 1; retry++) {
        if (put_rest_on_tree(d, retry > RETRIES) == 0)
            break;
        undo_search(d);
        good = expand_levels(d, strict);
    }
    set_logging(d, false);
    d->detour_hosts = 0;
    if (good) {
        fab_route_nue_sort(d);
        d->detour_hosts = count_detours(d);
    }
    return good && (!strict || d->detour_hosts == 0);
}

bool fab_route_nue_find(struct fab_nue *d, uint32_t home, bool strict)
{
    bool good = search(d, home, strict);
    if (good)
        add_loads(d);
    else
        undo_search(d);
    return good;
}

/* ---- switches without hosts ------------------------------------------------------------------ */

/* Stores in through[] the lowest VL of the paths of hosts that lead through each switch;
 * FAB_NUE_LANE_NONE: there are none. */
static void find_lanes_through(struct fab_nue *d)
{
    for (uint32_t s = 0; s < d->g->n; s++)
        d->through[s] = d->lane[s];
    for (uint32_t i = d->count; i-- > 1;) {
        uint32_t s = d->by_distance[i], next = d->g->nbr[fab_route_nue_next(d, s)];
        if (d->through[s] < d->through[next])
            d->through[next] = d->through[s];
    }
}

/* Tries to give switch s the path that begins with `arc`, on the first VL or, if `any` is true, on
 * any VL that has the escape tree. */
static bool attach_by(struct fab_nue *d, uint32_t s, uint32_t arc, bool any)
{
    for (uint32_t lane = 0; lane < (any ? d->trees : 1); lane++) {
        if (!add_path(d, lane, arc))
            continue;
        d->slot[s] = (uint8_t)fab_route_cdg_slot(d->cdg, arc);
        d->lane[s] = (uint8_t)lane;
        return true;
    }
    return false;
}

/* Finds a path and a VL for switch s, over a neighbour that has both. Returns false if there is
 * none. */
static bool attach(struct fab_nue *d, uint32_t s, bool any)
{
    for (uint32_t arc = d->g->nbr_at[s]; arc < d->g->nbr_at[s + 1]; arc++) {
        uint32_t v = d->g->nbr[arc];
        if ((v == d->home || d->lane[v] != FAB_NUE_LANE_NONE) && attach_by(d, s, arc, any))
            return true;
    }
    return false;
}

static bool complete(struct fab_nue *d, uint32_t s)
{
    uint32_t arc = fab_route_nue_next(d, s);
    if (d->lane[s] != FAB_NUE_LANE_NONE || attach_by(d, s, arc, false))
        return true;
    if (d->through[s] == FAB_NUE_LANE_NONE)
        return attach(d, s, false) || attach(d, s, true);
    /* the dependencies of the path are in use on the VL of hosts that send through the switch */
    d->lane[s] = (uint8_t)d->through[s];
    return d->lane[s] < d->trees || attach_by(d, s, arc, true);
}

bool fab_route_nue_complete(struct fab_nue *d, uint32_t home)
{
    bool good = true;
    fab_route_nue_restore(d, home);
    find_lanes_through(d);
    set_logging(d, true);
    for (uint32_t i = 1; i < d->count && good; i++)
        good = complete(d, d->by_distance[i]);
    set_logging(d, false);
    if (good)
        fab_route_nue_keep(d);
    else
        undo_search(d);
    return good;
}

uint64_t fab_route_nue_count_detours(struct fab_nue *d, uint32_t home)
{
    search(d, home, false);
    undo_search(d);
    return d->detour_hosts;
}
