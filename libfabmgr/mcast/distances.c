/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Roots are the switches farthest from any end: the top of a fat tree, where ways to all leaves are
 * equally long; on a torus, where every switch has ends, all of them. Distances are searched for
 * when a root is first used.
 */
#include "libfabmgr/mcast/distances.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define ROOTS_MAX 64

/* From those in queue[count], which have distance 0, over switches that have that entry. */
static void search(const struct ways *w, uint16_t *dist, uint32_t count, uint32_t slot)
{
    const struct fab_mcast_net *n = w->net;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t sw = w->queue[at];
        for (uint32_t port = n->first_port[sw] + 1; port < n->first_port[sw + 1]; port++) {
            uint32_t to = fab_mcast_net_peer_node(n, port);
            if (to == FAB_NONE || dist[to] != FAB_MCAST_UNREACHED || n->cap[to] <= slot)
                continue;
            dist[to] = (uint16_t)(dist[sw] + 1);
            w->queue[count++] = to;
        }
    }
}

static uint16_t *new_row(const struct ways *w)
{
    uint16_t *dist = fab_base_alloc_array(w->net->switches, sizeof(*dist));
    if (dist != NULL)
        memset(dist, 0xff, w->net->switches * sizeof(*dist));
    return dist;
}

/* Some of the core do, evenly chosen: distances are kept for each. */
static void thin_out(struct ways *w)
{
    size_t count = fab_base_bits_count(w->core, w->net->switches), seen = 0;
    for (uint32_t sw = 0; count > ROOTS_MAX && sw < w->net->switches; sw++) {
        if (!fab_base_bits_get(w->core, sw))
            continue;
        if (seen * ROOTS_MAX / count == (seen + 1) * ROOTS_MAX / count)
            fab_base_bits_clear(w->core, sw);
        seen++;
    }
}

static int find_core(struct ways *w)
{
    uint16_t *rank = new_row(w), most = 0;
    uint32_t count = 0;
    if (rank == NULL)
        return FAB_E_NOMEM;
    for (uint32_t sw = 0; sw < w->net->switches; sw++)
        if (fab_base_bits_get(w->net->has_ends, sw)) {
            rank[sw] = 0;
            w->queue[count++] = sw;
        }
    search(w, rank, count, 0);
    for (uint32_t sw = 0; sw < w->net->switches; sw++)
        if (rank[sw] != FAB_MCAST_UNREACHED && rank[sw] > most)
            most = rank[sw];
    for (uint32_t sw = 0; sw < w->net->switches; sw++)
        fab_base_bits_put(w->core, sw, rank[sw] == most);
    free(rank);
    thin_out(w);
    return FAB_OK;
}

int fab_mcast_distances_init(struct ways *w, const struct fab_mcast_net *n)
{
    *w = (struct ways){.net = n, .least = UINT32_MAX, .few_root = FAB_NONE};
    for (uint32_t sw = 0; sw < n->switches; sw++)
        if (n->cap[sw] > 0 && n->cap[sw] < w->least)
            w->least = n->cap[sw];
    w->core = fab_base_bits_new(n->switches);
    w->dist = calloc((size_t)n->switches + 1, sizeof(*w->dist));
    w->queue = fab_base_alloc_array(n->switches, sizeof(*w->queue));
    int r = w->core != NULL && w->dist != NULL && w->queue != NULL ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = find_core(w);
    if (r != FAB_OK)
        fab_mcast_distances_fini(w);
    return r;
}

void fab_mcast_distances_fini(struct ways *w)
{
    for (uint32_t sw = 0; w->dist != NULL && sw < w->net->switches; sw++)
        free(w->dist[sw]);
    free(w->dist);
    free(w->core);
    free(w->queue);
    free(w->few);
    memset(w, 0, sizeof(*w));
}

static const uint16_t *few_to(struct ways *w, uint32_t root, uint32_t slot)
{
    if (w->few_root == root && w->few_slot == slot)
        return w->few;
    if (w->few == NULL)
        w->few = new_row(w);
    if (w->few == NULL)
        return NULL;
    memset(w->few, 0xff, w->net->switches * sizeof(*w->few));
    w->few_root = root;
    w->few_slot = slot;
    if (w->net->cap[root] <= slot)
        return w->few;
    w->few[root] = 0;
    w->queue[0] = root;
    search(w, w->few, 1, slot);
    return w->few;
}

const uint16_t *fab_mcast_distances_to(struct ways *w, uint32_t root, uint32_t slot)
{
    if (slot >= w->least)
        return few_to(w, root, slot);
    if (w->dist[root] != NULL)
        return w->dist[root];
    uint16_t *dist = new_row(w);
    if (dist == NULL)
        return NULL;
    dist[root] = 0;
    w->queue[0] = root;
    search(w, dist, 1, 0);
    w->dist[root] = dist;
    return dist;
}

bool fab_mcast_distances_unchanged(const struct ways *w, uint32_t root, uint32_t slot)
{
    return slot < w->least && w->dist[root] != NULL;
}

/* ---- other cables ---------------------------------------------------------------------------- */

/* A neighbour is a hop nearer, as before. */
static bool has_way(const struct fab_mcast_net *n, const uint16_t *dist, uint32_t sw)
{
    if (dist[sw] == 0 || dist[sw] == FAB_MCAST_UNREACHED)
        return true;
    for (uint32_t port = n->first_port[sw] + 1; port < n->first_port[sw + 1]; port++) {
        uint32_t to = fab_mcast_net_peer_node(n, port);
        if (to != FAB_NONE && dist[to] + 1 == dist[sw])
            return true;
    }
    return false;
}

/* A new cable from it makes no way shorter. */
static bool is_no_shorter(const struct fab_mcast_net *n, const uint16_t *dist, uint32_t port)
{
    uint32_t to = fab_mcast_net_peer_node(n, port);
    if (to == FAB_NONE)
        return true;
    unsigned a = dist[n->node[port]], b = dist[to];
    return a == b ||
           (a != FAB_MCAST_UNREACHED && b != FAB_MCAST_UNREACHED && a <= b + 1 && b <= a + 1);
}

/* Each switch has a neighbour that is a hop nearer, and none has one that is more than that. */
static bool stands(const struct fab_mcast_net *n, const uint16_t *dist,
                   const struct fab_mcast_net_diff *was)
{
    bool same = true;
    for (size_t i = 0; i < was->count && same; i++) {
        uint32_t port = was->change[i].port;
        if (n->node[port] < n->switches)
            same = has_way(n, dist, n->node[port]) && is_no_shorter(n, dist, port);
    }
    return same;
}

int fab_mcast_distances_update(struct ways *w, const struct fab_mcast_net_diff *was)
{
    for (uint32_t sw = 0; sw < w->net->switches; sw++)
        if (w->dist[sw] != NULL && !stands(w->net, w->dist[sw], was)) {
            free(w->dist[sw]);
            w->dist[sw] = NULL;
        }
    w->few_root = FAB_NONE;
    return find_core(w);
}
