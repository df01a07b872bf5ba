/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes any total order into an order with a single root, in which every pair of switches has a
 * legal path.
 *
 * Up*|down* routing has a path between two switches if they have a common ancestor, that is, a
 * switch which both reach by going up. In a fat tree ordered by ranks, any two leaves have a common
 * ancestor, but two spines have none: a path from spine to spine descends and ascends again, which
 * may close a cycle of channel dependencies. Yet packets must also reach the spines themselves, and
 * the aggregation nodes and managers that are attached to spines. The classic solution, one root
 * and levels below it, makes all spines but one useless for traffic between leaves.
 *
 * This file keeps most of the order. It chooses a leaf, and reverses all links between two switches
 * of the set that consists of this leaf and its ancestors (in a tree of two levels: all spines).
 * The leaf is then the root, a common ancestor of all switches, and spine - leaf - spine is a legal
 * path. In a fat tree, the shortest paths between the other leaves stay legal. Most of them have at
 * most one switch of the set, so none of their links is reversed. A path between the pod of the
 * chosen leaf and another pod can have reversed links, but only on one side of its highest switch.
 * It now has its highest switch at the other end of these links, so it still goes up first and then
 * down.
 *
 * Proof that the directions stay acyclic. Let G be the switches that reach the root by ascending,
 * and U the other switches. At first G = {root}. If a link joins G and U, its upper end is in U,
 * since otherwise both ends could ascend to the root. Let g be the highest switch of G with a
 * neighbour in U, and B the ancestors of g within U.
 *
 * A step reverses the links among g and B: it takes B out of the order and puts it back, in
 * reverse, just below g. The switches of U that are above g in the order but descendants of B move
 * along, to just below B. All moved switches are in U. Their neighbours in G are below them and not
 * above g (g is the highest), so no other link changes its direction. Now B reaches g by ascending
 * and belongs to G. The step is repeated until U is empty.
 */
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/updown/switch_order.h"

/* maximum number of leaves that are tried as roots */
#define TRIALS 64

/* Marks of switches in one step; the proof at the top of this file defines the sets B and U and the
 * switch g. ABOVE: the switch is in B. BESIDE: the switch is in U, and a descendant of B; it moves
 * only if it is above g. PLAIN: any other switch. */
enum mark { PLAIN = 0, ABOVE = 1, BESIDE = 2 };

struct rooting {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_graph *g;
    struct fab_order *o;
    uint8_t *mark;   /* [switches] enum mark */
    bool *in_g;      /* [switches] true: the switch is in the set G of the proof */
    uint32_t *stack; /* [switches] scratch memory */
    uint32_t *list;  /* [switches] scratch memory */
};

static bool is_maximum(const struct rooting *c, uint32_t s)
{
    for (uint32_t i = c->g->nbr_at[s]; i < c->g->nbr_at[s + 1]; i++) {
        if (fab_route_order_is_up(c->o, s, c->g->nbr[i]))
            return false;
    }
    return true;
}

/* Starts at the `count` switches on the stack. Follows links up (or down, if `up` is false), but
 * only to unmarked switches outside the set G. Gives the mark `as` to all switches that it reaches.
 * Returns how many of these switches have no upper neighbour, or 0 if `up` is false. */
static uint32_t flood(struct rooting *c, uint32_t count, bool up, enum mark as)
{
    uint32_t maxima = 0;
    while (count > 0) {
        uint32_t s = c->stack[--count];
        for (uint32_t i = c->g->nbr_at[s]; i < c->g->nbr_at[s + 1]; i++) {
            uint32_t v = c->g->nbr[i];
            if (c->in_g[v] || c->mark[v] != PLAIN || fab_route_order_is_up(c->o, s, v) != up)
                continue;
            c->mark[v] = (uint8_t)as;
            maxima += up && is_maximum(c, v);
            c->stack[count++] = v;
        }
    }
    return maxima;
}

static uint32_t maxima_above(struct rooting *c, uint32_t s)
{
    memset(c->mark, PLAIN, c->g->n);
    c->stack[0] = s;
    return flood(c, 1, true, ABOVE);
}

/* Returns the switch to use as root of a component: the first leaf that reaches, over links that
 * lead up, at least three quarters of the maxima (switches without upper neighbours). If none of
 * the first TRIALS leaves reaches so many, returns the one that reaches the most. If the component
 * has no leaf, any switch may be chosen. The leaf need not reach all maxima: if it had to, a single
 * failed link could move the root. */
