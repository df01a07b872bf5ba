/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses among parallel links. Some engines (dor, torus, dragonfly, dragonfly_plus) choose only
 * the next switch. If several parallel links lead to this switch, each LID gets the link that has
 * the least load so far. The load is the number of pairs of hosts that use the link, multiplied by
 * its port_slow (struct fab_graph). */
#include "libfabmgr/route/balance/next_hops.h"

#include <string.h>

#include "libfabmgr/base/status.h"

int fab_route_next_hops_init(struct fab_next_hops *o, const struct fab_graph *g)
{
    struct fab_next_hops made = {.g = g};
    size_t n = (size_t)g->n + 2;
    made.next = fab_base_arena_alloc(&made.arena, n, sizeof(*made.next));
    made.hops = fab_base_arena_alloc(&made.arena, n, sizeof(*made.hops));
    made.far = fab_base_arena_alloc(&made.arena, n, sizeof(*made.far));
    made.flow = fab_base_arena_alloc(&made.arena, n, sizeof(*made.flow));
    made.count = fab_base_arena_alloc(&made.arena, n, sizeof(*made.count));
    made.load = fab_base_arena_alloc(&made.arena, (size_t)g->port_at[g->n] + 1, sizeof(*made.load));
    if (made.arena.failed) {
        fab_route_next_hops_fini(&made);
        return FAB_E_NOMEM;
    }
    *o = made;
    return FAB_OK;
}

void fab_route_next_hops_fini(struct fab_next_hops *o)
{
    fab_base_arena_fini(&o->arena);
    memset(o, 0, sizeof(*o));
}

/* ---- following the next switches ------------------------------------------------------------- */

/* Follows next[] from switch `s` and sets hops[] of all switches on this path (number of hops to
 * the destination). Returns false if the path does not reach the destination. far[] is scratch
 * memory. */
static bool follow(struct fab_next_hops *o, uint32_t s)
{
    uint32_t count = 0;
    while (s != FAB_NONE && o->hops[s] == FAB_NONE && count < o->g->n) {
        o->far[count++] = s;
        s = o->next[s];
    }
    if (s == FAB_NONE || o->hops[s] == FAB_NONE)
        return false;
    for (uint32_t hops = o->hops[s]; count-- > 0;)
        o->hops[o->far[count]] = ++hops;
    return true;
}

static void sort_by_hops(struct fab_next_hops *o)
{
    uint32_t n = o->g->n, at = 0;
    memset(o->count, 0, ((size_t)n + 2) * sizeof(*o->count));
    for (uint32_t s = 0; s < n; s++)
        o->count[o->hops[s]]++;
    for (uint32_t hops = n; hops-- > 0;) {
        uint32_t here = o->count[hops];
        o->count[hops] = at;
        at += here;
    }
    for (uint32_t s = 0; s < n; s++)
        o->far[o->count[o->hops[s]]++] = s;
}

uint32_t fab_route_next_hops_follow(struct fab_next_hops *o, uint32_t dest)
{
    memset(o->hops, 0xff, o->g->n * sizeof(*o->hops));
    o->hops[dest] = 0;
    for (uint32_t s = 0; s < o->g->n; s++) {
        if (!follow(o, s))
            return s;
    }
    sort_by_hops(o);
    for (uint32_t s = 0; s < o->g->n; s++)
        o->flow[s] = o->g->hosts[s];
    for (uint32_t i = 0; i + 1 < o->g->n; i++)
        o->flow[o->next[o->far[i]]] += o->flow[o->far[i]];
    return FAB_NONE;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* Lists in ret[] the ports of switch s whose links lead to the switch next[s], as indices into the
 * ports of the graph. Returns the number of these ports. */
static uint32_t ports_to_next(const struct fab_next_hops *o, uint32_t s, uint32_t ret[256])
{
    uint32_t count = 0;
    for (uint32_t p = o->g->port_at[s]; p < o->g->port_at[s + 1]; p++) {
        if (o->g->port_peer[p] == o->next[s])
            ret[count++] = p;
    }
    return count;
}

static void fill_switch(struct fab_next_hops *o, uint32_t s, const struct fab_dlid *dlids,
                        uint32_t count, uint8_t *row)
{
    uint32_t port[256], ports = ports_to_next(o, s, port);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t best = port[0];
        for (uint32_t k = 1; k < ports; k++)
            best = o->load[port[k]] < o->load[best] ? port[k] : best;
        if (dlids[i].loaded)
            o->load[best] += o->flow[s] * o->g->port_slow[best];
        row[dlids[i].lid] = o->g->port_num[best];
    }
}

void fab_route_next_hops_fill(struct fab_next_hops *o, uint32_t dest, const struct fab_dlid *dlids,
                              uint32_t count, struct fab_lft *lft)
{
    for (uint32_t s = 0; s < o->g->n; s++) {
        if (s != dest)
            fill_switch(o, s, dlids, count, fab_target_lft_row(lft, s));
    }
    for (uint32_t i = 0; i < count; i++)
        fab_target_lft_row(lft, dest)[dlids[i].lid] = dlids[i].port;
}
