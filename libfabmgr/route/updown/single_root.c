/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One summit: from any acyclic order to one in which every pair of switches can talk.
 *
 * Up*|down* routing joins two switches when they have a common ancestor. In a fat tree ordered by
 * ranks all leaves have one, but two spines have none: the way from spine to spine is down and up
 * again, a turn that may close a cycle of waiting buffers. Yet switches, aggregation nodes and
 * managers do sit on spines. The classic answer, one root and levels below it, makes all but one
 * spine useless for the traffic between leaves.
 *
 * Here the order is kept, and turned over where it costs nothing. Take a leaf, and turn all cables
 * among the leaf and its ancestors round (its ancestors are all spines, in a tree): the leaf is
 * the summit now, a common ancestor of everyone, and spine-leaf-spine is an up-down path. The
 * shortest paths between all other leaves are as legal as before: a path leaf-spine-leaf enters
 * and leaves the turned part in one and the same switch.
 *
 * Why this stays acyclic: let G be the switches that can climb to the summit, U the others. Where
 * a cable joins the two, its upper end is in U (else both could climb). Take the highest g in G
 * that has a neighbour in U, and B, its ancestors within U. Turning the cables in {g}+B means: take
 * B out of the order and put it back, upside down, just below g. What hangs below B in U and stood
 * higher than g moves along, to just below B. The neighbours of all these in G are below them, and
 * not higher than g (it is the highest), so that no other cable changes direction. Now B can climb
 * to g and is in G. Repeat until U is empty. The first step has G = {summit}.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/updown/switch_order.h"

#define TRIALS 64 /* leaves that are looked at as summits */

enum mark { PLAIN = 0, ABOVE = 1 /* in B */, BESIDE = 2 /* hangs below B */ };

struct climb {
    const struct fab_graph *g;
    struct fab_order *o;
    uint8_t *mark;   /* [n] */
    bool *joined;    /* [n] in G */
    uint32_t *stack; /* [n] */
    uint32_t *list;  /* [n] */
};

static bool is_maximum(const struct climb *c, uint32_t s)
{
    for (uint32_t i = c->g->nbr_at[s]; i < c->g->nbr_at[s + 1]; i++) {
        if (fab_route_order_is_up(c->o, s, c->g->nbr[i]))
            return false;
    }
    return true;
}

/* Marks with `as` what can be reached from the `count` switches on the stack, going up or down,
 * over switches that are not joined and not marked. Returns how many maxima are among them. */
static uint32_t flood(struct climb *c, uint32_t count, bool up, enum mark as)
{
    uint32_t maxima = 0;
    while (count > 0) {
        uint32_t s = c->stack[--count];
        for (uint32_t i = c->g->nbr_at[s]; i < c->g->nbr_at[s + 1]; i++) {
            uint32_t v = c->g->nbr[i];
            if (c->joined[v] || c->mark[v] != PLAIN || fab_route_order_is_up(c->o, s, v) != up)
                continue;
            c->mark[v] = (uint8_t)as;
            maxima += up && is_maximum(c, v);
            c->stack[count++] = v;
        }
    }
    return maxima;
}

static uint32_t maxima_above(struct climb *c, uint32_t s)
{
    memset(c->mark, PLAIN, c->g->n);
    c->stack[0] = s;
    return flood(c, 1, true, ABOVE);
}

/* The first leaf (any switch, if there is none) that climbs to most of the maxima of its component,
 * else the one that climbs to more than any before it. Not to all of them: a missing cable should
 * not move the summit. */
static uint32_t choose_summit(struct climb *c, uint32_t component, uint32_t maxima, bool has_leaf)
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

/* One step of the proof above: B and what hangs below it are put just below `g`. */
static void turn_over(struct climb *c, uint32_t g)
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

/* Joins who can climb to somebody joined, from the top down; returns the highest joined switch
 * with a neighbour above that is not, or FAB_NONE. */
static uint32_t join(struct climb *c, uint32_t component)
{
    uint32_t frontier = FAB_NONE;
    for (uint32_t p = c->o->n; p-- > 0;) {
        uint32_t s = c->o->at[p];
        bool stray_above = false;
        if (c->g->component[s] != component)
            continue;
        for (uint32_t i = c->g->nbr_at[s]; i < c->g->nbr_at[s + 1]; i++) {
            uint32_t v = c->g->nbr[i];
            if (!fab_route_order_is_up(c->o, s, v))
                continue;
            c->joined[s] = c->joined[s] || c->joined[v];
            stray_above = stray_above || !c->joined[v];
        }
        if (frontier == FAB_NONE && c->joined[s] && stray_above)
            frontier = s;
    }
    return frontier;
}

static uint32_t raise_component(struct climb *c, uint32_t component)
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
    uint32_t summit = choose_summit(c, component, maxima, has_leaf);
    c->joined[summit] = true;
    for (uint32_t g = summit; g != FAB_NONE; g = join(c, component))
        turn_over(c, g);
    return summit;
}

int fab_route_order_single_root(const struct fab_graph *g, struct fab_order *o)
{
    struct climb c = {.g = g, .o = o};
    size_t n = (size_t)g->n + 1;
    int ret = FAB_E_NOMEM;
    c.mark = calloc(n, 1);
    c.joined = calloc(n, sizeof(*c.joined));
    c.stack = calloc(n, sizeof(*c.stack));
    c.list = calloc(n, sizeof(*c.list));
    if (c.mark == NULL || c.joined == NULL || c.stack == NULL || c.list == NULL)
        goto out;
    for (uint32_t s = 0; s < g->n; s++) {
        if (g->component[s] != s)
            continue;
        uint32_t summit = raise_component(&c, s);
        if (s == 0)
            o->summit = summit;
    }
    ret = FAB_OK;
out:
    free(c.mark);
    free(c.joined);
    free(c.stack);
    free(c.list);
    return ret;
}
