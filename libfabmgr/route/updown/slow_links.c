/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the slow links of a tree that are better left unused.
 *
 * A flow cannot be divided: in a permutation, a flow over a 1x link gets a quarter of the bandwidth
 * that it gets over a 4x link. Let 24 hosts of a leaf send over 24 links, 21 at 4x and 3 at 1x,
 * with one flow on each link. Three flows are then four times slower than the other 21. If the 21
 * links carry all flows, no flow gets less than half the bandwidth of a 4x link.
 *
 * Let the load of a link be its number of flows multiplied by its slowness (port_slow of struct
 * fab_graph). Consider a switch below which n flows may start at the same time. At load m, a link
 * carries m / slowness flows, rounded down. The least load at which the uplinks can carry n flows
 * is the smallest m for which the sum over all uplinks is at least n. A link whose slowness exceeds
 * m carries no flow at this load, so it is left out, unless it is the last link of its upper switch
 * that leads down. The same is true for the n flows that may arrive below the switch at the same
 * time.
 */
#include "libfabmgr/route/updown/slow_links.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

/* Flows are counted in units: a link with slowness 1 carries UNIT units. */
#define UNIT 64u

struct slow_links {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_order *o;
    /* set of the port ids at both ends of the links that are left out */
    uint64_t *out;
    uint32_t count; /* number of links that are left out */
};

static uint32_t port_id(const struct slow_links *l, uint32_t sw, uint32_t channel)
{
    return fab_fabric_port_id(l->f, sw, l->g->port_num[channel]);
}

static bool leads_up(const struct slow_links *l, uint32_t sw, uint32_t channel)
{
    return l->o->rank[l->g->port_peer[channel]] > l->o->rank[sw];
}

/* Returns the number of flows that can come to the switch at the same time from its hosts and over
 * its links to lower switches. */
static uint32_t count_flows(const struct slow_links *l, uint32_t sw)
{
    const struct fab_graph *g = l->g;
    uint32_t units = g->hosts[sw] * UNIT;
    for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
        if (l->o->rank[g->port_peer[c]] < l->o->rank[sw] &&
            !fab_base_bits_get(l->out, port_id(l, sw, c)))
            units += UNIT / g->port_slow[c];
    }
    return (units + UNIT - 1) / UNIT;
}

/* Returns the least load at which the uplinks of the switch can carry this number of flows. */
static uint32_t least_load(const struct slow_links *l, uint32_t sw, uint32_t flows)
{
    const struct fab_graph *g = l->g;
    for (uint32_t load = 1;; load++) {
        uint32_t carried = 0;
        for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++)
            carried += leads_up(l, sw, c) ? load / g->port_slow[c] : 0;
        if (carried >= flows)
            return load;
    }
}

/* Returns true if the switch keeps a link to a lower switch even if the link at its port `without`
 * is left out, too. */
static bool keeps_link_down(const struct slow_links *l, uint32_t sw, uint32_t without)
{
    const struct fab_graph *g = l->g;
    for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
        uint32_t port = port_id(l, sw, c);
        if (l->o->rank[g->port_peer[c]] < l->o->rank[sw] && port != without &&
            !fab_base_bits_get(l->out, port))
            return true;
    }
    return false;
}

static void leave_out(struct slow_links *l, uint32_t sw)
{
    const struct fab_graph *g = l->g;
    uint32_t slowest = 1;
    for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++)
        slowest = leads_up(l, sw, c) && g->port_slow[c] > slowest ? g->port_slow[c] : slowest;
    uint32_t load = slowest > 1 ? least_load(l, sw, count_flows(l, sw)) : slowest;
    for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
        uint32_t near = port_id(l, sw, c), far = fab_fabric_port(l->f, near)->peer;
        if (!leads_up(l, sw, c) || g->port_slow[c] <= load ||
            !keeps_link_down(l, g->port_peer[c], far))
            continue;
        fab_base_bits_set(l->out, near);
        fab_base_bits_set(l->out, far);
        l->count++;
    }
}

/* Finds the slow links that are left out. Visits lower switches first, because the flows at a
 * switch depend on its links down. */
static void find_links(struct slow_links *l)
{
    for (unsigned rank = 0; rank <= UINT8_MAX; rank++) {
        for (uint32_t sw = 0; sw < l->g->n; sw++) {
            if (l->o->rank[sw] == rank)
                leave_out(l, sw);
        }
    }
}

static bool has_slow_links(const struct fab_graph *g)
{
    for (uint32_t c = 0; c < g->port_at[g->n]; c++) {
        if (g->port_slow[c] > 1)
            return true;
    }
    return false;
}

/* Makes a new graph without the links in l->out, and an order of its switches. Keeps the old graph
 * and the old order if the new graph would disconnect switches. */
static int remake(const struct slow_links *l, const struct fab_policy *p,
                  fab_route_find_order *find, struct fab_graph *g, struct fab_order *o)
{
    struct fab_graph less;
    struct fab_order order;
    int status = fab_route_graph_make_without(l->f, l->out, &less);
    if (status != FAB_OK)
        return status;
    if (memcmp(less.component, g->component, g->n * sizeof(*g->component)) == 0) {
        status = find(&less, l->f, p, &order);
        if (status == FAB_OK) {
            struct fab_graph more = *g;
            fab_route_order_fini(o);
            *o = order;
            *g = less;
            g->left_out = l->count;
            less = more;
        }
    }
    fab_route_graph_fini(&less);
    return status;
}

int fab_route_slow_links_omit(const struct fab_fabric *f, const struct fab_policy *p,
                              fab_route_find_order *find, struct fab_graph *ret_graph,
                              struct fab_order *ret_order)
{
    struct fab_graph g = {0};
    struct fab_order o = {0};
    int status = fab_route_graph_make(f, &g);
    if (status == FAB_OK)
        status = find(&g, f, p, &o);
    if (status == FAB_OK && has_slow_links(&g) && !fab_route_order_is_flat(&g, &o, f, NULL, 0)) {
        struct slow_links l = {.f = f, .g = &g, .o = &o, .out = fab_base_bits_new(f->port_count)};
        status = l.out != NULL ? FAB_OK : FAB_E_NOMEM;
        if (status == FAB_OK) {
            find_links(&l);
            status = l.count > 0 ? remake(&l, p, find, &g, &o) : FAB_OK;
        }
        free(l.out);
    }
    if (status == FAB_OK) {
        *ret_graph = g;
        *ret_order = o;
    } else {
        fab_route_order_fini(&o);
        fab_route_graph_fini(&g);
    }
    return status;
}
