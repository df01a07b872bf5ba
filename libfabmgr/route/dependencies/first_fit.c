/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns layers by first fit: LIDs, or pairs of switches, come one after the other, and the paths
 * of each go to the first layer in which their channel dependencies close no cycle (Skeie,
 * Lysne, Theiss, "Layered shortest path (LASH) routing in irregular system area networks", IPDPS
 * 2002). How many layers this needs depends on the order, so the caller tries several orders.
 */
#include "libfabmgr/route/dependencies/first_fit.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/dependencies/acyclic_cdg.h"

/* Greatest number of dependencies that the searches for cycles in one layer follow. */
#define BUDGET (UINT64_C(1) << 27)

/* What gets a layer: all paths to LID `to`, if `from` is FAB_NONE, or all paths from switch `from`
 * to the LIDs of switch `to`. */
struct unit {
    uint32_t from, to;
    /* units with a lower rank come first; `tie` decides between equal ones */
    uint32_t rank;
    uint32_t tie;
};
struct first_fit {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_layers_input *in;
    const struct fab_order *order;
    const struct fab_homes *homes;
    struct fab_cdg layer[FAB_VLS_MAX];
    uint32_t layers;   /* number of layers in use */
    uint32_t limit;    /* greatest number of layers */
    struct unit *unit; /* [units] */
    uint32_t units;
    uint32_t *arc; /* [port ids of switches] the arc of each port; FAB_NONE if there is none */
};

static uint32_t arc_at(const struct first_fit *f, uint32_t sw, uint32_t lid)
{
    const struct fab_fabric *fabric = f->in->fabric;
    uint8_t num = fab_target_lft_at(f->in->lft, sw, lid);
    return num <= fabric->nodes[sw].num_ports ? f->arc[fab_fabric_port_id(fabric, sw, num)]
                                              : FAB_NONE;
}

static void find_arcs(struct first_fit *f)
{
    const struct fab_graph *g = f->in->graph;
    memset(f->arc, 0xff, f->in->fabric->port_count * sizeof(*f->arc));
    for (uint32_t sw = 0; sw < g->n; sw++) {
        for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
            uint32_t arc = g->nbr_at[sw];
            while (g->nbr[arc] != g->port_peer[c])
                arc++;
            f->arc[fab_fabric_port_id(f->in->fabric, sw, g->port_num[c])] = arc;
        }
    }
}

/* Returns the number of hops from a switch to a LID. */
static uint32_t count_hops(const struct first_fit *f, uint32_t sw, uint32_t lid)
{
    uint32_t hops = 0;
    for (uint32_t arc = arc_at(f, sw, lid); arc != FAB_NONE && hops < f->in->graph->n;
         arc = arc_at(f, f->in->graph->nbr[arc], lid))
        hops++;
    return hops;
}

static int by_rank(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    if (x->rank != y->rank)
        return (x->rank > y->rank) - (x->rank < y->rank);
    return (x->tie > y->tie) - (x->tie < y->tie);
}

static void list_pairs(struct first_fit *f, enum fab_first_fit how)
{
    struct fab_prng prng;
    uint32_t n = f->in->graph->n;
    fab_base_prng_init(&prng, (uint64_t)how);
    for (uint32_t to = 0; to < n; to++) {
        uint32_t first = f->homes->lid_at[to];
        if (first == f->homes->lid_at[to + 1])
            continue;
        for (uint32_t from = 0; from < n; from++) {
            uint32_t hops = from != to ? count_hops(f, from, f->homes->lid[first]) : 0;
            if (hops < 2) /* no dependency between channels */
                continue;
            uint32_t tie = how == FAB_FIRST_FIT_BY_SOURCE ? from * n + to
                           : how == FAB_FIRST_FIT_BY_DESTINATION
                               ? to * n + from
                               : (uint32_t)fab_base_prng_next(&prng);
            f->unit[f->units++] =
                (struct unit){from, to, how == FAB_FIRST_FIT_LONGEST ? UINT32_MAX - hops : 0, tie};
        }
    }
    qsort(f->unit, f->units, sizeof(*f->unit), by_rank);
}

static void list_lids(struct first_fit *f, enum fab_first_fit how)
{
    struct fab_prng prng;
    uint32_t n = f->in->graph->n;
    fab_base_prng_init(&prng, (uint64_t)how);
    for (uint32_t i = 0; i < f->homes->lid_at[n]; i++) {
        uint32_t lid = f->homes->lid[i], sum = 0;
        for (uint32_t sw = 0; how == FAB_FIRST_FIT_LONGEST && sw < n; sw++)
            sum += count_hops(f, sw, lid);
        uint32_t tie = how == FAB_FIRST_FIT_BY_SOURCE        ? UINT32_MAX - i
                       : how == FAB_FIRST_FIT_BY_DESTINATION ? i
                                                             : (uint32_t)fab_base_prng_next(&prng);
        f->unit[f->units++] = (struct unit){FAB_NONE, lid, UINT32_MAX - sum, tie};
    }
    qsort(f->unit, f->units, sizeof(*f->unit), by_rank);
}

