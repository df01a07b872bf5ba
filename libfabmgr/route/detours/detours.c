/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds detours for all destinations. The channel dependency graph first gets the dependencies of
 * all regular paths, then those of a spanning tree for multicast (reserve.c), then the dependencies
 * of the detours (tree.c).
 *
 * The first detours leave some links with up to twice the load of others. passes.c then spreads the
 * loads.
 *
 * The computation takes 0.1 to 0.2 us for each tree, switch and pass.
 */
#include "libfabmgr/route/detours/detours.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/detours/tree.h"

/* maximum number of times that detours are chosen again, because some tree is lost */
#define RESTARTS 2

/* ---- all trees ------------------------------------------------------------------------------- */

static void add_regular(struct fab_detour_search *x, struct fab_detour_tree *t)
{
    fab_route_detour_load(x, t, true);
    fab_route_detour_lay_out(x);
    t->lost = !fab_route_detour_add(x);
    for (uint32_t s = 0; s < x->g->n; s++)
        t->broken |= !x->connected[s];
    fab_route_detour_change_loads(x, true);
}

static int repair(struct fab_detour_search *x, struct fab_detour_tree *t, bool again, bool last)
{
    fab_route_detour_load(x, t, !again);
    fab_route_detour_lay_out(x);
    fab_route_detour_change_loads(x, false);
    fab_route_detour_load(x, t, true);
    fab_route_detour_lay_out(x);
    fab_route_detour_add(x);
    t->lost = !fab_route_detour_connect(x, last);
    x->cdg.cdg.logged = 0;
    fab_route_detour_lay_out(x);
    fab_route_detour_change_loads(x, true);
    return fab_route_detour_store(x, t);
}

/* Called if one of the trees to a switch, tree[first] to tree[first + count - 1], is lost. Gives
 * all these trees the same paths. Switches that are still cut off get detours on the spare VL. */
static int rescue(struct fab_detour_search *x, uint32_t first, uint32_t count)
{
    struct fab_detour_tree *t = x->d->tree + first;
    for (uint32_t i = 0; i < count; i++) {
        fab_route_detour_load(x, &t[i], false);
        fab_route_detour_lay_out(x);
        fab_route_detour_change_loads(x, false);
    }
    fab_route_detour_load(x, t, true);
    fab_route_detour_lay_out(x);
    fab_route_detour_add(x);
    bool lost = !fab_route_detour_connect(x, true) && !fab_route_detour_connect_by_spare(x);
    x->cdg.cdg.logged = 0;
    fab_route_detour_lay_out(x);
    int status = fab_route_detour_store(x, t);
    for (uint32_t i = 0; i < count; i++) {
        t[i].lost = lost;
        t[i].fixed = true;
        t[i].first = t->first;
        t[i].count = t->count;
        x->weight = t[i].weight;
        fab_route_detour_change_loads(x, true);
    }
    return status;
}

static int rescue_all(struct fab_detour_search *x)
{
    struct fab_detours *d = x->d;
    int status = FAB_OK;
    for (uint32_t i = 0, end; i < d->trees && status == FAB_OK && !fab_route_detour_is_spent(x);
         i = end) {
        bool lost = false;
        for (end = i; end < d->trees && d->tree[end].dest == d->tree[i].dest; end++)
            lost |= d->tree[end].lost;
        d->rescued += lost;
        if (lost)
            status = rescue(x, i, end - i);
    }
    return status;
}

static void set_mean(struct fab_detour_search *x)
{
    uint64_t sum = 0;
    uint32_t arcs = x->g->nbr_at[x->g->n];
    for (uint32_t i = 0; i < arcs; i++)
        sum += x->load[i];
    x->mean = arcs > 0 && sum > arcs ? sum / arcs : 1;
}

/* Chooses the detours of those broken trees whose member `urgent` has this value. again: the trees
 * already have detours, which are replaced; detours may then have up to FAB_DETOUR_CHAIN_MAX
 * hops. */
static int search(struct fab_detour_search *x, bool urgent, bool again)
{
    struct fab_detours *d = x->d;
    int status = FAB_OK;
    for (uint32_t i = 0; i < d->trees && status == FAB_OK && !fab_route_detour_is_spent(x); i++) {
        if (d->tree[i].broken && d->tree[i].urgent == urgent)
            status = repair(x, &d->tree[i], again, again);
    }
    return status;
}

/* Chooses all detours again, beginning with the trees that were lost once. */
static int search_again(struct fab_detour_search *x)
{
    fab_route_detour_renew_graph(x, true, NULL);
    int status = search(x, true, true);
    return status == FAB_OK ? search(x, false, true) : status;
}

/* Returns the number of trees that are lost, and makes them urgent. */
static uint32_t count_lost(struct fab_detours *d)
{
    uint32_t lost = 0;
    for (uint32_t i = 0; i < d->trees; i++) {
        lost += d->tree[i].lost;
        d->tree[i].urgent |= d->tree[i].lost;
    }
    return lost;
}

