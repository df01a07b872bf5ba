/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the squares of a lattice, in time proportional to the number of paths of two hops. A fabric
 * that is not a lattice is mostly refused at one of the first switches. */
#include "libfabmgr/route/grid/squares.h"

#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"

struct search {
    const struct fab_graph *g;
    struct fab_squares s;
    uint32_t corners_max;
    /* [switches] The search starts at each switch u, and visits the switches two hops from u. from:
     * 1 + id of the last u from which the search reached this switch. paths: number of paths of two
     * hops from u. hop: the first arcs of these paths. */
    uint32_t *from, *paths, (*hop)[2];
};

static void join_square(struct search *w, uint32_t t)
{
    const struct fab_graph *g = w->g;
    uint32_t ua = w->hop[t][0], ub = w->hop[t][1];
    uint32_t at = fab_route_graph_arc(g, g->nbr[ua], t), bt = fab_route_graph_arc(g, g->nbr[ub], t);
    fab_base_sets_join(w->s.parallel, ua, bt);
    fab_base_sets_join(w->s.parallel, ub, at);
    fab_base_sets_join(w->s.parallel, w->s.reverse[ua], w->s.reverse[bt]);
    fab_base_sets_join(w->s.parallel, w->s.reverse[ub], w->s.reverse[at]);
}

/* Visits the switches that are two hops from u. In a lattice, none of them is a neighbour of u, and
 * at most two paths of two hops lead to each of them. Returns false if one of these conditions
 * fails. Adds the corners at u of all squares. If the corner opposite to u has a greater id than u,
 * also joins the parallel sides of the square. */
static bool squares_at(struct search *w, uint32_t u)
{
    const struct fab_graph *g = w->g;
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        for (uint32_t k = g->nbr_at[g->nbr[i]]; k < g->nbr_at[g->nbr[i] + 1]; k++) {
            uint32_t t = g->nbr[k];
            if (t == u)
                continue;
            if (w->from[t] != u + 1)
                w->paths[t] = 0;
            w->from[t] = u + 1;
            if (w->paths[t] == 2 || w->s.corners == w->corners_max ||
                fab_route_graph_linked(g, u, t))
                return false;
            w->hop[t][w->paths[t]++] = i;
            if (w->paths[t] < 2)
                continue;
            w->s.corner[w->s.corners++] = (struct fab_corner){w->hop[t][0], i};
            if (t > u)
                join_square(w, t);
        }
    }
    return true;
}

static bool find_all(struct search *w)
{
    const struct fab_graph *g = w->g;
    fab_base_sets_init(w->s.parallel, g->nbr_at[g->n]);
    for (uint32_t u = 0; u < g->n; u++)
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++)
            w->s.reverse[i] = fab_route_graph_arc(g, g->nbr[i], u);
    for (uint32_t u = 0; u < g->n; u++)
        if (!squares_at(w, u))
            return false;
    return true;
}

static bool few_links(const struct fab_graph *g)
{
    for (uint32_t u = 0; u < g->n; u++)
        if (g->nbr_at[u + 1] - g->nbr_at[u] > FAB_LATTICE_LINKS)
            return false;
    return true;
}

static int allocate(struct search *w, struct fab_arena *arena)
{
    size_t n = (size_t)w->g->n + 1, arcs = (size_t)w->g->nbr_at[w->g->n] + 1;
    for (uint32_t u = 0; u < w->g->n; u++) {
        uint32_t links = w->g->nbr_at[u + 1] - w->g->nbr_at[u];
        w->corners_max += links * (links - (links > 0)) / 2;
    }
    w->s.parallel = fab_base_arena_alloc(arena, arcs, sizeof(*w->s.parallel));
    w->s.reverse = fab_base_arena_alloc(arena, arcs, sizeof(*w->s.reverse));
    w->s.corner = fab_base_arena_alloc(arena, (size_t)w->corners_max + 1, sizeof(*w->s.corner));
    w->from = fab_base_arena_alloc(arena, n, sizeof(*w->from));
    w->paths = fab_base_arena_alloc(arena, n, sizeof(*w->paths));
    w->hop = fab_base_arena_alloc(arena, n, sizeof(*w->hop));
    return arena->failed ? FAB_E_NOMEM : FAB_OK;
}

int fab_route_squares_find(struct fab_arena *arena, const struct fab_graph *g,
                           struct fab_squares *ret)
{
    struct search w = {.g = g};
    if (!few_links(g))
        return FAB_E_UNSUPPORTED;
    if (allocate(&w, arena) != FAB_OK)
        return FAB_E_NOMEM;
    if (!find_all(&w))
        return FAB_E_UNSUPPORTED;
    *ret = w.s;
    return FAB_OK;
}

bool fab_route_squares_mates(const struct fab_squares *s, const struct fab_graph *g, uint32_t u,
                             uint32_t *next, unsigned mate[FAB_LATTICE_LINKS])
{
    uint32_t first = g->nbr_at[u], count = g->nbr_at[u + 1] - first;
    uint32_t crossing[FAB_LATTICE_LINKS] = {0};
    bool fits = true;
    for (; *next < s->corners && s->corner[*next].a < first + count; (*next)++) {
        crossing[s->corner[*next].a - first] |= UINT32_C(1) << (s->corner[*next].b - first);
        crossing[s->corner[*next].b - first] |= UINT32_C(1) << (s->corner[*next].a - first);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t others =
            ~crossing[i] & ~(UINT32_C(1) << i) & (uint32_t)((UINT64_C(1) << count) - 1);
        mate[i] = others == 0 ? FAB_LATTICE_LINKS : (unsigned)__builtin_ctz(others);
        fits &= (others & (others - 1)) == 0;
    }
    return fits;
}
