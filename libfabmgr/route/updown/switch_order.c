/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the order for up*|down* routing. Several orders are made, which suit different topologies.
 * Each is changed so that it has a single root (single_root.c). The order with the shortest legal
 * paths between hosts is used. If several orders have equally short paths, the first of them is
 * used.
 *
 * - leaves: switches with hosts have rank 0, and the rank of other switches is their distance from
 *   these. Spines may have hosts, too (a manager, storage), so a switch is not a leaf if a
 *   neighbour has at least twice as many hosts. This suits trees, complete or damaged.
 * - strict: like leaves, but a switch is not a leaf if any neighbour has more hosts.
 * - levels: ranks fall with the distance from one central switch. This suits rings, tori and
 *   irregular topologies, which have no leaves.
 * - roots: the policy names the root switches, and ranks fall with the distance from them. No other
 *   order is tried.
 *
 * Switches of equal rank are ordered by id, hence by GUID.
 */
#include "libfabmgr/route/updown/switch_order.h"
#include "libfabmgr/route/updown/slow_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/updown/legal_paths.h"

#define RANK_NONE 0xff
#define RANK_MAX 0xfe
#define DIVIDER_MAX (1u << 20)
/* If more than 1 / WITHIN_RANK_SHARE of the links join switches of the same rank, the topology is
 * not a tree. */
#define WITHIN_RANK_SHARE 20
/* maximum number of switches that are tried as the central switch */
#define CENTRES 16

static int order_init(struct fab_order *o, uint32_t n)
{
    struct fab_order made = {.n = n, .root = FAB_NONE, .origin = ""};
    size_t room = (size_t)n + 1;
    made.rank = fab_base_arena_alloc(&made.arena, room, sizeof(*made.rank));
    made.leaf = fab_base_arena_alloc(&made.arena, room, sizeof(*made.leaf));
    made.at = fab_base_arena_alloc(&made.arena, room, sizeof(*made.at));
    made.pos = fab_base_arena_alloc(&made.arena, room, sizeof(*made.pos));
    made.divider = fab_base_arena_alloc(&made.arena, room, sizeof(*made.divider));
    if (made.arena.failed) {
        fab_route_order_fini(&made);
        return FAB_E_NOMEM;
    }
    *o = made;
    return FAB_OK;
}

void fab_route_order_fini(struct fab_order *o)
{
    fab_base_arena_fini(&o->arena);
    memset(o, 0, sizeof(*o));
}

/* ---- ranks ---------------------------------------------------------------------------------- */

/* Sets the rank of each switch to its distance from the switches of rank 0, by a breadth-first
 * search. On entry all other switches must have RANK_NONE. Returns the greatest rank. */
static uint8_t search_ranks(const struct fab_graph *g, uint8_t *rank, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    uint8_t greatest = 0;
    for (uint32_t s = 0; s < g->n; s++) {
        if (rank[s] == 0)
            queue[tail++] = s;
    }
    while (head < tail) {
        uint32_t s = queue[head++];
        greatest = rank[s];
        for (uint32_t i = g->nbr_at[s]; i < g->nbr_at[s + 1]; i++) {
            uint32_t v = g->nbr[i];
            if (rank[v] != RANK_NONE)
                continue;
            rank[v] = (uint8_t)(rank[s] < RANK_MAX ? rank[s] + 1 : RANK_MAX);
            queue[tail++] = v;
        }
    }
    return greatest;
}

static bool is_leaf(const struct fab_graph *g, uint32_t s, uint32_t ratio)
{
    if (g->hosts[s] == 0)
        return false;
    for (uint32_t i = g->nbr_at[s]; i < g->nbr_at[s + 1]; i++) {
        uint32_t theirs = g->hosts[g->nbr[i]];
        if (theirs > g->hosts[s] && theirs >= g->hosts[s] * ratio)
            return false;
    }
    return true;
}

static void rank_from_leaves(const struct fab_graph *g, struct fab_order *o, uint32_t ratio)
{
    for (uint32_t s = 0; s < g->n; s++) {
        o->leaf[s] = is_leaf(g, s, ratio);
        o->rank[s] = o->leaf[s] ? 0 : RANK_NONE;
    }
    search_ranks(g, o->rank, o->at);
    for (uint32_t s = 0; s < g->n; s++) {
        if (o->rank[s] == RANK_NONE)
            /* a component without hosts: all its switches get rank 0 */
            o->rank[s] = 0;
    }
}

