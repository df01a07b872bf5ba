/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines "torus" and "dor" use dimension-order routing (dimension_order.c) over coordinates
 * that grid.c finds from the links.
 *
 * "dor" accepts meshes, hypercubes, HyperX, and tori whose rings have up to 4 switches; grid.c
 * recognises a ring of 3 as a clique, and a ring of 4 as two dimensions of size 2. A channel
 * depends on channels of the same or a later dimension only. In a dimension that is a path, packets
 * keep their direction; in a dimension that is a clique, packets take one hop. So there is no cycle
 * on one VL.
 *
 * "torus" accepts rings, too. Each ring has a dateline between its last switch and its first. The
 * SL of a path has a bit for each dimension with rings. The bit says whether the path would cross
 * the dateline if no link were missing, and selects VL 0 or VL 1 in that dimension. On VL 0 no path
 * crosses the dateline. On VL 1 all paths cross it, but no path goes farther than half the ring. So
 * neither VL has a cycle. A ring that lacks a link has no cycle on any VL, so faults need not
 * change SLs (Dally and Seitz 1987; OpenSM's Torus-2QoS).
 *
 * Where links or switches are missing, some paths take detours (detours.c). Two more VLs are
 * reserved for detours, if the ports have these VLs. A detour leads around a gap in a row by way of
 * a neighbouring row, so the packets must later turn back to an earlier dimension. The hop after
 * such a turn is called "back", and has a VL of its own. A hop in any dimension except the first is
 * called "aside" if it is the first hop of the packet, or directly follows a hop in the first
 * dimension. Hops aside also have a VL of their own. Otherwise channels of later dimensions could
 * depend on each other over the first dimension. With these VLs, a cycle needs several gaps that
 * are close together, and detours.c avoids such cycles. If detours.c finds no other path for a pair
 * of switches, the packets of this pair get an SL of their own (the spare SL), and stay on the last
 * VL. Before the search for detours, a spanning tree for multicast is reserved, so that multicast
 * packets cannot deadlock with packets on detours.
 *
 * A complete grid has the same VLs and SL-to-VL tables as a damaged one, although no packet in it
 * turns back. So a fault changes forwarding tables only, and the change can be proved step by step.
 * If no detours are found, the engine tries other uses of the VLs, and then other orders of the
 * dimensions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/balance/next_hops.h"
#include "libfabmgr/route/detours/detours.h"
#include "libfabmgr/route/engines/engines.h"
#include "libfabmgr/route/grid/dimension_order.h"

/* maximum number of dimensions with rings: each needs one bit of the SL, and an SL has 4 bits */
#define RINGS_MAX 4

/* maximum number of trees (sets of paths) to one switch */
#define VARIANTS 8
/* maximum number of pairs of a use of the VLs (enum lanes) and an order of the dimensions that are
 * tried for detours */
#define ATTEMPTS 6
/* Maximum number of steps of all searches for cycles together. This number of steps takes about a
 * second. A torus 12x10x9 with 1 % of its links missing needs up to 40 million. */
#define DETOUR_BUDGET UINT64_C(50000000)
/* the same for the searches for detours beside a reserved spanning tree for multicast; they have a
 * budget of their own, so that they take no steps from the other searches */
#define SPANNING_BUDGET UINT64_C(25000000)
/* number of roots of spanning trees that are tried for each use of the VLs */
#define ROOTS 2
/* number of VLs that are reserved for detours */
#define DETOUR_VLS 2

/* A score tells how well a switch suits as root of the spanning tree. It consists of at most
 * SCORE_ROWS numbers of gaps, and of a distance. Each of these parts takes SCORE_BITS bits, and is
 * at most SCORE_MOST. */
#define SCORE_BITS 12
#define SCORE_MOST 4095u
#define SCORE_ROWS 4

/* How detours use the VLs that are reserved for them. The comment at the top of this file says
 * which hops are called "back" and "aside". If only one VL is reserved, the first two values mean
 * the same. */
enum lanes {
    BACK_AND_ASIDE,  /* hops back have one VL, hops aside another */
    BACK_WITH_ASIDE, /* hops back and hops aside share one VL */
    BACK_ONLY,       /* hops aside use the VLs of regular paths */
    LANES_COUNT,
};

struct torus {
    struct fab_arena arena; /* memory of tree[], tree_at[], score[], scratch[] and arc_class[] */
    const struct fab_route_input *in;
    char *why;
    size_t why_len;
    struct fab_graph graph;
    struct fab_grid grid;
    struct fab_destinations destinations;
    struct fab_next_hops next_hops;
    struct fab_lft lft;
    struct fab_vls vls;
    uint32_t rings;
    /* [rings] the dimensions with rings; bit r of the SL selects the VL in dimension ring[r] */
    uint32_t ring[RINGS_MAX];
    struct fab_detour_tree *tree;
    /* [switches + 1] the trees of switch destinations.sequence[i] are tree[tree_at[i]] to
     * tree[tree_at[i + 1] - 1] */
    uint32_t *tree_at;
    /* [switches] score of each switch as root of the spanning tree; the lowest score is the best */
    uint64_t *score;
    uint32_t *scratch;        /* [places] */
    uint8_t *arc_class;       /* [neighbours of the graph] port class of each arc (class_of) */
    uint64_t budget;          /* number of steps that searches for detours may still take */
    uint64_t spanning_budget; /* the same for searches beside a reserved spanning tree */
    enum lanes lanes;         /* how the VLs for detours are used */
    bool detours;             /* true: some path takes a detour */
};

static const char *name(const struct torus *t, uint32_t sw)
{
    return t->in->fabric->nodes[sw].name;
}

/* ---- paths without detours ------------------------------------------------------------------- */

static void find_regular(const void *torus, uint32_t dest, uint32_t number, uint32_t *next)
{
    const struct torus *t = torus;
    (void)number;
    for (uint32_t s = 0; s < t->graph.n; s++)
        next[s] = s != dest ? fab_route_dor_next(&t->graph, &t->grid, s, dest) : FAB_NONE;
}

static int fill(struct torus *t, uint32_t dest, const struct fab_dlid *dlids, uint32_t count)
{
    uint32_t lost = fab_route_next_hops_follow(&t->next_hops, dest);
    if (lost != FAB_NONE) {
        snprintf(t->why, t->why_len,
                 "links are missing: no path without deadlock from %.64s to %.64s", name(t, lost),
                 name(t, dest));
        return FAB_E_UNSUPPORTED;
    }
    fab_route_next_hops_fill(&t->next_hops, dest, dlids, count, &t->lft);
    return FAB_OK;
}

/* Computes the entries if no link is missing. All DLIDs of a switch then have the same next
 * switches, so the function finds these only once for each switch. */
static int route_whole(struct torus *t)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    int status = FAB_OK;
    for (uint32_t i = 0; i < t->graph.n; i++) {
        find_regular(t, t->destinations.sequence[i], 0, t->next_hops.next);
        for (uint32_t offset = 0; offset < t->destinations.lids_each && status == FAB_OK;
             offset++) {
            uint32_t count = fab_route_destinations_dlids(&t->destinations, i, offset, dlids);
            status = fill(t, t->destinations.sequence[i], dlids, count);
        }
    }
    return status;
}

