/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines "torus" and "dor" use dimension-order routing (dimension_order.c) over coordinates
 * that grid.c finds from the links.
 *
 * "dor" accepts grids without rings: meshes, hypercubes, HyperX, and tori whose rings have up to 4
 * switches. A channel depends on channels of the same or a later dimension only. In a dimension
 * that is a path, packets keep their direction; in a dimension that is a clique, packets take one
 * hop. So there is no cycle on one VL.
 *
 * "torus" accepts rings, too. Each ring has a dateline between its last switch and its first. The
 * SL of a path has a bit for each dimension with rings. The bit says whether the path would cross
 * the dateline if no link were missing, and selects VL 0 or VL 1 in that dimension. On VL 0 no path
 * crosses the dateline. On VL 1 all paths cross it, and no path goes farther than half the ring. So
 * neither VL has a cycle. A ring that lacks a link has no cycle on any VL, so that faults need not
 * change SLs (Dally and Seitz 1987; OpenSM's Torus-2QoS).
 *
 * A switch may be missing, or a row may have several parts. Some packets then turn to a later
 * dimension early, and back to an earlier dimension afterwards. The hop after such a turn back has
 * a VL of its own, so that it cannot be part of a cycle around the gap. With several gaps close
 * together there may be a cycle; then the tables fail the proof.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/balance/next_hops.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/grid/dimension_order.h"

/* maximum number of dimensions with rings, because each needs one bit of the SL, and there are 16
 * SLs */
#define RINGS_MAX 4

struct torus {
    const struct fab_route_input *in;
    char *why;
    size_t why_len;
    struct fab_graph graph;
    struct fab_grid grid;
    struct fab_dor dor;
    struct fab_destinations destinations;
    struct fab_next_hops next_hops;
    struct fab_lft lft;
    struct fab_vls vls;
    uint32_t rings;
    /* [rings] the dimensions with rings; bit r of the SL selects the VL in dimension ring[r] */
    uint32_t ring[RINGS_MAX];
    /* true: some path turns back to an earlier dimension */
    bool turns_back;
};

static const char *name(const struct torus *t, uint32_t sw)
{
    return t->in->fabric->nodes[sw].desc;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Returns the position of a dimension in the order in which packets travel the dimensions (its
 * rank). The dimension is that of the link from a to b. */
static uint32_t rank_of(const struct torus *t, uint32_t a, uint32_t b)
{
    return t->dor.rank[fab_route_grid_differ(&t->grid, a, b)];
}

static void find_turns_back(struct torus *t, uint32_t dest)
{
    const uint32_t *next = t->next_hops.next;
    for (uint32_t s = 0; s < t->graph.n && !t->turns_back; s++) {
        uint32_t via = s != dest ? next[s] : dest;
        t->turns_back = via != dest && rank_of(t, via, next[via]) < rank_of(t, s, via);
    }
}

static int find_paths(struct torus *t, uint32_t dest)
{
    for (uint32_t s = 0; s < t->graph.n; s++)
        t->next_hops.next[s] = s == dest ? FAB_NONE : fab_route_dor_next(&t->dor, s, dest);
    uint32_t lost = fab_route_next_hops_follow(&t->next_hops, dest);
    if (lost != FAB_NONE) {
        snprintf(t->why, t->why_len,
                 "links are missing: dimension order has no path from %.64s to %.64s",
                 name(t, lost), name(t, dest));
        return FAB_E_UNSUPPORTED;
    }
    find_turns_back(t, dest);
    return FAB_OK;
}

/* Routes all DLIDs of one switch together. If a clique (a row of switches that are all linked to
 * each other) lacks a link, routes them one by one, because their paths may then use different
 * pivots. A pivot is a switch with links to all other switches of its row. */
static int route_dlids(struct torus *t, uint32_t dest, const struct fab_dlid *dlids, uint32_t count)
{
    uint32_t step = t->dor.pivots ? 1 : count;
    int status = FAB_OK;
    for (uint32_t i = 0; i < count && status == FAB_OK; i += step) {
        t->dor.number = dlids[i].number;
        status = find_paths(t, dest);
        if (status == FAB_OK)
            fab_route_next_hops_fill(&t->next_hops, dest, dlids + i, step, &t->lft);
    }
    return status;
}

static int route_all(struct torus *t)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    int status = FAB_OK;
    for (uint32_t i = 0; i < t->graph.n; i++) {
        for (uint32_t offset = 0; offset < t->destinations.lids_each && status == FAB_OK;
             offset++) {
            uint32_t count = fab_route_destinations_dlids(&t->destinations, i, offset, dlids);
            status = route_dlids(t, t->destinations.sequence[i], dlids, count);
        }
    }
    return status;
}

/* ---- virtual lanes --------------------------------------------------------------------------- */

static int set_sls(struct torus *t)
{
    uint32_t n = t->graph.n;
    t->vls.sls = (uint8_t)(1u << t->rings);
    if (t->rings == 0)
        return FAB_OK;
    int status = fab_target_vls_by_pair(&t->vls, n);
    for (uint32_t to = 0; to < n && status == FAB_OK; to++) {
        for (uint32_t from = 0; from < n; from++) {
            unsigned sl = 0;
            for (uint32_t r = 0; r < t->rings; r++)
                sl |= (unsigned)fab_route_dor_crosses_dateline(&t->dor, from, to, t->ring[r]) << r;
            t->vls.of_pair[(size_t)to * n + from] = (uint8_t)sl;
        }
    }
    return status;
}

/* Sets the port class of each port; the VL of a packet depends on it. The class is 0 for ports to
 * endports. For other ports it is 1 + the rank of the link's dimension in the order of travel. */
static int set_classes(struct torus *t)
{
    const struct fab_fabric *f = t->in->fabric;
    int status = fab_target_vls_by_class(&t->vls, f->port_count);
    if (status != FAB_OK)
        return status;
    for (uint32_t s = 0; s < t->graph.n; s++) {
        for (uint32_t p = t->graph.port_at[s]; p < t->graph.port_at[s + 1]; p++)
            t->vls.port_class[fab_fabric_port_id(f, s, t->graph.port_num[p])] =
                (uint8_t)(1 + rank_of(t, s, t->graph.port_peer[p]));
    }
    t->vls.classes = (uint8_t)(1 + t->grid.dims);
    return FAB_OK;
}

static void set_map(struct torus *t)
{
    uint8_t spare = t->rings > 0 ? 2 : 1;
    memset(t->vls.vl, 0, sizeof(t->vls.vl));
    for (unsigned in = 0; in < t->vls.classes; in++) {
        for (uint32_t r = 0; r < t->rings; r++) {
            for (unsigned sl = 0; sl < t->vls.sls; sl++)
                t->vls.vl[in][1 + t->dor.rank[t->ring[r]]][sl] = (uint8_t)(sl >> r & 1);
        }
        for (unsigned out = 1; out < in && t->turns_back; out++)
            memset(t->vls.vl[in][out], spare, sizeof(t->vls.vl[in][out]));
    }
}

static int make_vls(struct torus *t)
{
    unsigned need = (t->rings > 0 ? 2u : 1u) + t->turns_back;
    if (need == 1)
        return FAB_OK;
    int status = fab_route_vls_check(t->in, need, t->why, t->why_len);
    if (status != FAB_OK)
        return status;
    fab_target_vls_init(&t->vls, (uint8_t)need);
    status = set_sls(t);
    if (status == FAB_OK)
        status = set_classes(t);
    if (status == FAB_OK)
        set_map(t);
    return status;
}

/* ---- which grids each engine takes ----------------------------------------------------------- */

static int check_dor(struct torus *t)
{
    for (uint32_t d = 0; d < t->grid.dims; d++) {
        if (t->grid.dim[d].kind != FAB_GRID_RING)
            continue;
        snprintf(t->why, t->why_len, "a torus with rings of %u switches; use the engine torus",
                 t->grid.dim[d].size);
        return FAB_E_UNSUPPORTED;
    }
    return FAB_OK;
}

static int check_torus(struct torus *t)
{
    for (uint32_t d = 0; d < t->grid.dims; d++) {
        if (t->grid.dim[d].kind == FAB_GRID_CLIQUE && t->grid.dim[d].size > 3) {
            snprintf(t->why, t->why_len,
                     "no torus: rows of %u switches with links between all of them",
                     t->grid.dim[d].size);
            return FAB_E_UNSUPPORTED;
        }
        if (t->grid.dim[d].kind != FAB_GRID_RING)
            continue;
        if (t->rings == RINGS_MAX) {
            snprintf(t->why, t->why_len, "rings in more than %u dimensions", RINGS_MAX);
            return FAB_E_UNSUPPORTED;
        }
        t->ring[t->rings++] = d;
    }
    return FAB_OK;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* Returns the destination switches, sorted by their positions in the grid; NULL if there is no
 * memory. The caller frees the array. */
static uint32_t *sequence_of(const struct fab_grid *grid)
{
    uint32_t *sequence = calloc((size_t)grid->n + 1, sizeof(*sequence)), count = 0;
    for (uint32_t place = 0; sequence != NULL && place < grid->places; place++) {
        if (grid->at[place] != FAB_NONE)
            sequence[count++] = grid->at[place];
    }
    return sequence;
}

static int prepare(struct torus *t, int check(struct torus *))
{
    const struct fab_fabric *f = t->in->fabric;
    int ret = fab_route_graph_make(f, &t->graph);
    if (ret == FAB_OK)
        ret = fab_route_grid_find(f, &t->graph, &t->grid, t->why, t->why_len);
    if (ret == FAB_OK)
        ret = check(t);
    if (ret == FAB_OK)
        ret = fab_route_dor_make(&t->graph, &t->grid, &t->dor);
    if (ret == FAB_OK)
        ret = fab_route_next_hops_init(&t->next_hops, &t->graph);
    if (ret == FAB_OK)
        ret = fab_route_destinations_in_sequence(t->in, &t->graph, sequence_of(&t->grid),
                                                 &t->destinations);
    if (ret == FAB_OK)
        ret = fab_target_lft_init(&t->lft, f->switch_count, t->in->lids->top);
    return ret;
}

/* Returns the number of neighbours that a switch has if no link is missing. */
static uint32_t usual_neighbours(const struct fab_grid *grid, uint32_t sw)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < grid->dims; d++) {
        uint32_t size = grid->dim[d].size, at = fab_route_grid_coordinate(grid, sw, d);
        enum fab_grid_kind kind = grid->dim[d].kind;
        if (kind == FAB_GRID_PATH)
            count += at == 0 || at + 1 == size ? 1 : 2;
        else
            count += kind == FAB_GRID_RING ? 2 : size - 1;
    }
    return count;
}

