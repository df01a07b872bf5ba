/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the graph of switches for the proof. On purpose this file shares no code with the engines,
 * so that the proof cannot repeat a mistake of an engine. */
#include "libfabmgr/verify/switch_graph.h"

#include <string.h>

#include "libfabmgr/base/status.h"

bool fab_verify_attachment(const struct fab_fabric *f, uint32_t port, uint32_t *ret_sw,
                           uint8_t *ret_num)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    if (fab_fabric_node_is_switch(f, p->node)) {
        *ret_sw = p->node;
        *ret_num = 0;
        return p->num == 0;
    }
    if (!fab_fabric_port_is_up(f, port) ||
        !fab_fabric_node_is_switch(f, fab_fabric_port(f, p->peer)->node))
        return false;
    *ret_sw = fab_fabric_port(f, p->peer)->node;
    *ret_num = fab_fabric_port(f, p->peer)->num;
    return true;
}

static uint32_t leads_to(const struct fab_fabric *f, uint32_t port)
{
    if (fab_fabric_port(f, port)->num == 0)
        return FAB_HOP_SELF;
    if (!fab_fabric_port_is_up(f, port))
        return FAB_HOP_DEAD;
    uint32_t peer = fab_fabric_port(f, fab_fabric_port(f, port)->peer)->node;
    return fab_fabric_node_is_switch(f, peer) ? peer : FAB_HOP_ENDPORT;
}

static uint32_t find(uint32_t *parent, uint32_t s)
{
    while (parent[s] != s) {
        parent[s] = parent[parent[s]];
        s = parent[s];
    }
    return s;
}

/* Finds the connected components of switches by union-find. The lowest switch id of a component is
 * its root. */
static void join_components(struct fab_verify_graph *graph)
{
    for (uint32_t s = 0; s < graph->n; s++)
        graph->component[s] = s;
    for (uint32_t s = 0; s < graph->n; s++) {
        for (uint32_t num = 1; num < graph->port_room[s]; num++) {
            uint32_t peer = graph->hop[graph->first[s] + num];
            if (peer >= graph->n)
                continue;
            uint32_t a = find(graph->component, s), b = find(graph->component, peer);
            graph->component[a > b ? a : b] = a < b ? a : b;
        }
    }
    for (uint32_t s = 0; s < graph->n; s++)
        graph->component[s] = find(graph->component, s);
}

static void count_owners(struct fab_verify_graph *graph)
{
    const struct fab_fabric *f = graph->in->fabric;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t sw;
        uint8_t num;
        if (graph->in->lids->base[port] == 0 || !fab_verify_attachment(f, port, &sw, &num))
            continue;
        graph->owners[sw]++;
        graph->component_owners[graph->component[sw]]++;
    }
}

static int alloc_graph(struct fab_verify_graph *graph)
{
    size_t n = (size_t)graph->n + 1;
    graph->first = fab_base_arena_alloc(&graph->arena, n, sizeof(*graph->first));
    graph->port_room = fab_base_arena_alloc(&graph->arena, n, sizeof(*graph->port_room));
    graph->hop = fab_base_arena_alloc(&graph->arena, (size_t)graph->ports + 1, sizeof(*graph->hop));
    graph->component = fab_base_arena_alloc(&graph->arena, n, sizeof(*graph->component));
    graph->owners = fab_base_arena_alloc(&graph->arena, n, sizeof(*graph->owners));
    graph->component_owners =
        fab_base_arena_alloc(&graph->arena, n, sizeof(*graph->component_owners));
    return !graph->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

int fab_verify_graph_make(const struct fab_verify_input *in, struct fab_verify_graph *ret)
{
    const struct fab_fabric *f = in->fabric;
    struct fab_verify_graph graph = {.in = in, .n = f->switch_count};
    for (uint32_t s = 0; s < graph.n; s++) {
        uint32_t end = f->nodes[s].first_port + f->nodes[s].num_ports + 1;
        graph.ports = end > graph.ports ? end : graph.ports;
    }
    if (alloc_graph(&graph) != FAB_OK) {
        fab_verify_graph_fini(&graph);
        return FAB_E_NOMEM;
    }
    /* sets all elements to FAB_HOP_DEAD */
    memset(graph.hop, 0xff, graph.ports * sizeof(*graph.hop));
    for (uint32_t s = 0; s < graph.n; s++) {
        graph.first[s] = f->nodes[s].first_port;
        graph.port_room[s] = (uint16_t)(f->nodes[s].num_ports + 1);
        for (uint32_t num = 0; num < graph.port_room[s]; num++)
            graph.hop[graph.first[s] + num] = leads_to(f, graph.first[s] + num);
    }
    join_components(&graph);
    count_owners(&graph);
    *ret = graph;
    return FAB_OK;
}

void fab_verify_graph_fini(struct fab_verify_graph *graph)
{
    fab_base_arena_fini(&graph->arena);
    memset(graph, 0, sizeof(*graph));
}