/* ---- virtual lanes --------------------------------------------------------------------------- */

static int set_sls(struct torus *t)
{
    uint32_t n = t->graph.n;
    int status = fab_target_vls_by_pair(&t->vls, n);
    for (uint32_t to = 0; to < n && status == FAB_OK; to++) {
        for (uint32_t from = 0; from < n; from++) {
            unsigned sl = 0;
            for (uint32_t r = 0; r < t->rings; r++)
                sl |= (unsigned)fab_route_dor_crosses_dateline(&t->grid, from, to, t->ring[r]) << r;
            t->vls.of_pair[(size_t)to * n + from] = (uint8_t)sl;
        }
    }
    return status;
}

/* Returns the class of ports that lead from switch a to switch b: 1 + the link's dimension. Ports
 * to endports have class 0. */
static uint8_t class_of(const struct torus *t, uint32_t a, uint32_t b)
{
    return (uint8_t)(1 + fab_route_grid_differ(&t->grid, a, b));
}

/* Sets the port classes, on which the VLs of packets depend (fab_vls). */
static int set_classes(struct torus *t)
{
    const struct fab_fabric *f = t->in->fabric;
    int status = fab_target_vls_by_class(&t->vls, f->port_count);
    if (status != FAB_OK)
        return status;
    for (uint32_t s = 0; s < t->graph.n; s++) {
        for (uint32_t p = t->graph.port_at[s]; p < t->graph.port_at[s + 1]; p++)
            t->vls.port_class[fab_fabric_port_id(f, s, t->graph.port_num[p])] =
                class_of(t, s, t->graph.port_peer[p]);
    }
    t->vls.classes = (uint8_t)(1 + t->grid.dims);
    return FAB_OK;
}