static bool add_path(struct first_fit *f, struct fab_cdg *t, uint32_t sw, uint32_t lid)
{
    uint32_t from = arc_at(f, sw, lid);
    while (from != FAB_NONE) {
        uint32_t to = arc_at(f, f->in->graph->nbr[from], lid);
        if (to != FAB_NONE && !fab_route_cdg_add(t, from, to))
            return false;
        from = to;
    }
    return true;
}

static bool add_tree(struct first_fit *f, struct fab_cdg *t, uint32_t lid)
{
    for (uint32_t sw = 0; sw < f->in->graph->n; sw++) {
        uint32_t from = arc_at(f, sw, lid);
        uint32_t to = from != FAB_NONE ? arc_at(f, f->in->graph->nbr[from], lid) : FAB_NONE;
        if (to != FAB_NONE && !fab_route_cdg_add(t, from, to))
            return false;
    }
    return true;
}

/* Adds the dependencies of all paths of the unit to the layer. Returns false if they would close a
 * cycle; the layer is then unchanged. */
static bool fits(struct first_fit *f, struct fab_cdg *t, const struct unit *u)
{
    bool fit = true;
    t->logged = 0;
    if (u->from == FAB_NONE)
        fit = add_tree(f, t, u->to);
    for (uint32_t i = u->from != FAB_NONE ? f->homes->lid_at[u->to] : 0;
         u->from != FAB_NONE && fit && i < f->homes->lid_at[u->to + 1]; i++)
        fit = add_path(f, t, u->from, f->homes->lid[i]);
    if (!fit)
        fab_route_cdg_undo(t, 0);
    return fit;
}

static int add_layer(struct first_fit *f)
{
    if (f->layers == f->limit)
        return FAB_E_LIMIT;
    struct fab_cdg *t = &f->layer[f->layers];
    int status = fab_route_cdg_init(t, f->in->graph, f->order);
    if (status != FAB_OK)
        return status;
    t->logging = true;
    t->budget = BUDGET;
    f->layers++;
    return FAB_OK;
}

/* Puts the unit into the first layer that it fits into, and writes the layer to *ret_layer. */
static int place(struct first_fit *f, const struct unit *p, uint8_t *ret_layer)
{
    for (uint32_t i = 0;; i++) {
        int status = i == f->layers ? add_layer(f) : FAB_OK;
        if (status != FAB_OK)
            return status;
        if (fits(f, &f->layer[i], p)) {
            *ret_layer = (uint8_t)i;
            return FAB_OK;
        }
        if (f->layer[i].no_memory)
            return FAB_E_NOMEM;
    }
}

static int run(struct first_fit *f, enum fab_first_fit how, bool by_pair, uint8_t *ret_layer)
{
    size_t n = f->in->graph->n, lids = (size_t)f->in->lft->top + 1;
    size_t units = by_pair ? n * n : lids;
    f->unit = fab_base_arena_alloc(&f->arena, units + 1, sizeof(*f->unit));
    f->arc =
        fab_base_arena_alloc(&f->arena, (size_t)f->in->fabric->port_count + 1, sizeof(*f->arc));
    if (f->arena.failed)
        return FAB_E_NOMEM;
    find_arcs(f);
    if (by_pair)
        list_pairs(f, how);
    else
        list_lids(f, how);
    memset(ret_layer, 0, units);
    int status = FAB_OK;
    for (uint32_t i = 0; i < f->units && status == FAB_OK; i++) {
        const struct unit *u = &f->unit[i];
        status = place(f, u, &ret_layer[by_pair ? (size_t)u->to * n + u->from : u->to]);
    }
    return status;
}

int fab_route_layers_first_fit(const struct fab_layers_input *in, const struct fab_order *order,
                               const struct fab_homes *homes, enum fab_first_fit how, bool by_pair,
                               uint32_t limit, uint8_t *ret_layer, uint32_t *ret_count)
{
    struct first_fit f = {.in = in, .order = order, .homes = homes, .limit = limit};
    int status = run(&f, how, by_pair, ret_layer);
    if (status == FAB_OK)
        *ret_count = f.layers > 0 ? f.layers : 1;
    for (uint32_t i = 0; i < f.layers; i++)
        fab_route_cdg_fini(&f.layer[i]);
    fab_base_arena_fini(&f.arena);
    return status;
}
