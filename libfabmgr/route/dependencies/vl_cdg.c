/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a graph for acyclic_cdg.c. In this graph, each arc has one node for each VL: node arc *
 * vls + vl stands for arc `arc` on VL `vl`. */
#include "libfabmgr/route/dependencies/vl_cdg.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

struct ranked {
    uint64_t rank;
    uint32_t node;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int multiply_arcs(struct fab_vl_cdg *t, const struct fab_graph *g)
{
    size_t nodes = (size_t)g->nbr_at[g->n] * t->vls;
    t->graph.n = g->n;
    t->graph.nbr_at = fab_base_arena_alloc(&t->arena, (size_t)g->n + 1, sizeof(*t->graph.nbr_at));
    t->graph.nbr = fab_base_arena_alloc(&t->arena, nodes + 1, sizeof(*t->graph.nbr));
    if (t->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t s = 0; s <= g->n; s++)
        t->graph.nbr_at[s] = g->nbr_at[s] * t->vls;
    for (size_t i = 0; i < nodes; i++)
        t->graph.nbr[i] = g->nbr[i / t->vls];
    return FAB_OK;
}

static int init_cdg(struct fab_vl_cdg *t)
{
    uint32_t n = t->graph.n;
    struct fab_order by_id = {.n = n, .at = calloc((size_t)n + 1, sizeof(uint32_t))};
    if (by_id.at == NULL)
        return FAB_E_NOMEM;
    for (uint32_t s = 0; s < n; s++)
        by_id.at[s] = s;
    by_id.pos = by_id.at;
    int status = fab_route_cdg_init(&t->cdg, &t->graph, &by_id);
    free(by_id.at);
    return status;
}

/* Corrects reverse[]: the reverse of a node is the opposite arc on the same VL.
 * fab_route_cdg_init() does not know VLs, and has set each reverse to the opposite arc on the last
 * VL. */
static void correct_reverses(struct fab_vl_cdg *t)
{
    for (uint32_t node = 0; node < t->cdg.arcs; node++)
        t->cdg.reverse[node] = t->cdg.reverse[node] / t->vls * t->vls + node % t->vls;
}

static int set_positions(struct fab_vl_cdg *t, fab_vl_cdg_rank *rank, const void *ctx)
{
    struct ranked *all = calloc((size_t)t->cdg.arcs + 1, sizeof(*all));
    if (all == NULL)
        return FAB_E_NOMEM;
    for (uint32_t node = 0; node < t->cdg.arcs; node++)
        all[node] =
            (struct ranked){rank(ctx, t->cdg.tail[node], t->graph.nbr[node], node % t->vls), node};
    qsort(all, t->cdg.arcs, sizeof(*all), by_rank);
    for (uint32_t i = 0; i < t->cdg.arcs; i++)
        t->cdg.pos[all[i].node] = i;
    free(all);
    return FAB_OK;
}

int fab_route_vl_cdg_init(struct fab_vl_cdg *t, const struct fab_graph *g, uint32_t vls,
                          uint64_t budget, fab_vl_cdg_rank *rank, const void *ctx)
{
    memset(t, 0, sizeof(*t));
    t->vls = vls;
    int status = multiply_arcs(t, g);
    if (status == FAB_OK)
        status = init_cdg(t);
    if (status == FAB_OK) {
        correct_reverses(t);
        status = set_positions(t, rank, ctx);
    }
    if (status == FAB_OK)
        t->cdg.budget = budget;
    else
        fab_route_vl_cdg_fini(t);
    return status;
}

void fab_route_vl_cdg_fini(struct fab_vl_cdg *t)
{
    fab_route_cdg_fini(&t->cdg);
    fab_base_arena_fini(&t->arena);
    memset(t, 0, sizeof(*t));
}