/* Returns the number of neighbours that a switch has in dimension d if no link is missing. */
static uint32_t neighbours_in(const struct fab_grid *grid, uint32_t sw, uint32_t d)
{
    uint32_t size = grid->dim[d].size, at = fab_route_grid_coordinate(grid, sw, d);
    if (grid->dim[d].kind == FAB_GRID_PATH)
        return at == 0 || at + 1 == size ? 1 : 2;
    return grid->dim[d].kind == FAB_GRID_RING ? 2 : size - 1;
}

static uint32_t usual_neighbours(const struct fab_grid *grid, uint32_t sw)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < grid->dims; d++)
        count += neighbours_in(grid, sw, d);
    return count;
}

/* regular_vls() returns the number of VLs, and regular_sls() the number of SLs, that dimension
 * order needs if no link is missing. */
static uint8_t regular_vls(const struct torus *t)
{
    return t->rings > 0 ? 2 : 1;
}

static uint8_t regular_sls(const struct torus *t)
{
    return (uint8_t)(1u << t->rings);
}

/* Returns the bit of the SL that tells whether the path crosses the dateline of its ring in
 * dimension d; 0 if this dimension has no rings. */
static uint8_t dateline_bit(const struct torus *t, uint32_t d, unsigned sl)
{
    for (uint32_t r = 0; r < t->rings; r++) {
        if (t->ring[r] == d)
            return (uint8_t)(sl >> r & 1);
    }
    return 0;
}

/* Returns the VL on which a packet leaves a switch. `in` and `out` are port classes
 * (class_of()). */
static uint8_t vl_of(const struct torus *t, unsigned in, unsigned out, unsigned sl)
{
    unsigned regular = regular_vls(t), extra = t->vls.count - regular;
    if (out == 0)
        return 0;
    if (extra > 0 && in <= 1 && out > 1 && t->lanes != BACK_ONLY)
        return (uint8_t)(extra > 1 && t->lanes == BACK_AND_ASIDE ? regular + 1 : regular);
    return extra > 0 && in > out ? (uint8_t)regular : dateline_bit(t, out - 1, sl);
}

static void set_map(struct torus *t)
{
    bool spare = t->vls.sls > regular_sls(t);
    memset(t->vls.vl, 0, sizeof(t->vls.vl));
    for (unsigned in = 0; in < t->vls.classes; in++) {
        for (unsigned out = 0; out < t->vls.classes; out++) {
            for (unsigned sl = 0; sl < t->vls.sls; sl++)
                t->vls.vl[in][out][sl] = vl_of(t, in, out, sl);
            if (spare)
                t->vls.vl[in][out][regular_sls(t)] = (uint8_t)(t->vls.count - 1);
        }
    }
}

/* Sets up `count` VLs. The VLs beyond regular_vls() are for detours. If there are two VLs for
 * detours, and regular paths do not use all SLs, the first unused SL becomes the spare SL, whose
 * packets stay on the last VL. */
static int make_vls(struct torus *t, uint8_t count)
{
    bool spare = count > regular_vls(t) + 1 && regular_sls(t) < FAB_SLS;
    fab_target_vls_init(&t->vls, count);
    t->vls.sls = (uint8_t)(regular_sls(t) + spare);
    int status = t->rings > 0 || spare ? set_sls(t) : FAB_OK;
    if (status == FAB_OK)
        status = set_classes(t);
    if (status == FAB_OK)
        set_map(t);
    return status;
}

