/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns layers by first fit: LIDs are assigned one after the other. All paths to a LID go to the
 * first layer in which their channel dependencies close no cycle. (LASH assigns pairs of switches
 * in the same manner: Skeie, Lysne, Theiss, "Layered shortest path (LASH) routing in irregular
 * system area networks", IPDPS 2002.) The number of layers depends on the order of the LIDs, so the
 * caller tries several orders.
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

/* A LID, and its place in the order. LIDs with a lower rank come first; among LIDs with equal
 * ranks, a LID with a lower `tie` comes first. */
struct place {
    uint32_t lid, rank, tie;
};
struct first_fit {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_layers_input *in;
    const struct fab_order *order;
    struct fab_cdg layer[FAB_VLS_MAX];
    uint32_t layers; /* number of layers in use */
    uint32_t limit;  /* greatest number of layers */
    uint32_t *arc;   /* [port ids of switches] the arc of each port; FAB_NONE if there is none */
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
    const struct place *x = a, *y = b;
    if (x->rank != y->rank)
        return (x->rank > y->rank) - (x->rank < y->rank);
    return (x->tie > y->tie) - (x->tie < y->tie);
}

/* Sorts the LIDs lid[count] by the order `how`. */
static void sort_lids(const struct first_fit *f, const uint32_t *lid, uint32_t count,
                      enum fab_first_fit how, struct place *ret_places)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, (uint64_t)how);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sum = 0;
        for (uint32_t sw = 0; how == FAB_FIRST_FIT_LONGEST && sw < f->in->graph->n; sw++)
            sum += count_hops(f, sw, lid[i]);
        uint32_t tie = how == FAB_FIRST_FIT_DESCENDING  ? UINT32_MAX - i
                       : how == FAB_FIRST_FIT_ASCENDING ? i
                                                        : (uint32_t)fab_base_prng_next(&prng);
        ret_places[i] = (struct place){lid[i], UINT32_MAX - sum, tie};
    }
    qsort(ret_places, count, sizeof(*ret_places), by_rank);
}

/* ---- placing --------------------------------------------------------------------------------- */

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

/* Adds the dependencies of all paths to the LID to layer `t`. Returns false, and leaves the layer
 * unchanged, if a cycle would close. */
static bool fits(struct first_fit *f, struct fab_cdg *t, uint32_t lid)
{
    t->logged = 0;
    bool fit = add_tree(f, t, lid);
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

/* Puts the LID into the first layer that it fits into, and writes the layer to *ret_layer. */
static int put(struct first_fit *f, uint32_t lid, uint8_t *ret_layer)
{
    for (uint32_t i = 0;; i++) {
        int status = i == f->layers ? add_layer(f) : FAB_OK;
        if (status != FAB_OK)
            return status;
        if (fits(f, &f->layer[i], lid)) {
            *ret_layer = (uint8_t)i;
            return FAB_OK;
        }
        if (f->layer[i].no_memory)
            return FAB_E_NOMEM;
    }
}

static int allocate(struct first_fit *f, uint32_t count, struct place **ret_places)
{
    *ret_places = fab_base_arena_alloc(&f->arena, count, sizeof(**ret_places));
    f->arc =
        fab_base_arena_alloc(&f->arena, (size_t)f->in->fabric->port_count + 1, sizeof(*f->arc));
    if (f->arena.failed)
        return FAB_E_NOMEM;
    find_arcs(f);
    return FAB_OK;
}

static int put_all(struct first_fit *f, const struct place *places, uint32_t count,
                   uint8_t *ret_layer)
{
    memset(ret_layer, 0, (size_t)f->in->lft->top + 1);
    int status = FAB_OK;
    for (uint32_t i = 0; i < count && status == FAB_OK; i++)
        status = put(f, places[i].lid, &ret_layer[places[i].lid]);
    return status;
}

static void fini(struct first_fit *f)
{
    for (uint32_t i = 0; i < f->layers; i++)
        fab_route_cdg_fini(&f->layer[i]);
    fab_base_arena_fini(&f->arena);
}

int fab_route_layers_first_fit(const struct fab_layers_input *in, const struct fab_order *order,
                               const uint32_t *lid, uint32_t count, enum fab_first_fit how,
                               uint32_t limit, uint8_t *ret_layer, uint32_t *ret_count)
{
    struct first_fit f = {.in = in, .order = order, .limit = limit};
    struct place *places;
    int status = allocate(&f, count, &places);
    if (status == FAB_OK) {
        sort_lids(&f, lid, count, how, places);
        status = put_all(&f, places, count, ret_layer);
    }
    if (status == FAB_OK)
        *ret_count = f.layers > 0 ? f.layers : 1;
    fini(&f);
    return status;
}
