/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the id map between the present fabric and the fabric of the baseline.
 *
 * In each fabric, the switches are sorted by GUID, and so are the other nodes. So a single walk
 * over both fabrics in parallel matches the nodes. In both fabrics, only links that are up count.
 */
#include "libfabmgr/repair/session/idmap.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct fab_repair_baseline {
    struct fab_arena arena; /* holds the memory of the arrays below */
    uint32_t nodes, switches, ports;
    uint64_t *guid; /* [nodes] GUID of each node */
    /* [nodes + 1] port id of port 0 of each node */
    uint32_t *first;
    /* [ports] the port at the other end of a link that was up; FAB_NONE: no such link */
    uint32_t *peer;
    uint32_t *lid; /* [ports] base LID of each port */
    uint8_t *lmc;  /* [ports] LMC of each port */
};

static uint32_t live_peer(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port_is_up(f, port) ? fab_fabric_port(f, port)->peer : FAB_NONE;
}

static int allot(struct fab_repair_baseline *g, const struct fab_fabric *f)
{
    g->nodes = f->node_count;
    g->switches = f->switch_count;
    g->ports = f->port_count;
    g->guid = fab_base_arena_alloc(&g->arena, (size_t)g->nodes + 1, sizeof(*g->guid));
    g->first = fab_base_arena_alloc(&g->arena, (size_t)g->nodes + 1, sizeof(*g->first));
    g->peer = fab_base_arena_alloc(&g->arena, (size_t)g->ports + 1, sizeof(*g->peer));
    g->lid = fab_base_arena_alloc(&g->arena, (size_t)g->ports + 1, sizeof(*g->lid));
    g->lmc = fab_base_arena_alloc(&g->arena, (size_t)g->ports + 1, sizeof(*g->lmc));
    return !g->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

int fab_repair_baseline_new(const struct fab_fabric *f, const struct fab_lids *lids,
                            struct fab_repair_baseline **ret)
{
    struct fab_repair_baseline *g = calloc(1, sizeof(*g));
    if (g == NULL || lids->port_count != f->port_count || allot(g, f) != FAB_OK) {
        fab_repair_baseline_free(g);
        return FAB_E_NOMEM;
    }
    for (uint32_t n = 0; n < g->nodes; n++) {
        g->guid[n] = f->nodes[n].guid;
        g->first[n] = f->nodes[n].first_port;
    }
    g->first[g->nodes] = g->ports;
    for (uint32_t p = 0; p < g->ports; p++)
        g->peer[p] = live_peer(f, p);
    memcpy(g->lid, lids->base, g->ports * sizeof(*g->lid));
    memcpy(g->lmc, lids->lmc, g->ports * sizeof(*g->lmc));
    *ret = g;
    return FAB_OK;
}

void fab_repair_baseline_free(struct fab_repair_baseline *g)
{
    if (g == NULL)
        return;
    fab_base_arena_fini(&g->arena);
    free(g);
}

uint32_t fab_repair_baseline_peer(const struct fab_repair_baseline *g, uint32_t port)
{
    return port < g->ports ? g->peer[port] : FAB_NONE;
}

/* ---- matching nodes -------------------------------------------------------------------------- */

static bool same_node(const struct fab_repair_baseline *g, uint32_t n, const struct fab_fabric *f,
                      uint32_t node)
{
    return g->guid[n] == f->nodes[node].guid &&
           g->first[n + 1] - g->first[n] == f->nodes[node].num_ports + 1u;
}

/* Matches nodes by their GUIDs: the nodes of f with ids from range[0] up to, but not including,
 * range[1], and the nodes of the baseline with ids from range[2] up to, but not including,
 * range[3]. Both ranges are sorted by GUID. Returns false if a node of f is not in the baseline. */
static bool match(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                  struct fab_repair_idmap *c, const uint32_t range[4])
{
    uint32_t at = range[2];
    for (uint32_t node = range[0]; node < range[1]; node++, at++) {
        while (at < range[3] && g->guid[at] < f->nodes[node].guid)
            at++;
        if (at == range[3] || !same_node(g, at, f, node))
            return false;
        c->to_baseline[node] = at;
        c->to_current[at] = node;
    }
    return true;
}

static bool match_nodes(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                        struct fab_repair_idmap *c)
{
    return match(g, f, c, (uint32_t[4]){0, f->switch_count, 0, g->switches}) &&
           match(g, f, c, (uint32_t[4]){f->switch_count, f->node_count, g->switches, g->nodes});
}

uint32_t fab_repair_idmap_to_baseline(const struct fab_repair_idmap *c,
                                      const struct fab_repair_baseline *g,
                                      const struct fab_fabric *f, uint32_t port)
{
    return port == FAB_NONE ? FAB_NONE
                            : g->first[c->to_baseline[fab_fabric_port(f, port)->node]] +
                                  fab_fabric_port(f, port)->num;
}

/* Returns true if all links and LIDs of the present fabric also exist in the fabric of the
 * baseline. */
static bool nothing_new(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                        const struct fab_lids *lids, const struct fab_repair_idmap *c)
{
    for (uint32_t p = 0; p < f->port_count; p++) {
        uint32_t old = fab_repair_idmap_to_baseline(c, g, f, p), peer = live_peer(f, p);
        if (lids->base[p] != 0 && (lids->base[p] != g->lid[old] || lids->lmc[p] != g->lmc[old]))
            return false;
        if (peer != FAB_NONE && fab_repair_idmap_to_baseline(c, g, f, peer) != g->peer[old])
            return false;
    }
    return true;
}

/* ---- dead links ------------------------------------------------------------------------------ */

static uint32_t node_of(const struct fab_repair_baseline *g, uint32_t port)
{
    uint32_t low = 0, high = g->nodes;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (g->first[middle] <= port)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t fab_repair_idmap_to_current(const struct fab_repair_idmap *c,
                                     const struct fab_repair_baseline *g,
                                     const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = node_of(g, port), now = c->to_current[node];
    return now == FAB_NONE ? FAB_NONE : f->nodes[now].first_port + (port - g->first[node]);
}

static bool is_dead(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                    const struct fab_repair_idmap *c, uint32_t node, uint32_t port)
{
    uint32_t now = c->to_current[node];
    return now == FAB_NONE ||
           live_peer(f, f->nodes[now].first_port + (port - g->first[node])) == FAB_NONE;
}

/* Lists the ISLs of the baseline that do not exist or are not up now, each by the lower of its port
 * ids. Returns their number. If `dead` is NULL, only counts them. */
static uint32_t list_dead(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                          const struct fab_repair_idmap *c, uint32_t *dead)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < g->switches; node++) {
        for (uint32_t port = g->first[node]; port < g->first[node + 1]; port++) {
            uint32_t peer = g->peer[port];
            if (peer == FAB_NONE || peer < port || peer >= g->first[g->switches])
                continue;
            if (!is_dead(g, f, c, node, port) && !is_dead(g, f, c, node_of(g, peer), peer))
                continue;
            if (dead != NULL)
                dead[count] = port;
            count++;
        }
    }
    return count;
}

