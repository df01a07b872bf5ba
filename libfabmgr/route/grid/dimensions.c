/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the dimensions of a grid from the links alone. Tori, meshes, hypercubes and HyperX are
 * Cartesian products of rings, paths and cliques. (A ring of 4 is the product of two pairs; a ring
 * of 3 is a clique.) In such a product
 *
 *   - a triangle lies in one dimension;
 *   - in a square that does not lie in one row, opposite sides have the same dimension and adjacent
 *     sides have different ones (Sabidussi 1960; Feder, "Product graph representations", 1992).
 *
 * So first the links of each triangle are joined to rows. Then the opposite sides of each square
 * are joined to classes of parallel links. In a clique, a class consists of all links of the
 * dimension. In a ring or path, it consists of the links between two adjacent coordinates.
 *
 * Two classes cross if links of them are adjacent sides of a square. Classes that cross have
 * different dimensions. Two classes have the same dimension if three conditions hold: links of both
 * meet at a switch, the classes do not cross each other, and they mostly cross the same other
 * classes. Missing links remove squares but never add any, and the remaining squares of a class
 * usually suffice to find it.
 *
 * find_by_gap() finds the dimensions of some links that are in no square; the dimensions of the
 * others stay unknown. If the fabric has no square at all, all links have the same dimension.
 */
#include "libfabmgr/route/grid/dimensions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"

#define CLASSES_MAX 2048

struct classes {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_graph *g;
    uint32_t edges;
    /* [neighbours] by index in g->nbr: number of the link between the switch and this neighbour;
     * both directions of a link have the same number */
    uint32_t *edge;
    /* [edges] disjoint sets of links (sets.h), which the search joins */
    uint32_t *set;
    /* [edges] the row to which each link belongs, as far as triangles show it: the root of the
     * link's set after the links of triangles were joined, and before the links of squares are
     * joined */
    uint32_t *row;
    /* [edges] whether the link is a side of a square */
    bool *square;
    /* [switches] 1 + id of the switch from which the search last reached this switch in two hops;
     * 0: not reached yet. If the search reaches this switch a second time from the same start, over
     * another neighbour, both paths form a square. */
    uint32_t *seen;
    /* [switches] the first of the two hops of seen[], as an index in g->nbr */
    uint32_t *first;
    /* [switches] the second of the two hops of seen[], as an index in g->nbr */
    uint32_t *then;
    /* [switches] mark_neighbours(u) sets this mark to u + 1 at all neighbours of switch u; 0: not
     * marked yet */
    uint32_t *adjacent;
    uint32_t count;     /* number of classes of parallel links */
    uint32_t *class_of; /* [edges] class of the link, or FAB_NONE */
    size_t words;
    /* [count][words] for each class of parallel links, a bitset of the classes that cross it. Two
     * classes cross if links of them are adjacent sides of a square; their dimensions then
     * differ. */
    uint64_t *cross;
    /* [count] disjoint sets (sets.h) of classes of parallel links; the classes of a set have the
     * same dimension */
    uint32_t *dim;
};

static void fini(struct classes *w)
{
    fab_base_arena_fini(&w->arena);
}

static int init(struct classes *w)
{
    size_t n = (size_t)w->g->n + 1, slots = (size_t)w->g->nbr_at[w->g->n] + 1;
    w->edge = fab_base_arena_alloc(&w->arena, slots, sizeof(*w->edge));
    w->set = fab_base_arena_alloc(&w->arena, slots, sizeof(*w->set));
    w->row = fab_base_arena_alloc(&w->arena, slots, sizeof(*w->row));
    w->square = fab_base_arena_alloc(&w->arena, slots, sizeof(*w->square));
    w->class_of = fab_base_arena_alloc(&w->arena, slots, sizeof(*w->class_of));
    w->seen = fab_base_arena_alloc(&w->arena, n, sizeof(*w->seen));
    w->first = fab_base_arena_alloc(&w->arena, n, sizeof(*w->first));
    w->then = fab_base_arena_alloc(&w->arena, n, sizeof(*w->then));
    w->adjacent = fab_base_arena_alloc(&w->arena, n, sizeof(*w->adjacent));
    return !w->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void number_edges(struct classes *w)
{
    const struct fab_graph *g = w->g;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (g->nbr[i] < u)
                w->edge[i] = w->edge[fab_route_graph_arc(g, g->nbr[i], u)];
            else
                w->edge[i] = w->edges++;
        }
    }
    fab_base_sets_init(w->set, w->edges);
}

static void mark_neighbours(struct classes *w, uint32_t u)
{
    for (uint32_t i = w->g->nbr_at[u]; i < w->g->nbr_at[u + 1]; i++) {
        w->adjacent[w->g->nbr[i]] = u + 1;
        w->first[w->g->nbr[i]] = i;
    }
}