static uint32_t choose_root(struct rooting *c, uint32_t component, uint32_t maxima, bool has_leaf)
{
    uint32_t best = FAB_NONE, best_maxima = 0;
    unsigned trials = 0;
    for (uint32_t s = component; s < c->g->n && trials < TRIALS; s++) {
        if (c->g->component[s] != component || (has_leaf && !c->o->leaf[s]))
            continue;
        uint32_t above = maxima_above(c, s);
        if (best == FAB_NONE || above > best_maxima) {
            best = s;
            best_maxima = above;
        }
        if (above >= maxima - maxima / 4)
            break;
        trials++;
    }
    return best;
}

/* The set G is defined at the top of this file. Let B be all switches outside G that switch g
 * reaches over links that lead up. Let C be all other switches outside G that are above g, and to
 * which links lead down from B. Moves B to just below g in the order of the switches, and reverses
 * the sequence of B. Moves C to just below B. */
static void reverse_below(struct rooting *c, uint32_t g)
{
    struct fab_order *o = c->o;
    uint32_t out = 0, n = o->n;
    memset(c->mark, PLAIN, n);
    c->stack[0] = g;
    flood(c, 1, true, ABOVE);
    uint32_t count = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (c->mark[s] == ABOVE)
            c->stack[count++] = s;
    }
    flood(c, count, false, BESIDE);
    for (uint32_t p = 0; p < o->pos[g]; p++)
        c->list[out++] = o->at[p];
    for (uint32_t p = o->pos[g] + 1; p < n; p++) {
        if (c->mark[o->at[p]] == BESIDE)
            c->list[out++] = o->at[p];
    }
    for (uint32_t p = n; p-- > o->pos[g] + 1;) {
        if (c->mark[o->at[p]] == ABOVE)
            c->list[out++] = o->at[p];
    }
    c->list[out++] = g;
    for (uint32_t p = o->pos[g] + 1; p < n; p++) {
        if (c->mark[o->at[p]] == PLAIN)
            c->list[out++] = o->at[p];
    }
    memcpy(o->at, c->list, n * sizeof(*o->at));
    for (uint32_t p = 0; p < n; p++)
        o->pos[o->at[p]] = p;
}

/* Extends the set G of the proof at the top of this file: adds, from the top down, each switch with
 * an upper neighbour in G. Returns the highest switch of G with an upper neighbour outside G;
 * FAB_NONE: there is none, and all switches are in G. */
static uint32_t extend_g(struct rooting *c, uint32_t component)
{
    uint32_t frontier = FAB_NONE;
    for (uint32_t p = c->o->n; p-- > 0;) {
        uint32_t s = c->o->at[p];
        bool outside_above = false;
        if (c->g->component[s] != component)
            continue;
        for (uint32_t i = c->g->nbr_at[s]; i < c->g->nbr_at[s + 1]; i++) {
            uint32_t v = c->g->nbr[i];
            if (!fab_route_order_is_up(c->o, s, v))
                continue;
            c->in_g[s] = c->in_g[s] || c->in_g[v];
            outside_above = outside_above || !c->in_g[v];
        }
        if (frontier == FAB_NONE && c->in_g[s] && outside_above)
            frontier = s;
    }
    return frontier;
}

static uint32_t root_component(struct rooting *c, uint32_t component)
{
    uint32_t maxima = 0, highest = FAB_NONE;
    bool has_leaf = false;
    for (uint32_t s = component; s < c->g->n; s++) {
        if (c->g->component[s] != component)
            continue;
        has_leaf = has_leaf || c->o->leaf[s];
        if (is_maximum(c, s)) {
            maxima++;
            highest = s;
        }
    }
    if (maxima <= 1)
        return highest;
    uint32_t root = choose_root(c, component, maxima, has_leaf);
    c->in_g[root] = true;
    for (uint32_t g = root; g != FAB_NONE; g = extend_g(c, component))
        reverse_below(c, g);
    return root;
}

int fab_route_order_single_root(const struct fab_graph *g, struct fab_order *o)
{
    struct rooting c = {.g = g, .o = o};
    size_t n = (size_t)g->n + 1;
    int ret = FAB_E_NOMEM;
    c.mark = fab_base_arena_alloc(&c.arena, n, 1);
    c.in_g = fab_base_arena_alloc(&c.arena, n, sizeof(*c.in_g));
    c.stack = fab_base_arena_alloc(&c.arena, n, sizeof(*c.stack));
    c.list = fab_base_arena_alloc(&c.arena, n, sizeof(*c.list));
    if (c.arena.failed)
        goto out;
    for (uint32_t s = 0; s < g->n; s++) {
        if (g->component[s] != s)
            continue;
        uint32_t root = root_component(&c, s);
        if (s == 0)
            o->root = root;
    }
    ret = FAB_OK;
out:
    fab_base_arena_fini(&c.arena);
    return ret;
}
