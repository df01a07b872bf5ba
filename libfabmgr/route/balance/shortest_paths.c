/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the shortest paths to a destination in three steps. The first step sorts the switches by
 * their distance from the destination. The second step finds the ports that lead nearer to the
 * destination. The third step finds the switches that are on a shortest path from a host. */
#include "libfabmgr/route/balance/shortest_paths.h"

#include <string.h>

#include "libfabmgr/base/status.h"

int fab_route_shortest_init(struct fab_shortest *shortest, const struct fab_graph *g)
{
    struct fab_shortest made = {.g = g};
    size_t n = (size_t)g->n + 1, ports = (size_t)g->port_at[g->n] + 1;
    made.at = fab_base_arena_alloc(&made.arena, n, sizeof(*made.at));
    made.hops = fab_base_arena_alloc(&made.arena, n, sizeof(*made.hops));
    made.first = fab_base_arena_alloc(&made.arena, n, sizeof(*made.first));
    made.port = fab_base_arena_alloc(&made.arena, ports, sizeof(*made.port));
    made.used = fab_base_arena_alloc(&made.arena, n, sizeof(*made.used));
    if (made.arena.failed) {
        fab_route_shortest_fini(&made);
        return FAB_E_NOMEM;
    }
    *shortest = made;
    return FAB_OK;
}

void fab_route_shortest_fini(struct fab_shortest *shortest)
{
    fab_base_arena_fini(&shortest->arena);
    memset(shortest, 0, sizeof(*shortest));
}

static void find_hops(struct fab_shortest *shortest, uint32_t destination)
{
    const struct fab_graph *g = shortest->g;
    uint32_t head = 0, tail = 0;
    memset(shortest->hops, 0xff, g->n * sizeof(*shortest->hops));
    shortest->hops[destination] = 0;
    shortest->at[tail++] = destination;
    while (head < tail) {
        uint32_t s = shortest->at[head++];
        for (uint32_t i = g->nbr_at[s]; i < g->nbr_at[s + 1]; i++) {
            uint32_t v = g->nbr[i];
            if (shortest->hops[v] != FAB_NONE)
                continue;
            shortest->hops[v] = shortest->hops[s] + 1;
            shortest->at[tail++] = v;
        }
    }
    shortest->reached = tail;
}

static void find_ports(struct fab_shortest *shortest)
{
    const struct fab_graph *g = shortest->g;
    uint32_t count = 0;
    shortest->first[0] = shortest->first[1] = 0;
    for (uint32_t i = 1; i < shortest->reached; i++) {
        uint32_t s = shortest->at[i], nearer = shortest->hops[s] - 1, end = g->port_at[s + 1];
        for (uint32_t port = g->port_at[s]; port < end; port++) {
            /* If the port does not lead nearer, `count` does not grow, and the next port overwrites
             * this element. */
            shortest->port[count] = port;
            count += shortest->hops[g->port_peer[port]] == nearer;
        }
        shortest->first[i + 1] = count;
    }
}

void fab_route_shortest_mark_used(struct fab_shortest *shortest)
{
    const struct fab_graph *g = shortest->g;
    for (uint32_t i = 0; i < shortest->reached; i++)
        shortest->used[shortest->at[i]] = g->hosts[shortest->at[i]] > 0;
    shortest->unused = 0;
    for (uint32_t i = shortest->reached; i-- > 1;) {
        if (!shortest->used[shortest->at[i]]) {
            shortest->unused++;
            continue;
        }
        for (uint32_t c = shortest->first[i]; c < shortest->first[i + 1]; c++)
            shortest->used[g->port_peer[shortest->port[c]]] = true;
    }
}

void fab_route_shortest_find(struct fab_shortest *shortest, uint32_t destination)
{
    find_hops(shortest, destination);
    find_ports(shortest);
    fab_route_shortest_mark_used(shortest);
}

/* ---- legal paths ----------------------------------------------------------------------------- */

static uint8_t length_at(const uint8_t *paths, uint32_t sw, uint32_t column)
{
    return paths[(size_t)sw * FAB_LEGAL_BATCH + column];
}

/* Sorts the switches by the length of their paths to destination number `column` of paths[]
 * (counting sort). */
static void sort_by_hops(struct fab_shortest *shortest, const uint8_t *paths, uint32_t column)
{
    uint32_t start[FAB_LEGAL_HOPS + 2] = {0}, n = shortest->g->n;
    for (uint32_t sw = 0; sw < n; sw++) {
        uint8_t here = length_at(paths, sw, column);
        shortest->hops[sw] = here != FAB_LEGAL_NONE ? here & FAB_LEGAL_HOPS : FAB_NONE;
        if (here != FAB_LEGAL_NONE)
            start[shortest->hops[sw] + 1]++;
    }
    for (unsigned hops = 0; hops <= FAB_LEGAL_HOPS; hops++)
        start[hops + 1] += start[hops];
    shortest->reached = start[FAB_LEGAL_HOPS + 1];
    for (uint32_t sw = 0; sw < n; sw++) {
        if (shortest->hops[sw] != FAB_NONE)
            shortest->at[start[shortest->hops[sw]]++] = sw;
    }
}

void fab_route_shortest_find_legal(struct fab_shortest *shortest, const struct fab_order *o,
                                   const uint8_t *paths, uint32_t column)
{
    const struct fab_graph *g = shortest->g;
    uint32_t count = 0;
    sort_by_hops(shortest, paths, column);
    shortest->first[0] = shortest->first[1] = 0;
    for (uint32_t i = 1; i < shortest->reached; i++) {
        uint32_t s = shortest->at[i], end = g->port_at[s + 1];
        bool climbs = (length_at(paths, s, column) & FAB_LEGAL_CLIMBS) != 0;
        for (uint32_t port = g->port_at[s]; port < end; port++) {
            uint32_t to = g->port_peer[port];
            bool up = fab_route_order_is_up(o, s, to);
            bool descends = (length_at(paths, to, column) & FAB_LEGAL_CLIMBS) == 0;
            shortest->port[count] = port;
            count += shortest->hops[to] + 1 == shortest->hops[s] && (up ? climbs : descends);
        }
        shortest->first[i + 1] = count;
    }
    fab_route_shortest_mark_used(shortest);
    /* legal paths close no cycle, so switches that no host uses need no other paths (settle_aside()
     * in balance.c) */
    shortest->unused = 0;
}
