/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts the leaves into a sequence in which leaves at the least distance from each other are
 * adjacent. D-mod-k spreads destinations by a number whose digits tell their position in the tree:
 * which host of the leaf, which leaf of the pod, which pod. GUIDs do not follow that order.
 *
 * Groups of leaves are split level by level, from the greatest distance down. To split a group,
 * take the next smaller distance. The leaf with the lowest id, and all leaves within this distance
 * of it, form the first part. The second part is formed in the same way from the remaining leaves,
 * and so on.
 */
#include "libfabmgr/route/updown/leaf_sequence.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct numbering {
    struct fab_arena arena; /* memory of the arrays */
    uint32_t count;         /* number of switches with hosts */
    /* [count] ids of the switches with hosts, ascending */
    uint32_t *edge;
    /* [count][count] number of hops between two switches of edge[] */
    uint8_t *distance;
    /* [count] the sequence that is being made: indices in edge[] */
    uint32_t *order;
    uint32_t *scratch; /* [count] scratch memory */
};

static int measure(const struct fab_graph *g, const struct fab_updown *updown, struct numbering *n)
{
    uint8_t *paths = fab_route_legal_alloc(g->n);
    if (paths == NULL)
        return FAB_E_NOMEM;
    for (uint32_t first = 0; first < n->count; first += FAB_LEGAL_BATCH) {
        uint32_t left = n->count - first;
        uint32_t columns = left < FAB_LEGAL_BATCH ? left : FAB_LEGAL_BATCH;
        fab_route_legal_paths(updown, n->edge + first, columns, paths);
        for (uint32_t i = 0; i < n->count; i++) {
            const uint8_t *row = paths + (size_t)n->edge[i] * FAB_LEGAL_BATCH;
            for (uint32_t c = 0; c < columns; c++)
                n->distance[(size_t)i * n->count + first + c] = row[c] & FAB_LEGAL_HOPS;
        }
    }
    free(paths);
    return FAB_OK;
}

static uint8_t diameter(const struct numbering *n)
{
    uint8_t greatest = 0;
    for (size_t i = 0; i < (size_t)n->count * n->count; i++) {
        if (n->distance[i] > greatest)
            greatest = n->distance[i];
    }
    return greatest;
}

/* Splits the leaves order[from] to order[to - 1], which are in ascending order, into groups. The
 * members of a group become adjacent in order[], and are within `radius` hops of its first member.
 * Then splits each group again with a smaller radius. */
static void group(struct numbering *n, uint32_t from, uint32_t to, int radius)
{
    while (radius > 0 && from < to) {
        const uint8_t *distances = n->distance + (size_t)n->order[from] * n->count;
        uint32_t in = from, out = 0;
        for (uint32_t i = from; i < to; i++) {
            if (i == from || distances[n->order[i]] <= radius)
                n->order[in++] = n->order[i];
            else
                n->scratch[out++] = n->order[i];
        }
        memcpy(n->order + in, n->scratch, out * sizeof(*n->order));
        if (in - from > 2)
            group(n, from, in, radius - 1);
        from = in;
    }
}

static void write_sequence(const struct fab_graph *g, const struct numbering *n, uint32_t *ret)
{
    uint32_t out = n->count;
    for (uint32_t i = 0; i < n->count; i++)
        ret[i] = n->edge[n->order[i]];
    for (uint32_t s = 0; s < g->n; s++) {
        if (g->hosts[s] == 0)
            ret[out++] = s;
    }
}

int fab_route_leaf_sequence(const struct fab_graph *g, const struct fab_updown *updown,
                            uint32_t *ret_sequence, uint32_t *ret_edges)
{
    struct numbering n = {0};
    int ret = FAB_E_NOMEM;
    for (uint32_t s = 0; s < g->n; s++)
        n.count += g->hosts[s] > 0;
    n.edge = fab_base_arena_alloc(&n.arena, n.count, sizeof(*n.edge));
    n.order = fab_base_arena_alloc(&n.arena, n.count, sizeof(*n.order));
    n.scratch = fab_base_arena_alloc(&n.arena, n.count, sizeof(*n.scratch));
    n.distance = fab_base_arena_alloc(&n.arena, (size_t)n.count * n.count, sizeof(*n.distance));
    if (n.arena.failed)
        goto out;
    for (uint32_t s = 0, i = 0; s < g->n; s++) {
        if (g->hosts[s] > 0)
            n.edge[i++] = s;
    }
    for (uint32_t i = 0; i < n.count; i++)
        n.order[i] = i;
    ret = measure(g, updown, &n);
    if (ret != FAB_OK)
        goto out;
    group(&n, 0, n.count, (int)diameter(&n) - 1);
    write_sequence(g, &n, ret_sequence);
    *ret_edges = n.count;
out:
    fab_base_arena_fini(&n.arena);
    return ret;
}