/* Frees what the tables do not need. `rescued` is the number of destination switches whose packets
 * may use the spare SL. If it is 0, the spare SL no longer counts as an SL in use. Its entries stay
 * in the SL-to-VL tables, so that these tables do not change when a fault makes the spare SL
 * necessary. */
static void trim_sls(struct torus *t, uint32_t rescued)
{
    if (rescued == 0)
        t->vls.sls = regular_sls(t);
    if (t->vls.count == 1)
        fab_target_vls_fini(&t->vls);
    if (t->vls.sls > 1)
        return;
    free(t->vls.of_pair);
    t->vls.of_pair = NULL;
    t->vls.switches = 0;
}

/* ---- paths with detours ---------------------------------------------------------------------- */

/* Returns the rank of a channel in a topological order. The channels are ordered by dimension, then
 * along the row from the dateline. On VL 1 the row begins in its middle. Within a dimension,
 * channels on VLs for detours come last. */
static uint64_t rank_of(const void *torus, uint32_t from, uint32_t to, uint32_t vl)
{
    const struct torus *t = torus;
    uint32_t d = fab_route_grid_differ(&t->grid, from, to), size = t->grid.dim[d].size;
    uint64_t at = fab_route_grid_coordinate(&t->grid, from, d);
    if ((at + 1) % size != fab_route_grid_coordinate(&t->grid, to, d))
        at = size - 1 - at;
    if (vl == 1)
        at = (at + size / 2) % size;
    return (uint64_t)d << 32 | (uint64_t)(vl >= regular_vls(t)) << 16 | at;
}

static bool leads_back(const void *torus, uint32_t dest, uint32_t s, uint32_t to)
{
    const struct torus *t = torus;
    return s != dest && fab_route_dor_leads_back(&t->grid, s, to, dest);
}

/* ---- the spanning tree for multicast --------------------------------------------------------- */

static bool forwards_multicast(const void *torus, uint32_t s)
{
    const struct torus *t = torus;
    return t->in->fabric->switches[s].multicast_fdb_cap > 0;
}

/* Returns the level of a link, which is its dimension. So the tree begins with the row of the first
 * dimension through the root (the trunk). Only in the last dimension does the tree use the links of
 * all rows; detours seldom turn from these links into other links. Packets of SL 0 never cross a
 * dateline, so links that cross a dateline have the last level. */
static uint32_t level_of(const void *torus, uint32_t a, uint32_t b)
{
    const struct torus *t = torus;
    uint32_t d = fab_route_grid_differ(&t->grid, a, b);
    const struct fab_grid_dim *dim = &t->grid.dim[d];
    uint32_t from = fab_route_grid_coordinate(&t->grid, a, d),
             to = fab_route_grid_coordinate(&t->grid, b, d);
    bool at_dateline =
        dim->kind == FAB_GRID_RING && from + to == dim->size - 1 && (from == 0 || to == 0);
    return at_dateline ? t->grid.dims : d;
}

/* Returns the number of links of switch s that are missing in the dimensions 0 to d. */
static uint32_t count_gaps(const struct torus *t, uint32_t s, uint32_t d)
{
    uint32_t gaps = 0;
    for (uint32_t e = 0; e <= d; e++)
        gaps += neighbours_in(&t->grid, s, e);
    for (uint32_t i = t->graph.nbr_at[s]; i < t->graph.nbr_at[s + 1]; i++)
        gaps -= fab_route_grid_differ(&t->grid, s, t->graph.nbr[i]) <= d;
    return gaps;
}

/* Appends a number to the score of each switch: the number of gaps in the region of the grid that
 * extends from the switch in the dimensions 0 to d. */
static void score_gaps(struct torus *t, uint32_t d)
{
    uint32_t *gaps = t->scratch;
    memset(gaps, 0, t->grid.places * sizeof(*gaps));
    for (unsigned pass = 0; pass <= 1; pass++) {
        for (uint32_t s = 0; s < t->graph.n; s++) {
            uint32_t first = t->grid.place[s];
            for (uint32_t e = 0; e <= d; e++)
                first -= fab_route_grid_coordinate(&t->grid, s, e) * t->grid.dim[e].step;
            if (pass == 0)
                gaps[first] += count_gaps(t, s, d);
            else
                t->score[s] = t->score[s] << SCORE_BITS |
                              (gaps[first] < SCORE_MOST ? gaps[first] : SCORE_MOST);
        }
    }
}

