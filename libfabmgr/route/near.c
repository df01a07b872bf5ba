/* SPDX-License-Identifier: BSD-3-Clause */
/* Breadth first from the destination, and then the ports that lead back. */
#include "libfabmgr/route/near.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

int fab_near_init(struct fab_near *near, const struct fab_graph *g)
{
    struct fab_near made = {.g = g};
    size_t n = (size_t)g->n + 1, ports = (size_t)g->port_at[g->n] + 1;
    made.at = calloc(n, sizeof(*made.at));
    made.hops = calloc(n, sizeof(*made.hops));
    made.first = calloc(n, sizeof(*made.first));
    made.port = calloc(ports, sizeof(*made.port));
    made.used = calloc(n, sizeof(*made.used));
    if (!made.at || !made.hops || !made.first || !made.port || !made.used) {
        fab_near_fini(&made);
        return FAB_E_NOMEM;
    }
    *near = made;
    return FAB_OK;
}

void fab_near_fini(struct fab_near *near)
{
    free(near->at);
    free(near->hops);
    free(near->first);
    free(near->port);
    free(near->used);
    memset(near, 0, sizeof(*near));
}

static void find_hops(struct fab_near *near, uint32_t destination)
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

static void find_ports(struct fab_near *near)
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

static void find_used(struct fab_near *near)
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

void fab_near_find(struct fab_near *near, uint32_t destination)
{
    find_hops(near, destination);
    find_ports(near);
    find_used(near);
}