int fab_repair_idmap_make(const struct fab_repair_baseline *g, const struct fab_fabric *f,
                          const struct fab_lids *lids, struct fab_repair_idmap *ret)
{
    struct fab_repair_idmap c = {.now = f->node_count, .baseline = g->nodes};
    int status = FAB_E_NOMEM;
    c.to_baseline = fab_base_alloc_array((size_t)c.now + 1, sizeof(*c.to_baseline));
    c.to_current = fab_base_alloc_array((size_t)c.baseline + 1, sizeof(*c.to_current));
    if (c.to_baseline == NULL || c.to_current == NULL)
        goto out;
    memset(c.to_current, 0xff, (size_t)c.baseline * sizeof(*c.to_current));
    status = FAB_E_NOT_FOUND;
    if (lids->port_count != f->port_count || !match_nodes(g, f, &c) || !nothing_new(g, f, lids, &c))
        goto out;
    c.same = c.now == c.baseline;
    c.deads = list_dead(g, f, &c, NULL);
    c.dead = fab_base_alloc_array((size_t)c.deads + 1, sizeof(*c.dead));
    status = c.dead != NULL ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK)
        (void)list_dead(g, f, &c, c.dead);
out:
    if (status == FAB_OK)
        *ret = c;
    else
        fab_repair_idmap_fini(&c);
    return status;
}

void fab_repair_idmap_fini(struct fab_repair_idmap *c)
{
    free(c->to_baseline);
    free(c->to_current);
    free(c->dead);
    memset(c, 0, sizeof(*c));
}