static void join_triangles(struct classes *w)
{
    const struct fab_graph *g = w->g;
    for (uint32_t u = 0; u < g->n; u++) {
        mark_neighbours(w, u);
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            uint32_t v = g->nbr[i];
            for (uint32_t k = g->nbr_at[v]; v > u && k < g->nbr_at[v + 1]; k++) {
                if (w->adjacent[g->nbr[k]] != u + 1)
                    continue;
                fab_base_sets_join(w->set, w->edge[i], w->edge[k]);
                fab_base_sets_join(w->set, w->edge[i], w->edge[w->first[g->nbr[k]]]);
            }
        }
    }
    for (uint32_t e = 0; e < w->edges; e++)
        w->row[e] = fab_base_sets_find(w->set, e);
}

/* ---- squares --------------------------------------------------------------------------------- */

/* A function that is called for each square of four links. Two paths lead from a corner to the
 * opposite corner: one over side[0] and side[1], the other over side[2] and side[3]. */
typedef void square_fn(struct classes *w, const uint32_t side[4]);

static void test_square(struct classes *w, uint32_t i, uint32_t k, square_fn *fn)
{
    uint32_t t = w->g->nbr[k];
    const uint32_t side[4] = {w->edge[w->first[t]], w->edge[w->then[t]], w->edge[i], w->edge[k]};
    if (w->row[side[0]] != w->row[side[2]] && w->row[side[1]] != w->row[side[3]])
        fn(w, side);
}

/* Calls fn for squares of u, an opposite corner t, and two neighbours that u and t share. t must
 * not be a neighbour of u. t must have a greater id than u, so that u and t do not both find the
 * square. Skips a square if its two sides at u are in the same row, or its two sides at t are. If n
 * > 2 paths of two hops lead from u to t, tests only n - 1 squares: the first path together with
 * each other path. */
static void squares_at(struct classes *w, uint32_t u, square_fn *fn)
{
    const struct fab_graph *g = w->g;
    mark_neighbours(w, u);
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        uint32_t v = g->nbr[i];
        for (uint32_t k = g->nbr_at[v]; k < g->nbr_at[v + 1]; k++) {
            uint32_t t = g->nbr[k];
            if (t <= u || w->adjacent[t] == u + 1)
                continue;
            if (w->seen[t] == u + 1) {
                test_square(w, i, k, fn);
                continue;
            }
            w->seen[t] = u + 1;
            w->first[t] = i;
            w->then[t] = k;
        }
    }
}

static void each_square(struct classes *w, square_fn *fn)
{
    memset(w->seen, 0, w->g->n * sizeof(*w->seen));
    memset(w->adjacent, 0, w->g->n * sizeof(*w->adjacent));
    for (uint32_t u = 0; u < w->g->n; u++)
        squares_at(w, u, fn);
}

static void join_opposite(struct classes *w, const uint32_t side[4])
{
    fab_base_sets_join(w->set, side[0], side[3]);
    fab_base_sets_join(w->set, side[1], side[2]);
    for (unsigned i = 0; i < 4; i++)
        w->square[side[i]] = true;
}

static void mark_crossing(struct classes *w, const uint32_t side[4])
{
    uint32_t a = w->class_of[side[0]], b = w->class_of[side[2]];
    if (a == b)
        return;
    fab_base_bits_set(w->cross + a * w->words, b);
    fab_base_bits_set(w->cross + b * w->words, a);
}

/* ---- classes of parallel links --------------------------------------------------------------- */

/* Numbers the classes of parallel links. The links are divided into disjoint sets. A set that
 * contains a side of a square is a class; the links of all other sets belong to no class. Returns
 * false if there are more than CLASSES_MAX classes. */
static bool number_classes(struct classes *w)
{
    for (uint32_t e = 0; e < w->edges; e++) {
        w->class_of[e] = FAB_NONE;
        if (w->square[e])
            w->square[fab_base_sets_find(w->set, e)] = true;
    }
    for (uint32_t e = 0; e < w->edges; e++) {
        uint32_t root = fab_base_sets_find(w->set, e);
        if (root == e && w->square[e])
            w->class_of[e] = w->count++;
        w->class_of[e] = w->class_of[root];
    }
    return w->count <= CLASSES_MAX;
}

static int find_crossings(struct classes *w)
{
    w->words = fab_base_bits_words(w->count);
    w->cross = fab_base_arena_alloc(&w->arena, (size_t)w->count * w->words + 1, sizeof(*w->cross));
    w->dim = fab_base_arena_alloc(&w->arena, (size_t)w->count + 1, sizeof(*w->dim));
    if (w->arena.failed)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < w->count; i++)
        w->dim[i] = i;
    each_square(w, mark_crossing);
    return FAB_OK;
}

