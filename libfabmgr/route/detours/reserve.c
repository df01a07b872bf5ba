/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reserves a spanning tree for multicast before any detour is chosen. The dependencies of multicast
 * packets on this tree stay in the channel dependency graph, so that no detour closes a cycle with
 * them. Without a reserved tree, the detours of a damaged grid often leave no room for any spanning
 * tree.
 *
 * The tree grows breadth first from a root, level by level (struct fab_detour_rule). A branch (a
 * link of the tree) that would close a cycle is left out. Every member of a multicast group may
 * send, so each pair of branches at a switch adds dependencies in both directions. Multicast
 * packets have SL 0. The code assumes that they may enter a switch by a port of any class that the
 * switch has; libfabmgr/spanning assumes the same.
 */
#include "libfabmgr/route/detours/tree.h"

#include <string.h>

/* maximum number of roots that are tried */
#define ROOTS 16

/* Returns a bitset of the VLs on which multicast packets can leave a switch over `arc`. */
static uint32_t vls_out(const struct fab_detour_search *x, uint32_t arc)
{
    uint32_t s = x->tail[arc], set = 1u << fab_route_detour_vl(x, FAB_NONE, arc, 0);
    for (uint32_t in = x->g->nbr_at[s]; in < x->g->nbr_at[s + 1]; in++)
        set |= 1u << fab_route_detour_vl(x, in, arc, 0);
    return set;
}

/* Adds the dependencies of packets that enter a switch over the arc `in` and leave it over the arc
 * `out`. Returns false if one would close a cycle. */
static bool join(struct fab_detour_search *x, uint32_t in, uint32_t out)
{
    uint32_t vls = vls_out(x, in), to = fab_route_detour_vl(x, in, out, 0);
    for (uint32_t vl = 0; vls >> vl != 0; vl++) {
        if ((vls >> vl & 1) != 0 && !fab_route_vl_cdg_add(&x->cdg, in, vl, out, to))
            return false;
    }
    return true;
}

static uint32_t reverse(const struct fab_detour_search *x, uint32_t arc)
{
    return fab_route_graph_arc(x->g, x->head[arc], x->tail[arc]);
}

/* Returns true if the link of this arc is a branch. */
static bool is_branch(const struct fab_detour_search *x, uint32_t arc)
{
    uint32_t s = x->tail[arc], next = x->head[arc];
    return x->d->branch[s] == arc ||
           (x->d->branch[next] != FAB_NONE && x->head[x->d->branch[next]] == s);
}

/* Adds the link of `arc` as a branch, if this closes no cycle. */
static bool add_branch(struct fab_detour_search *x, uint32_t arc)
{
    uint32_t s = x->tail[arc], back = reverse(x, arc);
    size_t mark = x->cdg.cdg.logged;
    for (uint32_t other = x->g->nbr_at[s]; other < x->g->nbr_at[s + 1]; other++) {
        if (!is_branch(x, other))
            continue;
        if (!join(x, reverse(x, other), arc) || !join(x, back, other)) {
            fab_route_cdg_undo(&x->cdg.cdg, mark);
            return false;
        }
    }
    x->d->branch[x->head[arc]] = back;
    return true;
}

/* Extends the tree by links of this level; rule->levels stands for any level. The switches of the
 * tree are the first `count` elements of stack[], and connected[] is true for them. Returns the
 * number of switches that the tree then has. */
static uint32_t extend(struct fab_detour_search *x, uint32_t count, uint32_t level)
{
    const struct fab_detour_rule *rule = x->rule;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t s = x->stack[at];
        for (uint32_t arc = x->g->nbr_at[s]; arc < x->g->nbr_at[s + 1]; arc++) {
            uint32_t to = x->head[arc];
            if (x->connected[to] || !rule->forwards_multicast(rule->ctx, to) ||
                (level < rule->levels && rule->level(rule->ctx, s, to) != level) ||
                !add_branch(x, arc))
                continue;
            x->connected[to] = true;
            x->stack[count++] = to;
        }
    }
    return count;
}

/* Grows a tree from a root. Returns true if the tree has `size` switches; otherwise removes its
 * dependencies from the graph, and returns false. */
static bool grow(struct fab_detour_search *x, uint32_t root, uint32_t size)
{
    uint32_t count = 1;
    memset(x->d->branch, 0xff, x->g->n * sizeof(*x->d->branch));
    memset(x->connected, 0, x->g->n * sizeof(*x->connected));
    x->stack[0] = root;
    x->connected[root] = true;
    for (uint32_t level = 0; level <= x->rule->levels && count < size; level++)
        count = extend(x, count, level);
    if (count < size)
        fab_route_cdg_undo(&x->cdg.cdg, 0);
    x->cdg.cdg.logged = 0;
    return count == size;
}

void fab_route_detour_reserve(struct fab_detour_search *x)
{
    const struct fab_detour_rule *rule = x->rule;
    uint32_t size = 0;
    for (uint32_t s = 0; s < x->g->n; s++)
        size += rule->forwards_multicast(rule->ctx, s);
    if (size == 0 || !rule->reserve)
        return;
    x->d->spans = grow(x, rule->root, size);
    for (uint32_t i = 1; i < ROOTS && !x->d->spans; i++) {
        uint32_t s = (rule->root + (uint32_t)((uint64_t)i * x->g->n / ROOTS)) % x->g->n;
        if (rule->forwards_multicast(rule->ctx, s))
            x->d->spans = grow(x, s, size);
    }
}

void fab_route_detour_add_reserved(struct fab_detour_search *x)
{
    for (uint32_t in = 0; in < x->g->nbr_at[x->g->n] && x->d->spans; in++) {
        uint32_t s = x->head[in];
        for (uint32_t out = x->g->nbr_at[s]; out < x->g->nbr_at[s + 1]; out++) {
            if (x->head[out] != x->tail[in] && is_branch(x, in) && is_branch(x, out))
                join(x, in, out);
        }
    }
}