/* Computes ranks from the distances to the nearest root switch. The root switches get the highest
 * rank, and each hop away from them lowers the rank by one. Switches that no root reaches get rank
 * 0. Before the call, o->rank[] must be 0 for the root switches and RANK_NONE for all other
 * switches. */
static void rank_from_roots(const struct fab_graph *g, struct fab_order *o)
{
    uint8_t deepest = search_ranks(g, o->rank, o->at);
    for (uint32_t s = 0; s < g->n; s++) {
        o->leaf[s] = g->hosts[s] > 0;
        o->rank[s] = o->rank[s] == RANK_NONE ? 0 : (uint8_t)(deepest - o->rank[s]);
    }
}

/* Returns the sum of the distances from switch s to all other switches. o->rank[] and o->at[] are
 * used as scratch memory. */
static uint64_t sum_distances(const struct fab_graph *g, struct fab_order *o, uint32_t s)
{
    uint64_t sum = 0;
    memset(o->rank, RANK_NONE, g->n);
    o->rank[s] = 0;
    search_ranks(g, o->rank, o->at);
    for (uint32_t v = 0; v < g->n; v++)
        sum += o->rank[v] != RANK_NONE ? o->rank[v] : 0;
    return sum;
}

/* Returns the central switch of a component: among the switches with the most neighbours, the
 * switch with the least sum of distances to all others. At most CENTRES switches are tried. */
static uint32_t central_switch(const struct fab_graph *g, struct fab_order *o, uint32_t component)
{
    uint32_t most = 0, best = component;
    uint64_t least = UINT64_MAX;
    unsigned tried = 0;
    for (uint32_t s = component; s < g->n; s++) {
        uint32_t degree = g->nbr_at[s + 1] - g->nbr_at[s];
        if (g->component[s] == component && degree > most)
            most = degree;
    }
    for (uint32_t s = component; s < g->n && tried < CENTRES; s++) {
        if (g->component[s] != component || g->nbr_at[s + 1] - g->nbr_at[s] != most)
            continue;
        uint64_t sum = sum_distances(g, o, s);
        if (sum < least) {
            least = sum;
            best = s;
        }
        tried++;
    }
    return best;
}

static void rank_from_centre(const struct fab_graph *g, struct fab_order *o)
{
    for (uint32_t s = 0; s < g->n; s++) {
        if (g->component[s] == s)
            /* until find_dividers() fills divider[], it holds the central switch */
            o->divider[s] = central_switch(g, o, s);
    }
    memset(o->rank, RANK_NONE, g->n);
    for (uint32_t s = 0; s < g->n; s++) {
        if (g->component[s] == s)
            o->rank[o->divider[s]] = 0;
    }
    rank_from_roots(g, o);
}

static bool rank_from_policy(const struct fab_graph *g, const struct fab_fabric *f,
                             const struct fab_policy *p, struct fab_order *o)
{
    bool found = false;
    memset(o->rank, RANK_NONE, g->n);
    for (size_t i = 0; i < p->root_count; i++) {
        uint32_t node = fab_fabric_node_by_guid(f, p->roots[i]);
        if (node == FAB_NONE || !fab_fabric_node_is_switch(f, node))
            continue;
        o->rank[node] = 0;
        found = true;
    }
    if (found)
        rank_from_roots(g, o);
    return found;
}

/* ---- from ranks to an order ----------------------------------------------------------------- */

/* Sorts the switches by rank, and by id within a rank (counting sort). */
static void sort_by_rank(struct fab_order *o)
{
    uint32_t start[257] = {0};
    for (uint32_t s = 0; s < o->n; s++)
        start[o->rank[s] + 1]++;
    for (unsigned r = 0; r < 256; r++)
        start[r + 1] += start[r];
    for (uint32_t s = 0; s < o->n; s++) {
        o->pos[s] = start[o->rank[s]]++;
        o->at[o->pos[s]] = s;
    }
}

static uint32_t higher_neighbours(const struct fab_graph *g, const struct fab_order *o, uint32_t s)
{
    uint32_t count = 0;
    for (uint32_t i = g->nbr_at[s]; i < g->nbr_at[s + 1]; i++)
        count += o->rank[g->nbr[i]] > o->rank[s];
    return count;
}

