/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes directed routes to all nodes of a snapshot, by a breadth-first search from the manager's
 * port over links that are up. Only switches forward directed-route SMPs, so at an adapter a route
 * can only begin or end (IBA 14.2.2).
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/discover.h"

struct search {
    const struct fab_fabric *f;
    struct fab_path *paths;
    uint32_t *queue; /* [node_count] node ids; the search reaches each node at most once */
    uint32_t tail;
};

static void step(struct search *s, uint32_t node, uint8_t num)
{
    const struct fab_path *here = &s->paths[node];
    uint32_t port = fab_fabric_port_id(s->f, node, num);
    uint32_t far = fab_fabric_peer_node(s->f, port);
    if (far == FAB_NONE || s->paths[far].hops != FAB_PATH_UNKNOWN ||
        !fab_fabric_port_is_up(s->f, port) || here->hops >= FAB_MAX_HOPS)
        return;
    s->paths[far] = *here;
    s->paths[far].port[++s->paths[far].hops] = num;
    s->queue[s->tail++] = far;
}

static void search(struct search *s)
{
    const struct fab_port *self = fab_fabric_port(s->f, s->f->self_port);
    s->paths[self->node].hops = 0;
    s->queue[s->tail++] = self->node;
    if (!fab_fabric_node_is_switch(s->f, self->node))
        step(s, self->node, self->num);
    for (uint32_t head = 0; head < s->tail; head++) {
        uint32_t node = s->queue[head];
        for (unsigned num = 1;
             fab_fabric_node_is_switch(s->f, node) && num <= s->f->nodes[node].num_ports; num++)
            step(s, node, (uint8_t)num);
    }
}

int fab_discover_paths(const struct fab_fabric *f, struct fab_path **ret_paths)
{
    if (f->self_port == FAB_NONE)
        return FAB_E_INVAL;
    struct search s = {.f = f, .paths = calloc(f->node_count, sizeof *s.paths)};
    int status = FAB_E_NOMEM;
    s.queue = fab_base_alloc_array(f->node_count, sizeof *s.queue);
    if (s.paths == NULL || s.queue == NULL)
        goto out;
    for (uint32_t n = 0; n < f->node_count; n++)
        s.paths[n].hops = FAB_PATH_UNKNOWN;
    search(&s);
    *ret_paths = s.paths;
    s.paths = NULL;
    status = FAB_OK;
out:
    free(s.paths);
    free(s.queue);
    return status;
}
