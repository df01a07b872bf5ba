/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dimensions from the cables alone. Tori, meshes, hypercubes and HyperX are Cartesian products of
 * rings, paths and cliques (a ring of 4 is the product of two pairs, one of 3 a clique), and in a
 * product
 *
 *   - a triangle lies in one dimension;
 *   - a square whose sides are not all in one row has opposite sides in one dimension, adjacent
 *     ones in two (Sabidussi 1960; Feder, "Product graph representations", 1992).
 *
 * So cables are first joined to rows by triangles, then to walls by opposite sides of squares: in a
 * clique the wall is all of the dimension, in rings and paths it is what stands between two
 * neighbouring slices. Walls that cross (adjacent sides of a square) are of different dimensions.
 * Walls that meet at a switch, do not cross, and cross for the most part the same other walls, are
 * of the same one: missing cables take squares away, but never put any in, so that what a few of
 * them leave unsaid is said elsewhere along the wall.
 *
 * Cables without any square stay unknown; when none has any, all are one dimension.
 */
#include "libfabmgr/route/grid/dimensions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"

#define WALLS_MAX 2048

struct walls {
    const struct fab_graph *g;
    uint32_t edges;
    uint32_t *edge;   /* [neighbours] the cable, both ways the same */
    uint32_t *set;    /* [edges] sets.h */
    uint32_t *row;    /* [edges] joined by triangles */
    bool *square;     /* [edges] is a side of one */
    uint32_t *seen;   /* [n] stamps: 1 + the switch at hand, and */
    uint32_t *first;  /* [n] the way by which it was first seen: index of nbr, from there */
    uint32_t *then;   /* [n] and on to here */
    uint32_t *beside; /* [n] stamps of neighbours */
    uint32_t count;   /* walls */
    uint32_t *wall;   /* [edges] or FAB_NONE */
    size_t words;
    uint64_t *cross; /* [count][words] */
    uint32_t *dim;   /* [count] sets.h */
};

static void fini(struct walls *w)
{
    free(w->edge);
    free(w->set);
    free(w->row);
    free(w->square);
    free(w->seen);
    free(w->first);
    free(w->then);
    free(w->beside);
    free(w->wall);
    free(w->cross);
    free(w->dim);
}

static int init(struct walls *w)
{
    size_t n = (size_t)w->g->n + 1, slots = (size_t)w->g->nbr_at[w->g->n] + 1;
    w->edge = calloc(slots, sizeof(*w->edge));
    w->set = calloc(slots, sizeof(*w->set));
    w->row = calloc(slots, sizeof(*w->row));
    w->square = calloc(slots, sizeof(*w->square));
    w->wall = calloc(slots, sizeof(*w->wall));
    w->seen = calloc(n, sizeof(*w->seen));
    w->first = calloc(n, sizeof(*w->first));
    w->then = calloc(n, sizeof(*w->then));
    w->beside = calloc(n, sizeof(*w->beside));
    return w->edge && w->set && w->row && w->square && w->wall && w->seen && w->first && w->then &&
                   w->beside
               ? FAB_OK
               : FAB_E_NOMEM;
}

/* ---- cables ---------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct fab_graph *g, uint32_t from, uint32_t to)
{
    uint32_t low = g->nbr_at[from], high = g->nbr_at[from + 1];
    while (low + 1 < high) {
        uint32_t mid = low + (high - low) / 2;
        if (g->nbr[mid] <= to)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void number_edges(struct walls *w)
{
    const struct fab_graph *g = w->g;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (g->nbr[i] < u)
                w->edge[i] = w->edge[slot_of(g, g->nbr[i], u)];
            else
                w->edge[i] = w->edges++;
        }
    }
    fab_sets_init(w->set, w->edges);
}

static void mark_beside(struct walls *w, uint32_t u)
{
    for (uint32_t i = w->g->nbr_at[u]; i < w->g->nbr_at[u + 1]; i++) {
        w->beside[w->g->nbr[i]] = u + 1;
        w->first[w->g->nbr[i]] = i;
    }
}

static void join_triangles(struct walls *w)
{
    const struct fab_graph *g = w->g;
    for (uint32_t u = 0; u < g->n; u++) {
        mark_beside(w, u);
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            uint32_t v = g->nbr[i];
            for (uint32_t k = g->nbr_at[v]; v > u && k < g->nbr_at[v + 1]; k++) {
                if (w->beside[g->nbr[k]] != u + 1)
                    continue;
                fab_sets_join(w->set, w->edge[i], w->edge[k]);
                fab_sets_join(w->set, w->edge[i], w->edge[w->first[g->nbr[k]]]);
            }
        }
    }
    for (uint32_t e = 0; e < w->edges; e++)
        w->row[e] = fab_sets_find(w->set, e);
}

/* ---- squares --------------------------------------------------------------------------------- */

