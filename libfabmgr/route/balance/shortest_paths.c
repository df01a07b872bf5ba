/* SPDX-License-Identifier: BSD-3-Clause */
/* The switches, nearest first, then the ports that lead back, then who sends over them. */
#include "libfabmgr/route/balance/shortest_paths.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

int fab_route_shortest_init(struct fab_shortest *near, const struct fab_graph *g)
{
    struct fab_shortest made = {.g = g};
    size_t n = (size_t)g->n + 1, ports = (size_t)g->port_at[g->n] + 1;
    made.at = calloc(n, sizeof(*made.at));
    made.hops = calloc(n, sizeof(*made.hops));
    made.first = calloc(n, sizeof(*made.first));
    made.port = calloc(ports, sizeof(*made.port));
    made.used = calloc(n, sizeof(*made.used));
    if (!made.at || !made.hops || !made.first || !made.port || !made.used) {
        fab_route_shortest_fini(&made);
        return FAB_E_NOMEM;
    }
    *near = made;
    return FAB_OK;
}

void fab_route_shortest_fini(struct fab_shortest *near)
{
    free(near->at);
    free(near->hops);
    free(near->first);
    free(near->port);
    free(near->used);
    memset(near, 0, sizeof(*near));
}

static void find_hops(struct fab_shortest *near, uint32_t destination)
{
    const struct fab_graph *g = near->g;
    uint32_t head = 0, tail = 0;
    memset(near->hops, 0xff, g->n * sizeof(*near->hops));
    near->hops[destination] = 0;
    near->at[tail++] = destination;
    while (head < tail) {
        uint32_t s = near->at[head++];
        for (uint32_t i = g->nbr_at[s]; i < g->nbr_at[s + 1]; i++) {
            uint32_t v = g->nbr[i];
            if (near->hops[v] != FAB_NONE)
                continue;
            near->hops[v] = near->hops[s] + 1;
            near->at[tail++] = v;
        }
    }
    near->reached = tail;
}

static void find_ports(struct fab_shortest *near)
{
    const struct fab_graph *g = near->g;
    uint32_t count = 0;
    near->first[0] = near->first[1] = 0;
    for (uint32_t i = 1; i < near->reached; i++) {
        uint32_t s = near->at[i], nearer = near->hops[s] - 1, end = g->port_at[s + 1];
        for (uint32_t port = g->port_at[s]; port < end; port++) {
            near->port[count] = port; /* kept if it is one: there is always room */
            count += near->hops[g->port_peer[port]] == nearer;
        }
        near->first[i + 1] = count;
    }
}

void fab_route_shortest_mark_used(struct fab_shortest *near)
{
    const struct fab_graph *g = near->g;
    for (uint32_t i = 0; i < near->reached; i++)
        near->used[near->at[i]] = g->hosts[near->at[i]] > 0;
    near->asides = 0;
    for (uint32_t i = near->reached; i-- > 1;) {
        if (!near->used[near->at[i]]) {
            near->asides++;
            continue;
        }
        for (uint32_t c = near->first[i]; c < near->first[i + 1]; c++)
            near->used[g->port_peer[near->port[c]]] = true;
    }
}

void fab_route_shortest_find(struct fab_shortest *near, uint32_t destination)
{
    find_hops(near, destination);
    find_ports(near);
    fab_route_shortest_mark_used(near);
}

/* ---- legal ways ------------------------------------------------------------------------------ */

static uint8_t way_from(const uint8_t *way, uint32_t sw, uint32_t column)
{
    return way[(size_t)sw * FAB_LEGAL_BATCH + column];
}

/* Counting sort by length. */
static void sort_by_hops(struct fab_shortest *near, const uint8_t *way, uint32_t column)
{
    uint32_t start[FAB_LEGAL_HOPS + 2] = {0}, n = near->g->n;
    for (uint32_t sw = 0; sw < n; sw++) {
        uint8_t here = way_from(way, sw, column);
        near->hops[sw] = here != FAB_LEGAL_NONE ? here & FAB_LEGAL_HOPS : FAB_NONE;
        if (here != FAB_LEGAL_NONE)
            start[near->hops[sw] + 1]++;
    }
    for (unsigned hops = 0; hops <= FAB_LEGAL_HOPS; hops++)
        start[hops + 1] += start[hops];
    near->reached = start[FAB_LEGAL_HOPS + 1];
    for (uint32_t sw = 0; sw < n; sw++) {
        if (near->hops[sw] != FAB_NONE)
            near->at[start[near->hops[sw]]++] = sw;
    }
}

void fab_route_shortest_find_legal(struct fab_shortest *near, const struct fab_order *o,
                                   const uint8_t *way, uint32_t column)
{
    const struct fab_graph *g = near->g;
    uint32_t count = 0;
    sort_by_hops(near, way, column);
    near->first[0] = near->first[1] = 0;
    for (uint32_t i = 1; i < near->reached; i++) {
        uint32_t s = near->at[i], end = g->port_at[s + 1];
        bool climbs = (way_from(way, s, column) & FAB_LEGAL_CLIMBS) != 0;
        for (uint32_t port = g->port_at[s]; port < end; port++) {
            uint32_t to = g->port_peer[port];
            bool up = fab_route_order_is_up(o, s, to);
            bool descends = (way_from(way, to, column) & FAB_LEGAL_CLIMBS) == 0;
            near->port[count] = port;
            count += near->hops[to] + 1 == near->hops[s] && (up ? climbs : descends);
        }
        near->first[i + 1] = count;
    }
    fab_route_shortest_mark_used(near);
    near->asides = 0; /* these have legal ways, too */
}