/* Returns twice the distance of switch s from the middle of the grid. */
static uint32_t distance_from_middle(const struct torus *t, uint32_t s)
{
    uint32_t sum = 0;
    for (uint32_t d = 0; d < t->grid.dims; d++) {
        uint32_t at = 2 * fab_route_grid_coordinate(&t->grid, s, d), last = t->grid.dim[d].size - 1;
        sum += at > last ? at - last : last - at;
    }
    return sum;
}

/* Returns true if switch s is in the middle of each ring. Nearly no path from there crosses a
 * dateline, so packets on VL 1 seldom follow multicast packets. */
static bool is_in_middle(const struct torus *t, uint32_t s)
{
    for (uint32_t r = 0; r < t->rings; r++) {
        uint32_t d = t->ring[r], size = t->grid.dim[d].size,
                 at = fab_route_grid_coordinate(&t->grid, s, d);
        if (at != size / 2 && at != (size - 1) / 2)
            return false;
    }
    return true;
}

/* Returns the best root for the spanning tree; FAB_NONE if no switch is suitable. Rows through the
 * root should have few gaps; gaps in the trunk (the row of the first dimension) count most. `tried`
 * is a root whose tree left no detours for some path: no switch in the same trunk becomes the root.
 * FAB_NONE: there is no such root. */
static uint32_t find_root(struct torus *t, uint32_t tried)
{
    uint32_t root = FAB_NONE;
    memset(t->score, 0, t->graph.n * sizeof(*t->score));
    for (uint32_t d = 0; d + 1 < t->grid.dims && d < SCORE_ROWS; d++)
        score_gaps(t, d);
    for (uint32_t i = 0; i < t->graph.n; i++) {
        uint32_t s = t->destinations.sequence[i];
        t->score[s] = t->score[s] << SCORE_BITS | distance_from_middle(t, s);
        if (tried != FAB_NONE &&
            fab_route_grid_moved(&t->grid, s, 0, 0) == fab_route_grid_moved(&t->grid, tried, 0, 0))
            continue;
        if (forwards_multicast(t, s) && is_in_middle(t, s) &&
            (root == FAB_NONE || t->score[s] < t->score[root]))
            root = s;
    }
    return root;
}

/* Stores the spanning tree for the manager. */
static int set_branches(struct torus *t, const struct fab_detours *d)
{
    const struct fab_graph *g = &t->graph;
    int status = d->spans ? fab_target_vls_with_branches(&t->vls, g->n) : FAB_OK;
    for (uint32_t s = 0; s < g->n && status == FAB_OK && d->spans; s++) {
        /* The first ports of a switch lead to its neighbours, in the same order as nbr[]. */
        if (d->branch[s] != FAB_NONE)
            t->vls.branch[s] = g->port_num[g->port_at[s] + d->branch[s] - g->nbr_at[s]];
    }
    return status;
}

/* ---- trees of paths -------------------------------------------------------------------------- */

/* Makes the list of trees: VARIANTS or fewer for each destination switch, so that its LIDs can take
 * different detours. LID i of a switch uses variant i modulo the number of variants. */
static int list_trees(struct torus *t)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    t->tree_at = fab_base_arena_alloc(&t->arena, (size_t)t->graph.n + 1, sizeof(*t->tree_at));
    t->tree = fab_base_arena_alloc(&t->arena, (size_t)t->graph.n * VARIANTS + 1, sizeof(*t->tree));
    if (t->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < t->graph.n; i++) {
        struct fab_detour_tree *tree = t->tree + t->tree_at[i];
        uint32_t variants = t->graph.hosts[t->destinations.sequence[i]];
        variants = variants < VARIANTS ? variants > 0 ? variants : 1 : VARIANTS;
        for (uint32_t k = 0; k < variants; k++)
            tree[k].dest = t->destinations.sequence[i];
        for (uint32_t offset = 0; offset < t->destinations.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&t->destinations, i, offset, dlids);
            for (uint32_t k = 0; k < count; k++)
                tree[k % variants].weight += dlids[k].loaded;
        }
        t->tree_at[i + 1] = t->tree_at[i] + variants;
    }
    return FAB_OK;
}