/* Two ways from one corner to the opposite one: sides a, b and c, d. */
typedef void square_fn(struct walls *w, const uint32_t side[4]);

static void maybe_square(struct walls *w, uint32_t i, uint32_t k, square_fn *fn)
{
    uint32_t t = w->g->nbr[k];
    const uint32_t side[4] = {w->edge[w->first[t]], w->edge[w->then[t]], w->edge[i], w->edge[k]};
    if (w->row[side[0]] != w->row[side[2]] && w->row[side[1]] != w->row[side[3]])
        fn(w, side);
}

/* All from corner u to greater ones that are no neighbours of u. */
static void squares_at(struct walls *w, uint32_t u, square_fn *fn)
{
    const struct fab_graph *g = w->g;
    mark_beside(w, u);
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        uint32_t v = g->nbr[i];
        for (uint32_t k = g->nbr_at[v]; k < g->nbr_at[v + 1]; k++) {
            uint32_t t = g->nbr[k];
            if (t <= u || w->beside[t] == u + 1)
                continue;
            if (w->seen[t] == u + 1) {
                maybe_square(w, i, k, fn);
                continue;
            }
            w->seen[t] = u + 1;
            w->first[t] = i;
            w->then[t] = k;
        }
    }
}

static void each_square(struct walls *w, square_fn *fn)
{
    memset(w->seen, 0, w->g->n * sizeof(*w->seen));
    memset(w->beside, 0, w->g->n * sizeof(*w->beside));
    for (uint32_t u = 0; u < w->g->n; u++)
        squares_at(w, u, fn);
}

static void join_opposite(struct walls *w, const uint32_t side[4])
{
    fab_sets_join(w->set, side[0], side[3]);
    fab_sets_join(w->set, side[1], side[2]);
    for (unsigned i = 0; i < 4; i++)
        w->square[side[i]] = true;
}

static void note_crossing(struct walls *w, const uint32_t side[4])
{
    uint32_t a = w->wall[side[0]], b = w->wall[side[2]];
    if (a == b)
        return;
    fab_bits_set(w->cross + a * w->words, b);
    fab_bits_set(w->cross + b * w->words, a);
}

/* ---- walls ----------------------------------------------------------------------------------- */

/* Numbers the sets that have a square; false: more than make sense. */
static bool number_walls(struct walls *w)
{
    for (uint32_t e = 0; e < w->edges; e++) {
        w->wall[e] = FAB_NONE;
        if (w->square[e])
            w->square[fab_sets_find(w->set, e)] = true;
    }
    for (uint32_t e = 0; e < w->edges; e++) {
        uint32_t root = fab_sets_find(w->set, e);
        if (root == e && w->square[e])
            w->wall[e] = w->count++;
        w->wall[e] = w->wall[root];
    }
    return w->count <= WALLS_MAX;
}

static int cross_walls(struct walls *w)
{
    w->words = fab_bits_words(w->count);
    w->cross = calloc((size_t)w->count * w->words + 1, sizeof(*w->cross));
    w->dim = calloc((size_t)w->count + 1, sizeof(*w->dim));
    if (w->cross == NULL || w->dim == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < w->count; i++)
        w->dim[i] = i;
    each_square(w, note_crossing);
    return FAB_OK;
}

static bool much_alike(const struct walls *w, uint32_t a, uint32_t b)
{
    const uint64_t *x = w->cross + a * w->words, *y = w->cross + b * w->words;
    size_t common = 0;
    for (size_t i = 0; i < w->words; i++)
        common += (size_t)__builtin_popcountll(x[i] & y[i]);
    size_t of_a = fab_bits_count(x, w->count), of_b = fab_bits_count(y, w->count);
    return common * 2 > (of_a < of_b ? of_a : of_b);
}