static bool cross_mostly_same(const struct classes *w, uint32_t a, uint32_t b)
{
    const uint64_t *x = w->cross + a * w->words, *y = w->cross + b * w->words;
    size_t common = 0;
    for (size_t i = 0; i < w->words; i++)
        common += (size_t)__builtin_popcountll(x[i] & y[i]);
    size_t of_a = fab_base_bits_count(x, w->count), of_b = fab_base_bits_count(y, w->count);
    return common * 2 > (of_a < of_b ? of_a : of_b);
}

static void join_classes_at(struct classes *w, uint32_t u)
{
    const struct fab_graph *g = w->g;
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        uint32_t a = w->class_of[w->edge[i]];
        for (uint32_t k = i + 1; a != FAB_NONE && k < g->nbr_at[u + 1]; k++) {
            uint32_t b = w->class_of[w->edge[k]];
            if (b == FAB_NONE || b == a || fab_base_bits_get(w->cross + a * w->words, b) ||
                fab_base_sets_find(w->dim, a) == fab_base_sets_find(w->dim, b) ||
                !cross_mostly_same(w, a, b))
                continue;
            fab_base_sets_join(w->dim, a, b);
        }
    }
}

/* ---- dimensions ------------------------------------------------------------------------------ */

static int number_dims(struct classes *w, struct fab_dimensions *s, char *why, size_t why_len)
{
    uint32_t number[FAB_DIMENSIONS_MAX];
    for (uint32_t i = 0; i < w->count; i++) {
        if (fab_base_sets_find(w->dim, i) != i)
            continue;
        if (s->dims == FAB_DIMENSIONS_MAX) {
            snprintf(why, why_len, "no grid: more than %u dimensions", FAB_DIMENSIONS_MAX);
            return FAB_E_UNSUPPORTED;
        }
        number[s->dims++] = i;
    }
    for (uint32_t i = 0; i < w->g->nbr_at[w->g->n]; i++) {
        uint32_t class_of = w->class_of[w->edge[i]];
        s->dim[i] = FAB_DIMENSION_NONE;
        for (uint32_t d = 0; class_of != FAB_NONE && d < s->dims; d++) {
            if (number[d] == fab_base_sets_find(w->dim, class_of))
                s->dim[i] = (uint8_t)d;
        }
    }
    return FAB_OK;
}

/*
 * Looks for two squares side by side that lack only their common side, the link from a to b:
 *
 *   w --d-- b --d-- x
 *   |e              |e
 *   u ----- a ----- y
 *
 * d and e are the dimensions of the links. find_by_gap(), below, has chosen u, which is no
 * argument: u is a neighbour of a and w. Returns true if there are switches x and y like this, and
 * sets *ret to y. The dimensions of the links of a need not be known.
 */
static bool is_between_squares(const struct fab_graph *g, const struct fab_dimensions *s,
                               uint32_t a, uint32_t b, uint32_t w, uint8_t d, uint8_t e,
                               uint32_t *ret)
{
    for (uint32_t i = g->nbr_at[b]; i < g->nbr_at[b + 1]; i++) {
        uint32_t beyond = g->nbr[i];
        for (uint32_t k = g->nbr_at[beyond];
             s->dim[i] == d && beyond != w && k < g->nbr_at[beyond + 1]; k++) {
            if (s->dim[k] == e && fab_route_graph_linked(g, g->nbr[k], a)) {
                *ret = g->nbr[k];
                return true;
            }
        }
    }
    return false;
}

void fab_route_dimensions_set(const struct fab_graph *g, struct fab_dimensions *s, uint32_t a,
                              uint32_t b, uint8_t d)
{
    s->dim[fab_route_graph_arc(g, a, b)] = d;
    s->dim[fab_route_graph_arc(g, b, a)] = d;
}

/* Finds the dimension of the link from u to a, which is in no square. Looks for a square u, w, b, a
 * that lacks only the link from a to b. The dimension is then that of the opposite side, from w to
 * b. is_between_squares() checks that a and b are indeed neighbours in the grid, and finds a second
 * link of a, which gets the same dimension as the link from u to a. */
static void find_by_gap(const struct fab_graph *g, struct fab_dimensions *s, uint32_t u, uint32_t a)
{
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        uint32_t w = g->nbr[i], beyond;
        uint8_t e = s->dim[i];
        for (uint32_t k = g->nbr_at[w]; e != FAB_DIMENSION_NONE && k < g->nbr_at[w + 1]; k++) {
            uint8_t d = s->dim[k];
            if (d == e || d == FAB_DIMENSION_NONE || g->nbr[k] == a ||
                fab_route_graph_linked(g, a, g->nbr[k]) ||
                !is_between_squares(g, s, a, g->nbr[k], w, d, e, &beyond) || beyond == u)
                continue;
            fab_route_dimensions_set(g, s, u, a, d);
            fab_route_dimensions_set(g, s, a, beyond, d);
            return;
        }
    }
}

