/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the reserved channels (route.h): from each switch to some of the neighbours above it. */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/updown/switch_order.h"

/* Returns the neighbour above switch `s` that is nearest to the root; FAB_NONE: there is none.
 * climb: number of hops from each switch to the root. Leaves out the neighbours in taken[count]. */
static uint32_t nearest_above(const struct fab_graph *g, const struct fab_order *o,
                              const uint32_t *climb, uint32_t s, const uint32_t *taken,
                              uint32_t count)
{
    uint32_t best = FAB_NONE;
    for (uint32_t a = g->nbr_at[s]; a < g->nbr_at[s + 1]; a++) {
        uint32_t v = g->nbr[a], i = 0;
        while (i < count && taken[i] != v)
            i++;
        if (i == count && fab_route_order_is_up(o, s, v) &&
            (best == FAB_NONE || climb[v] < climb[best]))
            best = v;
    }
    return best;
}

static void reserve_links(const struct fab_fabric *f, const struct fab_graph *g, uint32_t s,
                          uint32_t above, uint64_t *up)
{
    for (uint32_t port = g->port_at[s]; port < g->port_at[s + 1]; port++) {
        if (g->port_peer[port] == above)
            fab_base_bits_set(up, fab_fabric_port_id(f, s, g->port_num[port]));
    }
}

static void reserve(const struct fab_fabric *f, const struct fab_graph *g,
                    const struct fab_order *o, uint32_t parents, uint32_t *climb, uint64_t *up)
{
    uint32_t taken[FAB_ROUTE_ESCAPES_MAX];
    for (uint32_t p = o->n; p-- > 0;) {
        uint32_t s = o->at[p], count = 0;
        while (count < parents) {
            uint32_t above = nearest_above(g, o, climb, s, taken, count);
            if (above == FAB_NONE)
                break;
            climb[s] = count == 0 ? climb[above] + 1 : climb[s];
            reserve_links(f, g, s, above, up);
            taken[count++] = above;
        }
    }
}

int fab_route_escapes_find(const struct fab_fabric *f, const struct fab_policy *p, uint32_t parents,
                           uint64_t **ret_up)
{
    struct fab_graph g = {0};
    struct fab_order o = {0};
    uint64_t *up = fab_base_bits_new(f->port_count);
    uint32_t *climb = calloc((size_t)f->switch_count + 1, sizeof(*climb));
    int status = up != NULL && climb != NULL ? fab_route_graph_make(f, &g) : FAB_E_NOMEM;
    if (status == FAB_OK)
        status = fab_route_order_find(&g, f, p, &o);
    if (status == FAB_OK)
        reserve(f, &g, &o, parents, climb, up);
    fab_route_order_fini(&o);
    fab_route_graph_fini(&g);
    free(climb);
    if (status == FAB_OK)
        *ret_up = up;
    else
        free(up);
    return status;
}