static int fill_switch(struct torus *t, const struct fab_detours *d, uint32_t i)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    uint32_t first = t->tree_at[i], variants = t->tree_at[i + 1] - first;
    int status = FAB_OK;
    for (uint32_t v = 0; v < variants; v++) {
        fab_route_detours_next(d, first + v, t->next_hops.next);
        for (uint32_t offset = 0; offset < t->destinations.lids_each && status == FAB_OK;
             offset++) {
            uint32_t count = fab_route_destinations_dlids(&t->destinations, i, offset, dlids);
            for (uint32_t k = v; k < count && status == FAB_OK; k += variants)
                status = fill(t, t->destinations.sequence[i], dlids + k, 1);
        }
    }
    return status;
}

static void set_arc_classes(struct torus *t)
{
    const struct fab_graph *g = &t->graph;
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t i = g->nbr_at[s]; i < g->nbr_at[s + 1]; i++)
            t->arc_class[i] = class_of(t, s, g->nbr[i]);
    }
}

/* Makes the first dimension the last one, so that packets travel in it after all others. Each bit
 * of the SL still belongs to the same ring. */
static void rotate_dimensions(struct torus *t)
{
    struct fab_grid_dim first = t->grid.dim[0];
    uint32_t last = t->grid.dims - 1;
    memmove(t->grid.dim, t->grid.dim + 1, last * sizeof(first));
    t->grid.dim[last] = first;
    for (uint32_t r = 0; r < t->rings; r++)
        t->ring[r] = t->ring[r] > 0 ? t->ring[r] - 1 : last;
}

/* root: the root of the spanning tree for multicast; FAB_NONE: no tree is reserved */
static int find_detours(struct torus *t, uint8_t count, uint32_t root, struct fab_detours *ret)
{
    const struct fab_detour_rule rule = {
        .ctx = t,
        .next = find_regular,
        .leads_back = leads_back,
        .reserve = root != FAB_NONE,
        .root = root,
        .levels = t->grid.dims + 1,
        .level = level_of,
        .forwards_multicast = forwards_multicast,
        .rank = rank_of,
        .vls = &t->vls,
        .spare_sl = t->vls.sls > regular_sls(t) ? regular_sls(t) : FAB_SLS,
        .arc_class = t->arc_class,
        .budget = root != FAB_NONE ? &t->spanning_budget : &t->budget,
    };
    fab_route_detours_fini(ret);
    fab_target_vls_fini(&t->vls);
    int status = make_vls(t, count);
    return status == FAB_OK ? fab_route_detours_find(&t->graph, &rule, count, t->tree,
                                                     t->tree_at[t->graph.n], ret)
                            : status;
}

/* Tries to find detours beside a reserved spanning tree for multicast. If this fails, tries again
 * without such a tree. */
static int try_lanes(struct torus *t, enum lanes lanes, uint8_t count, struct fab_detours *ret)
{
    t->lanes = lanes;
    set_arc_classes(t);
    int status = FAB_OK;
    uint32_t root = FAB_NONE;
    ret->lost = 1;
    for (unsigned i = 0; i < ROOTS && status == FAB_OK && ret->lost > 0; i++) {
        root = find_root(t, root);
        if (root == FAB_NONE || t->spanning_budget == 0)
            break;
        status = find_detours(t, count, root, ret);
    }
    if (status == FAB_OK && ret->lost > 0)
        status = find_detours(t, count, FAB_NONE, ret);
    return status;
}

/* Tries to find detours for all paths on `count` VLs. First tries the values of enum lanes that
 * differ with this number of VLs. If all of them fail, tries other orders of the dimensions. */
static int try_detours(struct torus *t, uint8_t count, struct fab_detours *ret)
{
    int status = FAB_OK, extra = count - regular_vls(t);
    enum lanes first = extra > 1   ? BACK_AND_ASIDE
                       : extra > 0 ? BACK_WITH_ASIDE
                                   : BACK_ONLY,
               lanes = first;
    ret->lost = 1;
    for (uint32_t i = 0, orders = 1;
         i < ATTEMPTS && status == FAB_OK && ret->lost > 0 && t->budget > 0; i++) {
        if (lanes == LANES_COUNT) {
            if (orders++ == t->grid.dims)
                break;
            rotate_dimensions(t);
            lanes = first;
        }
        status = try_lanes(t, lanes++, count, ret);
    }
    return status;
}