static void find_others(const struct fab_graph *g, struct fab_dimensions *s)
{
    for (uint32_t u = 0; u < g->n && s->dims > 1; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (s->dim[i] == FAB_DIMENSION_NONE)
                find_by_gap(g, s, u, g->nbr[i]);
        }
    }
}

static int find_dims(struct classes *w, struct fab_dimensions *s, char *why, size_t why_len)
{
    number_edges(w);
    join_triangles(w);
    each_square(w, join_opposite);
    if (!number_classes(w)) {
        snprintf(why, why_len, "no grid: links form more than %u classes of parallel links",
                 CLASSES_MAX);
        return FAB_E_UNSUPPORTED;
    }
    s->dims = w->count == 0 && w->edges > 0;
    if (w->count == 0)
        return FAB_OK; /* there is only one dimension */
    int status = find_crossings(w);
    if (status != FAB_OK)
        return status;
    for (uint32_t u = 0; u < w->g->n; u++)
        join_classes_at(w, u);
    status = number_dims(w, s, why, why_len);
    if (status == FAB_OK)
        find_others(w->g, s);
    return status;
}

/* ---- quick test for topologies that are no grid ---------------------------------------------- */

static uint32_t busiest_switch(const struct fab_graph *g)
{
    uint32_t most = 0;
    for (uint32_t u = 1; u < g->n; u++) {
        if (g->nbr_at[u + 1] - g->nbr_at[u] > g->nbr_at[most + 1] - g->nbr_at[most])
            most = u;
    }
    return most;
}

/* Groups the neighbours of switch u into rows: two neighbours are in one row if they are linked
 * with each other. set[] gets disjoint sets (sets.h) of the indices of the neighbours. */
static void rows_at(const struct fab_graph *g, uint32_t u, uint32_t set[256])
{
    const uint32_t *nbr = g->nbr + g->nbr_at[u];
    uint32_t count = g->nbr_at[u + 1] - g->nbr_at[u];
    fab_base_sets_init(set, count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            if (fab_route_graph_linked(g, nbr[i], nbr[k]))
                fab_base_sets_join(set, i, k);
        }
    }
}

/* Returns true if switch u has so many neighbours that a grid would need more than twice the
 * switches of the fabric. The size of the grid is the product of the sizes of the rows through u,
 * which are estimated. A row in which u has n neighbours with links to each other has n + 1
 * switches. Any other row with two neighbours of u has at least 3 switches. */
static bool too_many_neighbours(const struct fab_graph *g, uint32_t u)
{
    uint32_t set[256], size[256] = {0}, singles = 0;
    uint64_t places = 1, limit = 2 * (uint64_t)g->n;
    uint32_t count = g->nbr_at[u + 1] - g->nbr_at[u];
    rows_at(g, u, set);
    for (uint32_t i = 0; i < count; i++)
        size[fab_base_sets_find(set, i)]++;
    for (uint32_t i = 0; i < count && places <= limit; i++) {
        if (size[i] == 1 && ++singles % 2 == 0)
            places *= 3;
        else if (size[i] > 1)
            places *= size[i] + 1;
    }
    return places > limit;
}

int fab_route_dimensions_find(const struct fab_fabric *f, const struct fab_graph *g,
                              struct fab_dimensions *ret, char *why, size_t why_len)
{
    struct fab_dimensions s = {.dims = 0};
    struct classes w = {.g = g};
    uint32_t most = busiest_switch(g);
    if (g->n > 0 && too_many_neighbours(g, most)) {
        snprintf(why, why_len, "no grid: switch %.64s has %u neighbours, too many for %u switches",
                 f->nodes[most].name, g->nbr_at[most + 1] - g->nbr_at[most], g->n);
        return FAB_E_UNSUPPORTED;
    }
    s.dim = calloc((size_t)g->nbr_at[g->n] + 1, sizeof(*s.dim));
    int status = s.dim != NULL ? init(&w) : FAB_E_NOMEM;
    if (status == FAB_OK)
        status = find_dims(&w, &s, why, why_len);
    if (status == FAB_OK)
        *ret = s;
    else
        fab_route_dimensions_fini(&s);
    fini(&w);
    return status;
}

void fab_route_dimensions_fini(struct fab_dimensions *s)
{
    free(s->dim);
    memset(s, 0, sizeof(*s));
}