static void join_walls_at(struct walls *w, uint32_t u)
{
    const struct fab_graph *g = w->g;
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        uint32_t a = w->wall[w->edge[i]];
        for (uint32_t k = i + 1; a != FAB_NONE && k < g->nbr_at[u + 1]; k++) {
            uint32_t b = w->wall[w->edge[k]];
            if (b == FAB_NONE || b == a || fab_bits_get(w->cross + a * w->words, b) ||
                fab_sets_find(w->dim, a) == fab_sets_find(w->dim, b) || !much_alike(w, a, b))
                continue;
            fab_sets_join(w->dim, a, b);
        }
    }
}

/* ---- dimensions ------------------------------------------------------------------------------ */

static int number_dims(struct walls *w, struct fab_dimensions *s, char *why, size_t why_len)
{
    uint32_t number[FAB_DIMENSIONS_MAX];
    for (uint32_t i = 0; i < w->count; i++) {
        if (fab_sets_find(w->dim, i) != i)
            continue;
        if (s->dims == FAB_DIMENSIONS_MAX) {
            snprintf(why, why_len, "no grid: more than %u dimensions", FAB_DIMENSIONS_MAX);
            return FAB_E_UNSUPPORTED;
        }
        number[s->dims++] = i;
    }
    for (uint32_t i = 0; i < w->g->nbr_at[w->g->n]; i++) {
        uint32_t wall = w->wall[w->edge[i]];
        s->dim[i] = FAB_DIMENSION_NONE;
        for (uint32_t d = 0; wall != FAB_NONE && d < s->dims; d++) {
            if (number[d] == fab_sets_find(w->dim, wall))
                s->dim[i] = (uint8_t)d;
        }
    }
    return FAB_OK;
}

static int find_dims(struct walls *w, struct fab_dimensions *s, char *why, size_t why_len)
{
    number_edges(w);
    join_triangles(w);
    each_square(w, join_opposite);
    if (!number_walls(w)) {
        snprintf(why, why_len, "no grid: cables run in more than %u directions", WALLS_MAX);
        return FAB_E_UNSUPPORTED;
    }
    s->dims = w->count == 0 && w->edges > 0;
    if (w->count == 0)
        return FAB_OK; /* one dimension */
    int status = cross_walls(w);
    if (status != FAB_OK)
        return status;
    for (uint32_t u = 0; u < w->g->n; u++)
        join_walls_at(w, u);
    return number_dims(w, s, why, why_len);
}

/* ---- what cannot be a grid, at a glance ------------------------------------------------------ */

static uint32_t most_neighbours(const struct fab_graph *g)
{
    uint32_t most = 0;
    for (uint32_t u = 1; u < g->n; u++) {
        if (g->nbr_at[u + 1] - g->nbr_at[u] > g->nbr_at[most + 1] - g->nbr_at[most])
            most = u;
    }
    return most;
}

/* Rows through u: its neighbours, joined where they are neighbours of each other. */
static void rows_at(const struct fab_graph *g, uint32_t u, uint32_t set[256])
{
    const uint32_t *nbr = g->nbr + g->nbr_at[u];
    uint32_t count = g->nbr_at[u + 1] - g->nbr_at[u];
    fab_sets_init(set, count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            if (g->nbr[slot_of(g, nbr[i], nbr[k])] == nbr[k])
                fab_sets_join(set, i, k);
        }
    }
}

/* A switch with so many neighbours is in a grid of at least so many places: rows of a clique have
 * one more than neighbours, two neighbours in a row that is none need 3. */
static bool too_crowded(const struct fab_graph *g, uint32_t u)
{
    uint32_t set[256], size[256] = {0}, singles = 0;
    uint64_t places = 1, limit = 2 * (uint64_t)g->n;
    uint32_t count = g->nbr_at[u + 1] - g->nbr_at[u];
    rows_at(g, u, set);
    for (uint32_t i = 0; i < count; i++)
        size[fab_sets_find(set, i)]++;
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
    struct walls w = {.g = g};
    uint32_t most = most_neighbours(g);
    if (g->n > 0 && too_crowded(g, most)) {
        snprintf(why, why_len, "no grid: switch %.64s has %u neighbours, too many for %u switches",
                 f->nodes[most].desc, g->nbr_at[most + 1] - g->nbr_at[most], g->n);
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
