/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Roots are the switches farthest from any end: the top of a fat tree, where ways to all leaves are
 * equally long; on a torus, where every switch has ends, all of them. Distances are searched for
 * when a root is first used.
 */
#include "libfabmgr/mcast/ways.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define ROOTS_MAX 64

uint32_t ways_across(const struct fab_fabric *f, uint32_t port)
{
    uint32_t peer = fab_peer_node(f, port);
    bool there = peer != FAB_NONE && fab_node_is_switch(f, peer) && fab_port_is_up(f, port);
    return there ? f->ports[port].peer : FAB_NONE;
}

static bool has_ends(const struct fab_fabric *f, uint32_t sw)
{
    const struct fab_node *n = &f->nodes[sw];
    for (uint32_t num = 1; num <= n->num_ports; num++) {
        uint32_t peer = fab_peer_node(f, n->first_port + num);
        if (peer != FAB_NONE && !fab_node_is_switch(f, peer))
            return true;
    }
    return false;
}

/* From those in queue[count], which have distance 0. */
static void search(const struct ways *w, uint16_t *dist, uint32_t count)
{
    const struct fab_fabric *f = w->f;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t sw = w->queue[at];
        const struct fab_node *n = &f->nodes[sw];
        for (uint32_t num = 1; num <= n->num_ports; num++) {
            uint32_t peer = ways_across(f, n->first_port + num);
            if (peer == FAB_NONE || dist[f->ports[peer].node] != WAYS_FAR)
                continue;
            dist[f->ports[peer].node] = (uint16_t)(dist[sw] + 1);
            w->queue[count++] = f->ports[peer].node;
        }
    }
}

static uint16_t *new_row(const struct ways *w)
{
    uint16_t *dist = fab_alloc_array(w->f->switch_count, sizeof(*dist));
    if (dist != NULL)
        memset(dist, 0xff, w->f->switch_count * sizeof(*dist));
    return dist;
}

/* Some of the core do, evenly chosen: distances are kept for each. */
static void thin_out(struct ways *w)
{
    size_t count = fab_bits_count(w->core, w->f->switch_count), seen = 0;
    for (uint32_t sw = 0; count > ROOTS_MAX && sw < w->f->switch_count; sw++) {
        if (!fab_bits_get(w->core, sw))
            continue;
        if (seen * ROOTS_MAX / count == (seen + 1) * ROOTS_MAX / count)
            fab_bits_clear(w->core, sw);
        seen++;
    }
}

static int find_core(struct ways *w)
{
    const struct fab_fabric *f = w->f;
    uint16_t *rank = new_row(w), most = 0;
    uint32_t count = 0;
    if (rank == NULL)
        return FAB_E_NOMEM;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        if (has_ends(f, sw)) {
            rank[sw] = 0;
            w->queue[count++] = sw;
        }
    search(w, rank, count);
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        if (rank[sw] != WAYS_FAR && rank[sw] > most)
            most = rank[sw];
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        fab_bits_put(w->core, sw, rank[sw] == most);
    free(rank);
    thin_out(w);
    return FAB_OK;
}

int ways_init(struct ways *w, const struct fab_fabric *f)
{
    *w = (struct ways){.f = f};
    w->core = fab_bits_new(f->switch_count);
    w->dist = calloc((size_t)f->switch_count + 1, sizeof(*w->dist));
    w->queue = fab_alloc_array(f->switch_count, sizeof(*w->queue));
    int r = w->core != NULL && w->dist != NULL && w->queue != NULL ? FAB_OK : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = find_core(w);
    if (r != FAB_OK)
        ways_fini(w);
    return r;
}

void ways_fini(struct ways *w)
{
    for (uint32_t sw = 0; w->dist != NULL && sw < w->f->switch_count; sw++)
        free(w->dist[sw]);
    free(w->dist);
    free(w->core);
    free(w->queue);
    memset(w, 0, sizeof(*w));
}

const uint16_t *ways_to(struct ways *w, uint32_t root)
{
    if (w->dist[root] != NULL)
        return w->dist[root];
    uint16_t *dist = new_row(w);
    if (dist == NULL)
        return NULL;
    dist[root] = 0;
    w->queue[0] = root;
    search(w, dist, 1);
    w->dist[root] = dist;
    return dist;
}
