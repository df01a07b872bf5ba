/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the core switches, which can be roots of multicast trees, and computes distances to roots.
 * Core switches are the switches farthest from all endports. In a fat tree, these are the switches
 * of the highest rank, which have equally long paths to all leaves. In a torus, where every switch
 * has endports, all switches are core switches.
 *
 * The distances to a root are computed when the root is first used.
 */
#include "libfabmgr/mcast/distances.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define ROOTS_MAX 64

/* Computes the distance of each switch to the nearest of the first `count` switches in the queue,
 * by breadth-first search. The caller has set the distances of these switches to 0, and all others
 * to FAB_MCAST_UNREACHED. The search passes only switches whose MFTs have entry `slot` (MLID minus
 * FAB_MLID_FIRST). */
static void search(const struct fab_mcast_distances *w, uint16_t *dist, uint32_t count,
                   uint32_t slot)
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

static uint16_t *new_row(const struct fab_mcast_distances *w)
{
    uint16_t *dist = fab_base_alloc_array(w->net->switches, sizeof(*dist));
    if (dist != NULL)
        memset(dist, 0xff, w->net->switches * sizeof(*dist));
    return dist;
}

/* Keeps at most ROOTS_MAX of the core switches, because each root needs an array of distances. The
 * ids of the kept switches are spread evenly. */
static void thin_out(struct fab_mcast_distances *w)
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

static int find_core(struct fab_mcast_distances *w)
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

int fab_mcast_distances_init(struct fab_mcast_distances *w, const struct fab_mcast_net *n)
{
    *w = (struct fab_mcast_distances){.net = n, .least = UINT32_MAX, .avoid_root = FAB_NONE};
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

void fab_mcast_distances_fini(struct fab_mcast_distances *w)
{
    for (uint32_t sw = 0; w->dist != NULL && sw < w->net->switches; sw++)
        free(w->dist[sw]);
    free(w->dist);
    free(w->core);
    free(w->queue);
    free(w->avoid);
    memset(w, 0, sizeof(*w));
}

static const uint16_t *avoiding_to(struct fab_mcast_distances *w, uint32_t root, uint32_t slot)
{
    if (w->avoid_root == root && w->avoid_slot == slot)
        return w->avoid;
    if (w->avoid == NULL)
        w->avoid = new_row(w);
    if (w->avoid == NULL)
        return NULL;
    memset(w->avoid, 0xff, w->net->switches * sizeof(*w->avoid));
    w->avoid_root = root;
    w->avoid_slot = slot;
    if (w->net->cap[root] <= slot)
        return w->avoid;
    w->avoid[root] = 0;
    w->queue[0] = root;
    search(w, w->avoid, 1, slot);
    return w->avoid;
}

const uint16_t *fab_mcast_distances_to(struct fab_mcast_distances *w, uint32_t root, uint32_t slot)
{
    if (slot >= w->least)
        return avoiding_to(w, root, slot);
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

bool fab_mcast_distances_unchanged(const struct fab_mcast_distances *w, uint32_t root,
                                   uint32_t slot)
{
    return slot < w->least && w->dist[root] != NULL;
}

/* ---- changed links --------------------------------------------------------------------------- */

/* Returns true if the distance of a switch is possible: the switch is the root, cannot reach the
 * root, or has a neighbour that is one hop nearer to the root. */
static bool has_path(const struct fab_mcast_net *n, const uint16_t *dist, uint32_t sw)
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

/* Returns true if the new link at this port shortens no path to the root. */
static bool is_no_shorter(const struct fab_mcast_net *n, const uint16_t *dist, uint32_t port)
{
    uint32_t to = fab_mcast_net_peer_node(n, port);
    if (to == FAB_NONE)
        return true;
    unsigned a = dist[n->node[port]], b = dist[to];
    return a == b ||
           (a != FAB_MCAST_UNREACHED && b != FAB_MCAST_UNREACHED && a <= b + 1 && b <= a + 1);
}

/* Returns true if the distances are still correct after links changed: each switch has a
 * neighbour that is one hop nearer to the root, and no switch has a neighbour that is nearer by
 * more than one hop. */
static bool still_right(const struct fab_mcast_net *n, const uint16_t *dist,
                        const struct fab_mcast_net_diff *was)
{
    bool same = true;
    for (size_t i = 0; i < was->count && same; i++) {
        uint32_t port = was->change[i].port;
        if (n->node[port] < n->switches)
            same = has_path(n, dist, n->node[port]) && is_no_shorter(n, dist, port);
    }
    return same;
}

int fab_mcast_distances_update(struct fab_mcast_distances *w, const struct fab_mcast_net_diff *was)
{
    for (uint32_t sw = 0; sw < w->net->switches; sw++)
        if (w->dist[sw] != NULL && !still_right(w->net, w->dist[sw], was)) {
            free(w->dist[sw]);
            w->dist[sw] = NULL;
        }
    w->avoid_root = FAB_NONE;
    return find_core(w);
}