/* Computes routes with detours, on `count` VLs if these suffice, otherwise on more VLs if the ISLs
 * have them. */
static int route_damaged(struct torus *t, uint8_t count)
{
    struct fab_detours found = {0};
    uint8_t most = fab_route_vls_up_to(t->in, regular_vls(t) + DETOUR_VLS);
    size_t arcs = t->graph.nbr_at[t->graph.n];
    t->arc_class = fab_base_arena_alloc(&t->arena, arcs + 1, sizeof(*t->arc_class));
    t->score = fab_base_arena_alloc(&t->arena, t->graph.n, sizeof(*t->score));
    t->scratch = fab_base_arena_alloc(&t->arena, t->grid.places, sizeof(*t->scratch));
    int status = list_trees(t);
    if (status == FAB_OK)
        status = try_detours(t, count, &found);
    if (status == FAB_OK && found.lost > 0 && count < most)
        status = try_detours(t, most, &found);
    for (uint32_t i = 0; i < t->graph.n && status == FAB_OK; i++)
        status = fill_switch(t, &found, i);
    if (status == FAB_OK && found.lost > 0) {
        /* All pairs have paths, but the search ended before it knew whether these can deadlock. */
        snprintf(t->why, t->why_len,
                 "links are missing: the search for paths without deadlock "
                 "used up its steps");
        status = FAB_E_UNSUPPORTED;
    }
    if (status == FAB_OK)
        trim_sls(t, found.rescued);
    if (status == FAB_OK)
        status = set_branches(t, &found);
    t->detours = found.broken > 0;
    fab_route_detours_fini(&found);
    return status;
}

static bool is_whole(const struct torus *t)
{
    const struct fab_graph *g = &t->graph;
    for (uint32_t sw = 0; sw < g->n; sw++) {
        if (g->nbr_at[sw + 1] - g->nbr_at[sw] != usual_neighbours(&t->grid, sw))
            return false;
    }
    return true;
}

static int route_all(struct torus *t)
{
    int status = fab_route_vls_check(t->in, regular_vls(t), t->why, t->why_len);
    uint8_t count = fab_route_vls_reserve(t->in, regular_vls(t), DETOUR_VLS);
    if (status != FAB_OK || !is_whole(t))
        return status == FAB_OK ? route_damaged(t, count) : status;
    status = route_whole(t);
    if (status == FAB_OK)
        status = make_vls(t, count);
    if (status == FAB_OK)
        trim_sls(t, 0);
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
        ret = fab_route_next_hops_init(&t->next_hops, &t->graph);
    if (ret == FAB_OK)
        ret = fab_route_destinations_in_sequence(t->in, &t->graph, sequence_of(&t->grid),
                                                 &t->destinations);
    if (ret == FAB_OK)
        ret = fab_target_lft_init(&t->lft, f->switch_count, t->in->lids->top);
    return ret;
}

/* Returns true if a link is missing, or if switches differ in the mean number of parallel links to
 * a neighbour. */
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
    if (t->detours && len < t->why_len)
        snprintf(t->why + len, t->why_len - len, ", paths go around missing links");
}

static int run(const struct fab_route_input *in, int check(struct torus *), struct fab_lft *ret_lft,
               struct fab_vls *ret_vls, char *why, size_t why_len)
{
    struct torus t = {.in = in,
                      .why = why,
                      .why_len = why_len,
                      .budget = DETOUR_BUDGET,
                      .spanning_budget = SPANNING_BUDGET};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = prepare(&t, check);
    if (ret == FAB_OK)
        ret = route_all(&t);
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
    fab_base_arena_fini(&t.arena);
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
    .summary =
        "dimension order on meshes, hypercubes and HyperX, 1 VL (2 more for detours if available)",
    .run = run_dor,
};

const struct fab_route_engine fab_route_engine_torus = {
    .name = "torus",
    .summary = "dimension order on tori, datelines by SL, 2 VLs (2 more for detours if available)",
    .run = run_torus,
};
