/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds directed routes to ports. A request about a port of a switch may arrive at any port of the
 * switch. A port of an adapter answers only requests about this port, so each port of an adapter
 * needs a directed route over its own link.
 */
#include <stdlib.h>

#include "fabricd/sm/model/model.h"

/* Finds a directed route to `port` that arrives over the link of this port, and not at another port
 * of its node. Returns false if there is none. */
static bool over_its_link(const struct sm_model *m, uint32_t port, struct fab_path *ret)
{
    const struct fab_fabric *f = m->fabric;
    uint32_t peer = fab_fabric_port(f, port)->peer;
    if (port == f->self_port) {
        *ret = (struct fab_path){0};
        return true;
    }
    if (peer == FAB_NONE || !fab_fabric_node_is_switch(f, fab_fabric_port(f, peer)->node))
        return false;
    const struct fab_path *near = &m->paths[fab_fabric_port(f, peer)->node];
    if (near->hops == FAB_PATH_UNKNOWN || near->hops >= FAB_MAX_HOPS)
        return false;
    *ret = *near;
    ret->port[++ret->hops] = fab_fabric_port(f, peer)->num;
    return true;
}

static uint32_t linked_ports(const struct fab_fabric *f, uint32_t node)
{
    uint32_t count = 0;
    for (unsigned i = 1; i <= f->nodes[node].num_ports; i++)
        count += fab_fabric_port(f, fab_fabric_port_id(f, node, (uint8_t)i))->peer != FAB_NONE;
    return count;
}

static void add_node(struct sm_model *m, uint32_t node)
{
    const struct fab_fabric *f = m->fabric;
    for (unsigned i = 1; i <= f->nodes[node].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, node, (uint8_t)i);
        struct sm_port_path *to = &m->port_paths[m->port_path_count];
        if (over_its_link(m, port, &to->path)) {
            to->port = port;
            m->port_path_count++;
        }
    }
}

int sm_model_find_port_paths(struct sm_model *m)
{
    const struct fab_fabric *f = m->fabric;
    uint32_t room = 0;
    for (uint32_t n = f->switch_count; n < f->node_count; n++)
        if (linked_ports(f, n) > 1)
            room += f->nodes[n].num_ports;
    free(m->port_paths);
    m->port_path_count = 0;
    m->port_paths = calloc((size_t)room + 1, sizeof(*m->port_paths));
    if (!m->port_paths)
        return FAB_E_NOMEM;
    for (uint32_t n = f->switch_count; n < f->node_count; n++)
        if (linked_ports(f, n) > 1)
            add_node(m, n);
    return FAB_OK;
}

int sm_model_leave_links(struct sm_model *m, const uint32_t *port, size_t count)
{
    int r = fab_discover_paths_without(m->fabric, port, count, m->paths);
    /* port_paths has entries only for adapters with several linked ports. The failure of a link
     * cannot give an adapter more linked ports, so an empty list stays empty. */
    return r == FAB_OK && m->port_path_count > 0 ? sm_model_find_port_paths(m) : r;
}

int sm_model_avoid(struct sm_model *m, uint32_t node)
{
    int r = fab_discover_paths_avoid(m->fabric, node, m->paths);
    return r == FAB_OK && m->port_path_count > 0 ? sm_model_find_port_paths(m) : r;
}

static int compare(const void *key, const void *element)
{
    uint32_t port = *(const uint32_t *)key, other = ((const struct sm_port_path *)element)->port;
    return port < other ? -1 : port > other;
}

const struct fab_path *sm_model_path(const struct sm_model *m, uint32_t port)
{
    uint32_t node = fab_fabric_port(m->fabric, port)->node;
    if (!fab_fabric_node_is_switch(m->fabric, node) && linked_ports(m->fabric, node) > 1) {
        const struct sm_port_path *found =
            bsearch(&port, m->port_paths, m->port_path_count, sizeof(*m->port_paths), compare);
        return found ? &found->path : NULL;
    }
    return m->paths[node].hops == FAB_PATH_UNKNOWN ? NULL : &m->paths[node];
}