/* Returns true if a link is missing, or if switches differ in the number of parallel links to a
 * neighbour. */
static bool is_flawed(const struct torus *t)
{
    const struct fab_graph *g = &t->graph;
    for (uint32_t sw = 0; sw < g->n; sw++) {
        uint32_t nbrs = g->nbr_at[sw + 1] - g->nbr_at[sw], ports = g->port_at[sw + 1];
        if (nbrs != usual_neighbours(&t->grid, sw) ||
            (uint64_t)(ports - g->port_at[sw]) * g->nbr_at[1] != (uint64_t)nbrs * g->port_at[1])
            return true;
    }
    return false;
}

static void describe(const struct torus *t)
{
    char text[96];
    uint32_t holes = t->grid.places - t->grid.n;
    fab_route_grid_text(&t->grid, text, sizeof(text));
    size_t len = (size_t)snprintf(t->why, t->why_len, "%s", text);
    if (holes > 0 && len < t->why_len)
        len += (size_t)snprintf(t->why + len, t->why_len - len, ", %u switch%s missing", holes,
                                fab_base_plural_es(holes));
    if (t->turns_back && len < t->why_len)
        snprintf(t->why + len, t->why_len - len, ", paths turn early around gaps");
}

static int run(const struct fab_route_input *in, int check(struct torus *), struct fab_lft *ret_lft,
               struct fab_vls *ret_vls, char *why, size_t why_len)
{
    struct torus t = {.in = in, .why = why, .why_len = why_len};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = prepare(&t, check);
    if (ret == FAB_OK)
        ret = route_all(&t);
    if (ret == FAB_OK)
        ret = make_vls(&t);
    if (ret == FAB_OK) {
        describe(&t);
        if (in->flawed != NULL && is_flawed(&t))
            *in->flawed = true;
        *ret_lft = t.lft;
        *ret_vls = t.vls;
    } else {
        fab_target_lft_fini(&t.lft);
        fab_target_vls_fini(&t.vls);
    }
    fab_route_destinations_fini(&t.destinations);
    fab_route_next_hops_fini(&t.next_hops);
    fab_route_dor_fini(&t.dor);
    fab_route_grid_fini(&t.grid);
    fab_route_graph_fini(&t.graph);
    return ret;
}

static int run_dor(const struct fab_route_input *in, struct fab_lft *ret_lft,
                   struct fab_vls *ret_vls, char *why, size_t why_len)
{
    return run(in, check_dor, ret_lft, ret_vls, why, why_len);
}

static int run_torus(const struct fab_route_input *in, struct fab_lft *ret_lft,
                     struct fab_vls *ret_vls, char *why, size_t why_len)
{
    return run(in, check_torus, ret_lft, ret_vls, why, why_len);
}

const struct fab_route_engine fab_route_engine_dor = {
    .name = "dor",
    .summary = "dimension order on meshes, hypercubes and HyperX, one VL",
    .run = run_dor,
};

const struct fab_route_engine fab_route_engine_torus = {
    .name = "torus",
    .summary = "dimension order on tori, datelines by SL, 2 VLs (3 if switches are missing)",
    .run = run_torus,
};