static int find_all(struct fab_detour_search *x)
{
    struct fab_detours *d = x->d;
    x->cdg.cdg.logging = false;
    for (uint32_t i = 0; i < d->trees; i++) {
        add_regular(x, &d->tree[i]);
        d->broken += d->tree[i].broken;
    }
    uint64_t regular = fab_route_detour_greatest(x);
    x->cdg.cdg.logging = true;
    fab_route_detour_reserve(x);
    set_mean(x);
    int status = search(x, false, false);
    for (unsigned i = 0;
         i < RESTARTS && status == FAB_OK && count_lost(d) > 0 && !fab_route_detour_is_spent(x);
         i++)
        status = search_again(x);
    if (status == FAB_OK)
        status = rescue_all(x);
    /* If the searches for cycles have used up their steps, all broken trees count as lost, since
     * some of them got no detours. */
    for (uint32_t i = 0; i < d->trees; i++)
        d->lost += d->tree[i].lost || (fab_route_detour_is_spent(x) && d->tree[i].broken);
    if (status == FAB_OK && d->lost == 0)
        status = fab_route_detour_spread_all(x, regular);
    return status == FAB_OK && x->cdg.cdg.no_memory ? FAB_E_NOMEM : status;
}

static int init(struct fab_detour_search *x, uint32_t vls)
{
    const struct fab_graph *g = x->g;
    size_t n = (size_t)g->n + 2, arcs = (size_t)g->nbr_at[g->n] + 1;
    x->sls = fab_target_vls_multiple(x->rule->vls) ? x->rule->vls->sls : 1;
    x->head = g->nbr;
    x->load = fab_base_arena_alloc(&x->arena, arcs, sizeof(*x->load));
    x->width = fab_base_arena_alloc(&x->arena, arcs, sizeof(*x->width));
    x->next = fab_base_arena_alloc(&x->arena, n, sizeof(*x->next));
    x->regular = fab_base_arena_alloc(&x->arena, n, sizeof(*x->regular));
    x->arc = fab_base_arena_alloc(&x->arena, n, sizeof(*x->arc));
    x->depth = fab_base_arena_alloc(&x->arena, n, sizeof(*x->depth));
    x->far = fab_base_arena_alloc(&x->arena, n, sizeof(*x->far));
    x->count = fab_base_arena_alloc(&x->arena, n, sizeof(*x->count));
    x->stack = fab_base_arena_alloc(&x->arena, n, sizeof(*x->stack));
    x->gap = fab_base_arena_alloc(&x->arena, n, sizeof(*x->gap));
    x->old_arc = fab_base_arena_alloc(&x->arena, n, sizeof(*x->old_arc));
    x->old_connected = fab_base_arena_alloc(&x->arena, n, sizeof(*x->old_connected));
    x->old_sl = fab_base_arena_alloc(&x->arena, n, sizeof(*x->old_sl));
    x->connected = fab_base_arena_alloc(&x->arena, n, sizeof(*x->connected));
    x->on_path = fab_base_arena_alloc(&x->arena, n, sizeof(*x->on_path));
    x->cost = fab_base_arena_alloc(&x->arena, n, sizeof(*x->cost));
    x->flow = fab_base_arena_alloc(&x->arena, n, sizeof(*x->flow));
    x->vls = fab_base_arena_alloc(&x->arena, n * x->sls, sizeof(*x->vls));
    x->d->branch = fab_base_alloc_array(n, sizeof(*x->d->branch));
    if (x->arena.failed || x->d->branch == NULL)
        return FAB_E_NOMEM;
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t p = g->port_at[s]; p < g->port_at[s + 1]; p++)
            x->width[fab_route_graph_arc(g, s, g->port_peer[p])]++;
    }
    int status =
        fab_route_vl_cdg_init(&x->cdg, g, vls, *x->rule->budget, x->rule->rank, x->rule->ctx);
    if (status != FAB_OK)
        return status;
    x->tail = fab_base_arena_alloc(&x->arena, arcs, sizeof(*x->tail));
    for (uint32_t i = 0; x->tail != NULL && i + 1 < arcs; i++)
        x->tail[i] = x->cdg.cdg.tail[(size_t)i * vls];
    return x->tail != NULL ? FAB_OK : FAB_E_NOMEM;
}

int fab_route_detours_find(const struct fab_graph *g, const struct fab_detour_rule *rule,
                           uint32_t vls, struct fab_detour_tree *tree, uint32_t trees,
                           struct fab_detours *ret)
{
    struct fab_detours d = {.g = g, .rule = *rule, .tree = tree, .trees = trees};
    struct fab_detour_search *x = calloc(1, sizeof(*x));
    for (uint32_t i = 0; i < trees; i++) {
        tree[i].first = tree[i].count = 0;
        tree[i].broken = tree[i].lost = tree[i].urgent = tree[i].fixed = false;
    }
    if (x == NULL)
        return FAB_E_NOMEM;
    x->g = g;
    x->rule = rule;
    x->d = &d;
    int status = init(x, vls);
    if (status == FAB_OK)
        status = find_all(x);
    *rule->budget = x->cdg.cdg.budget;
    fab_route_vl_cdg_fini(&x->cdg);
    fab_base_arena_fini(&x->arena);
    free(x);
    if (status == FAB_OK)
        *ret = d;
    else
        fab_route_detours_fini(&d);
    return status;
}

void fab_route_detours_fini(struct fab_detours *d)
{
    free(d->detour);
    free(d->branch);
    memset(d, 0, sizeof(*d));
}

void fab_route_detours_next(const struct fab_detours *d, uint32_t tree, uint32_t *next)
{
    const struct fab_detour_tree *t = &d->tree[tree];
    d->rule.next(d->rule.ctx, t->dest, t->number, next);
    for (uint32_t i = 0; i < t->count; i++)
        next[d->detour[t->first + i].sw] = d->detour[t->first + i].next;
}