static void find_dividers(const struct fab_graph *g, struct fab_order *o)
{
    for (uint32_t s = 0; s < g->n; s++)
        o->divider[s] = 1;
    for (uint32_t p = 0; p < g->n; p++) {
        uint32_t s = o->at[p];
        uint64_t product = (uint64_t)o->divider[s] * higher_neighbours(g, o, s);
        uint32_t here = (uint32_t)(product < DIVIDER_MAX ? product : DIVIDER_MAX);
        for (uint32_t i = g->nbr_at[s]; i < g->nbr_at[s + 1]; i++) {
            uint32_t v = g->nbr[i];
            if (o->rank[v] > o->rank[s] && o->divider[v] < here)
                o->divider[v] = here;
        }
    }
}

static int finish(const struct fab_graph *g, struct fab_order *o)
{
    sort_by_rank(o);
    find_dividers(g, o);
    return fab_route_order_single_root(g, o);
}

/* Completes an order whose ranks are known, and moves it to *ret. On failure, frees the order. */
static int finish_into(const struct fab_graph *g, struct fab_order *o, struct fab_order *ret)
{
    int status = finish(g, o);
    if (status == FAB_OK)
        *ret = *o;
    else
        fab_route_order_fini(o);
    return status;
}

/* ---- comparing candidates ------------------------------------------------------------------- */

/* Sets *ret_total to the sum of the lengths (in hops) of the legal paths between all pairs of
 * hosts. If there are no hosts, counts all pairs of switches instead. */
static int sum_hops(const struct fab_graph *g, const struct fab_order *o, uint64_t *ret_total)
{
    struct fab_updown updown = {0};
    uint32_t batch[FAB_LEGAL_BATCH], hosts = 0;
    uint64_t total = 0;
    uint8_t *paths = fab_route_legal_alloc(g->n);
    int ret = paths != NULL ? fab_route_updown_make(g, o, &updown) : FAB_E_NOMEM;
    if (ret != FAB_OK)
        goto out;
    for (uint32_t s = 0; s < g->n; s++)
        hosts += g->hosts[s];
    for (uint32_t next = 0, count = 0; next < g->n; next++) {
        if (hosts == 0 || g->hosts[next] > 0)
            batch[count++] = next;
        if (count == 0 || (count < FAB_LEGAL_BATCH && next + 1 < g->n))
            continue;
        fab_route_legal_paths(&updown, batch, count, paths);
        for (uint32_t s = 0; s < g->n; s++) {
            uint64_t here = 0;
            for (uint32_t i = 0; i < count; i++) {
                uint8_t hops = paths[(size_t)s * FAB_LEGAL_BATCH + i];
                uint64_t weight = hosts > 0 ? g->hosts[batch[i]] : 1;
                here += hops != FAB_LEGAL_NONE ? weight * (hops & FAB_LEGAL_HOPS) : 0;
            }
            total += here * (hosts > 0 ? g->hosts[s] : 1);
        }
        count = 0;
    }
    *ret_total = total;
out:
    fab_route_updown_fini(&updown);
    free(paths);
    return ret;
}

enum origin { BY_LEAVES, BY_STRICT_LEAVES, BY_LEVELS, ORIGINS };

static int make_candidate(const struct fab_graph *g, enum origin origin, struct fab_order *ret)
{
    struct fab_order o;
    int status = order_init(&o, g->n);
    if (status != FAB_OK)
        return status;
    if (origin == BY_LEVELS) {
        rank_from_centre(g, &o);
        o.origin = "levels from the central switch";
    } else {
        rank_from_leaves(g, &o, origin == BY_LEAVES ? 2 : 1);
        o.origin = "ranks from the leaves";
    }
    return finish_into(g, &o, ret);
}

static int keep_better(const struct fab_graph *g, struct fab_order *candidate,
                       struct fab_order *best, uint64_t *least)
{
    uint64_t total = 0;
    int ret = sum_hops(g, candidate, &total);
    if (ret == FAB_OK && total < *least) {
        struct fab_order worse = *best;
        *best = *candidate;
        *candidate = worse;
        *least = total;
    }
    fab_route_order_fini(candidate);
    return ret;
}

