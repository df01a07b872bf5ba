/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric as the proof sees it. This shares no code with the engines on purpose: a mistake in
 * how they see the fabric must not be repeated here.
 */
#include "libfabmgr/verify/switch_graph.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

bool fab_verify_attachment(const struct fab_fabric *f, uint32_t port, uint32_t *ret_sw,
                           uint8_t *ret_num)
{
    const struct fab_port *p = &f->ports[port];
    if (fab_fabric_node_is_switch(f, p->node)) {
        *ret_sw = p->node;
        *ret_num = 0;
        return p->num == 0;
    }
    if (!fab_fabric_port_is_up(f, port) || !fab_fabric_node_is_switch(f, f->ports[p->peer].node))
        return false;
    *ret_sw = f->ports[p->peer].node;
    *ret_num = f->ports[p->peer].num;
    return true;
}

static uint32_t leads_to(const struct fab_fabric *f, uint32_t port)
{
    if (f->ports[port].num == 0)
        return FAB_HOP_SELF;
    if (!fab_fabric_port_is_up(f, port))
        return FAB_HOP_DEAD;
    uint32_t peer = f->ports[f->ports[port].peer].node;
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

/* Union-find; the lowest id is the root. */
static void join_components(struct fab_verify_graph *net)
{
    for (uint32_t s = 0; s < net->n; s++)
        net->component[s] = s;
    for (uint32_t s = 0; s < net->n; s++) {
        for (uint32_t num = 1; num < net->port_room[s]; num++) {
            uint32_t peer = net->hop[net->first[s] + num];
            if (peer >= net->n)
                continue;
            uint32_t a = find(net->component, s), b = find(net->component, peer);
            net->component[a > b ? a : b] = a < b ? a : b;
        }
    }
    for (uint32_t s = 0; s < net->n; s++)
        net->component[s] = find(net->component, s);
}

static void count_owners(struct fab_verify_graph *net)
{
    const struct fab_fabric *f = net->in->fabric;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t sw;
        uint8_t num;
        if (net->in->lids->base[port] == 0 || !fab_verify_attachment(f, port, &sw, &num))
            continue;
        net->owners[sw]++;
        net->crowd[net->component[sw]]++;
    }
}

static int alloc_net(struct fab_verify_graph *net)
{
    size_t n = (size_t)net->n + 1;
    net->first = calloc(n, sizeof(*net->first));
    net->port_room = calloc(n, sizeof(*net->port_room));
    net->hop = calloc((size_t)net->ports + 1, sizeof(*net->hop));
    net->component = calloc(n, sizeof(*net->component));
    net->owners = calloc(n, sizeof(*net->owners));
    net->crowd = calloc(n, sizeof(*net->crowd));
    return net->first && net->port_room && net->hop && net->component && net->owners && net->crowd
               ? FAB_OK
               : FAB_E_NOMEM;
}

int fab_verify_graph_make(const struct fab_verify_input *in, struct fab_verify_graph *ret)
{
    const struct fab_fabric *f = in->fabric;
    struct fab_verify_graph net = {.in = in, .n = f->switch_count};
    for (uint32_t s = 0; s < net.n; s++) {
        uint32_t end = f->nodes[s].first_port + f->nodes[s].num_ports + 1;
        net.ports = end > net.ports ? end : net.ports;
    }
    if (alloc_net(&net) != FAB_OK) {
        fab_verify_graph_fini(&net);
        return FAB_E_NOMEM;
    }
    memset(net.hop, 0xff, net.ports * sizeof(*net.hop)); /* FAB_HOP_DEAD */
    for (uint32_t s = 0; s < net.n; s++) {
        net.first[s] = f->nodes[s].first_port;
        net.port_room[s] = (uint16_t)(f->nodes[s].num_ports + 1);
        for (uint32_t num = 0; num < net.port_room[s]; num++)
            net.hop[net.first[s] + num] = leads_to(f, net.first[s] + num);
    }
    join_components(&net);
    count_owners(&net);
    *ret = net;
    return FAB_OK;
}

void fab_verify_graph_fini(struct fab_verify_graph *net)
{
    free(net->first);
    free(net->port_room);
    free(net->hop);
    free(net->component);
    free(net->owners);
    free(net->crowd);
    memset(net, 0, sizeof(*net));
}
