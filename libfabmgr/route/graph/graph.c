/* SPDX-License-Identifier: BSD-3-Clause */
/* Packs the switches of a fabric and the links between them into arrays. Omits links that are down,
 * links to endports, and links from a switch to itself. The order of ports and neighbours depends
 * only on ids and port numbers, so the tables do not depend on the order of discovery. */
#include "libfabmgr/route/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/fabric/condition.h"

struct isl {
    /* id of the switch at the other end */
    uint32_t peer;
    /* index of the link among the parallel links to `peer` */
    uint32_t parallel;
    uint32_t rate;
    uint8_t num;
};

static int by_peer(const void *a, const void *b)
{
    const struct isl *x = a, *y = b;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return (x->num > y->num) - (x->num < y->num);
}

static int by_parallel(const void *a, const void *b)
{
    const struct isl *x = a, *y = b;
    if (x->parallel != y->parallel)
        return x->parallel < y->parallel ? -1 : 1;
    return (x->peer > y->peer) - (x->peer < y->peer);
}

/* Lists the working links of `sw` to other switches in isls[], sorted by neighbour, then by port.
 * Returns the number of these links. Omits the ports in the set `without`, unless it is NULL. */
static uint32_t isls_of(const struct fab_fabric *f, const uint64_t *without, uint32_t sw,
                        struct isl isls[256])
{
    uint32_t count = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num);
        uint32_t peer = fab_fabric_peer_node(f, port);
        if (peer == FAB_NONE || peer == sw || !fab_fabric_node_is_switch(f, peer) ||
            !fab_fabric_port_is_up(f, port) ||
            (without != NULL && fab_base_bits_get(without, port)))
            continue;
        isls[count++] = (struct isl){.peer = peer,
                                     .num = (uint8_t)num,
                                     .rate = fab_wire_link_rate(&fab_fabric_port(f, port)->info)};
    }
    qsort(isls, count, sizeof(isls[0]), by_peer);
    for (uint32_t i = 1; i < count; i++) {
        if (isls[i].peer == isls[i - 1].peer)
            isls[i].parallel = isls[i - 1].parallel + 1;
    }
    return count;
}

static uint32_t count_hosts(const struct fab_fabric *f, uint32_t sw)
{
    uint32_t hosts = 0;
    for (unsigned num = 1; num <= f->nodes[sw].num_ports; num++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)num);
        uint32_t peer = fab_fabric_peer_node(f, port);
        if (peer != FAB_NONE && !fab_fabric_node_is_switch(f, peer) &&
            !f->nodes[peer].aggregation && fab_fabric_port_is_up(f, port))
            hosts++;
    }
    return hosts;
}

static void pack_switch(const struct fab_fabric *f, const uint64_t *without, struct fab_graph *g,
                        uint32_t sw, uint32_t *rates)
{
    struct isl isls[256];
    uint32_t count = isls_of(f, without, sw, isls);
    uint32_t port = g->port_at[sw], nbr = g->nbr_at[sw];
    for (uint32_t i = 0; i < count; i++) {
        if (isls[i].parallel == 0)
            g->nbr[nbr++] = isls[i].peer;
    }
    qsort(isls, count, sizeof(isls[0]), by_parallel);
    for (uint32_t i = 0; i < count; i++, port++) {
        g->port_peer[port] = isls[i].peer;
        g->port_num[port] = isls[i].num;
        rates[port] = isls[i].rate;
    }
    g->port_at[sw + 1] = port;
    g->nbr_at[sw + 1] = nbr;
    g->hosts[sw] = count_hosts(f, sw);
}

static void rate_ports(struct fab_graph *g, const uint32_t *rates)
{
    uint32_t fastest = 0;
    for (uint32_t i = 0; i < g->port_at[g->n]; i++)
        fastest = rates[i] > fastest ? rates[i] : fastest;
    for (uint32_t i = 0; i < g->port_at[g->n]; i++)
        g->port_slow[i] = fab_fabric_slowness(rates[i], fastest);
}

/* Assigns each switch to a connected component, by a breadth-first search from each switch that has
 * no component yet. queue[n] is scratch memory. */
static void label_components(struct fab_graph *g, uint32_t *queue)
{
    memset(g->component, 0xff, g->n * sizeof(*g->component));
    for (uint32_t first = 0; first < g->n; first++) {
        uint32_t head = 0, tail = 0;
        if (g->component[first] != FAB_NONE)
            continue;
        g->component[first] = first;
        queue[tail++] = first;
        while (head < tail) {
            uint32_t s = queue[head++];
            for (uint32_t i = g->nbr_at[s]; i < g->nbr_at[s + 1]; i++) {
                if (g->component[g->nbr[i]] != FAB_NONE)
                    continue;
                g->component[g->nbr[i]] = first;
                queue[tail++] = g->nbr[i];
            }
        }
    }
}

static int alloc_graph(struct fab_graph *g, size_t ports)
{
    size_t n = (size_t)g->n + 1;
    g->port_at = fab_base_arena_alloc(&g->arena, n, sizeof(*g->port_at));
    g->nbr_at = fab_base_arena_alloc(&g->arena, n, sizeof(*g->nbr_at));
    g->hosts = fab_base_arena_alloc(&g->arena, n, sizeof(*g->hosts));
    g->component = fab_base_arena_alloc(&g->arena, n, sizeof(*g->component));
    g->port_peer = fab_base_arena_alloc(&g->arena, ports + 1, sizeof(*g->port_peer));
    g->port_num = fab_base_arena_alloc(&g->arena, ports + 1, sizeof(*g->port_num));
    g->port_slow = fab_base_arena_alloc(&g->arena, ports + 1, sizeof(*g->port_slow));
    g->nbr = fab_base_arena_alloc(&g->arena, ports + 1, sizeof(*g->nbr));
    return !g->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

int fab_route_graph_make_without(const struct fab_fabric *f, const uint64_t *without,
                                 struct fab_graph *ret)
{
    struct fab_graph g = {.n = f->switch_count};
    size_t ports = 0;
    for (uint32_t sw = 0; sw < g.n; sw++)
        ports += f->nodes[sw].num_ports;
    uint32_t *rates = calloc(ports + g.n + 1, sizeof(*rates));
    if (rates == NULL || alloc_graph(&g, ports) != FAB_OK) {
        free(rates);
        fab_route_graph_fini(&g);
        return FAB_E_NOMEM;
    }
    for (uint32_t sw = 0; sw < g.n; sw++)
        pack_switch(f, without, &g, sw, rates);
    rate_ports(&g, rates);
    label_components(&g, rates);
    free(rates);
    *ret = g;
    return FAB_OK;
}

int fab_route_graph_make(const struct fab_fabric *f, struct fab_graph *ret)
{
    return fab_route_graph_make_without(f, NULL, ret);
}

void fab_route_graph_fini(struct fab_graph *g)
{
    fab_base_arena_fini(&g->arena);
    memset(g, 0, sizeof(*g));
}

uint32_t fab_route_graph_arc(const struct fab_graph *g, uint32_t a, uint32_t b)
{
    uint32_t low = g->nbr_at[a], end = g->nbr_at[a + 1], high = end;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (g->nbr[mid] < b)
            low = mid + 1;
        else
            high = mid;
    }
    return low < end && g->nbr[low] == b ? low : FAB_NONE;
}

bool fab_route_graph_linked(const struct fab_graph *g, uint32_t a, uint32_t b)
{
    return fab_route_graph_arc(g, a, b) != FAB_NONE;
}