int fab_route_order_find(const struct fab_graph *g, const struct fab_fabric *f,
                         const struct fab_policy *p, struct fab_order *ret)
{
    struct fab_order best, candidate;
    uint64_t least = UINT64_MAX;
    int status = order_init(&best, g->n);
    if (status != FAB_OK)
        return status;
    if (rank_from_policy(g, f, p, &best)) {
        best.origin = "roots of the policy";
        status = finish(g, &best);
    } else {
        for (unsigned origin = 0; origin < ORIGINS && status == FAB_OK; origin++) {
            status = make_candidate(g, origin, &candidate);
            if (status == FAB_OK)
                status = keep_better(g, &candidate, &best, &least);
        }
    }
    if (status == FAB_OK)
        *ret = best;
    else
        fab_route_order_fini(&best);
    return status;
}

int fab_route_order_ranked(const struct fab_graph *g, const struct fab_fabric *f,
                           const struct fab_policy *p, struct fab_order *ret)
{
    struct fab_order o;
    int status = order_init(&o, g->n);
    if (status != FAB_OK)
        return status;
    o.origin = "roots of the policy";
    if (!rank_from_policy(g, f, p, &o)) {
        rank_from_leaves(g, &o, 2);
        o.origin = "ranks from the leaves";
    }
    return finish_into(g, &o, ret);
}

/* ---- is it a tree? --------------------------------------------------------------------------- */

struct within {
    /* links: number of links. within: number of links that join switches of the same rank. a, b:
     * the two switches of the first link of this kind. */
    uint32_t links, within, a, b;
    uint8_t num_a, num_b;
};

static struct within count_links(const struct fab_graph *g, const struct fab_order *o,
                                 const struct fab_fabric *f)
{
    struct within c = {0};
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t i = g->port_at[s]; i < g->port_at[s + 1]; i++) {
            uint32_t v = g->port_peer[i];
            if (v < s)
                continue;
            c.links++;
            if (o->rank[v] != o->rank[s])
                continue;
            if (c.within++ == 0) {
                uint32_t port = fab_fabric_port_id(f, s, g->port_num[i]);
                c.a = s;
                c.b = v;
                c.num_a = g->port_num[i];
                c.num_b = fab_fabric_port(f, fab_fabric_port(f, port)->peer)->num;
            }
        }
    }
    return c;
}

bool fab_route_order_is_flat(const struct fab_graph *g, const struct fab_order *o,
                             const struct fab_fabric *f, char *why, size_t why_len)
{
    struct within c = count_links(g, o, f);
    uint32_t leaves = 0;
    for (uint32_t s = 0; s < g->n; s++)
        leaves += o->leaf[s];
    if (leaves == 0) {
        snprintf(why, why_len, "no tree: no switch has a host");
        return true;
    }
    if ((uint64_t)c.within * WITHIN_RANK_SHARE <= c.links)
        return false;
    snprintf(why, why_len,
             "no tree: %u of %u links join switches of the same rank, for example %.40s "
             "port %u and %.40s port %u",
             c.within, c.links, f->nodes[c.a].name, c.num_a, f->nodes[c.b].name, c.num_b);
    return true;
}

/* ---- ranks of the switches ------------------------------------------------------------------- */

static int ranks_by(fab_route_find_order *find, const struct fab_fabric *f,
                    const struct fab_policy *p, struct fab_ranks *ret)
{
    struct fab_graph g;
    struct fab_order o;
    int status = fab_route_slow_links_omit(f, p, find, &g, &o);
    if (status != FAB_OK)
        return status;
    fab_route_graph_fini(&g);
    *ret = (struct fab_ranks){
        .arena = o.arena, .switch_count = o.n, .rank = o.rank, .order = o.pos, .leaf = o.leaf};
    return FAB_OK;
}

int fab_route_ranks_find(const struct fab_fabric *f, const struct fab_policy *p,
                         struct fab_ranks *ret)
{
    return ranks_by(fab_route_order_find, f, p, ret);
}

int fab_route_ranks_of_tree(const struct fab_fabric *f, const struct fab_policy *p,
                            struct fab_ranks *ret)
{
    return ranks_by(fab_route_order_ranked, f, p, ret);
}

void fab_route_ranks_fini(struct fab_ranks *r)
{
    fab_base_arena_fini(&r->arena);
    memset(r, 0, sizeof(*r));
}
