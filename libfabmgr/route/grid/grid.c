/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the coordinates of switches from the dimensions of links (dimensions.c).
 *
 * A slice of a dimension is the set of all switches with the same coordinate in this dimension. The
 * links of all other dimensions connect the switches of a slice, so the slices are found as
 * connected components. If each slice is regarded as one node, the slices of a dimension form a
 * ring, a path or a clique, which gives them their coordinates. Then no two switches may have the
 * same coordinates in all dimensions, and each link must join neighbours. This check proves that
 * the topology was recognised correctly, even if links were missing. For some combinations of
 * coordinates, the switch may be missing.
 *
 * The anchor is the switch with the lowest GUID; it has id 0. Its coordinates are 0 (in a path: in
 * the lower half). A row in a dimension consists of the switches whose coordinates are equal in all
 * other dimensions. On each row of the anchor, the other switch with the lowest GUID determines the
 * direction of the dimension and its place in the order of the dimensions. So a fault changes no
 * coordinates of other switches, unless it removes the anchor or one of these switches.
 */
#include "libfabmgr/route/grid/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"

#define SIZE_MAX_SLICES 4096
/* Links that are in no square get a dimension by trial, if there are at most this many of them, and
 * at most this many dimensions. In grids of more dimensions, each link is in several squares. */
#define UNKNOWN_MAX 64
#define UNKNOWN_DIMS_MAX 3
#define UNKNOWN_PASSES 2

struct slices {
    uint32_t size;
    uint32_t *of; /* [switches] slice of each switch */
    /* [size][words] for each slice (switches with the same coordinate in this dimension), a bitset
     * of the other slices to which links of this dimension lead */
    uint64_t *linked;
    size_t words;
    /* number of pairs of slices with a link between them */
    uint32_t links;
    uint32_t *number; /* [size] coordinate of each slice */
    /* [size] the slices in the order of their coordinates */
    uint32_t *sequence;
    enum fab_grid_kind kind;
    /* lowest id of the switches that differ from the anchor (switch 0) only in this dimension;
     * FAB_NONE: there is none */
    uint32_t lowest;
};
struct recognition {
    struct fab_arena arena; /* memory of the arrays of slices */
    const struct fab_fabric *f;
    const struct fab_graph *g;
    struct fab_dimensions *s;
    struct slices of[FAB_GRID_DIMS];
    char *why;
    size_t why_len;
};

static const char *name(const struct recognition *v, uint32_t sw)
{
    return v->f->nodes[sw].desc;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static bool runs_in(const struct recognition *v, uint32_t slot, uint32_t d)
{
    return v->s->dim[slot] == d;
}

static void join_slices(const struct recognition *v, uint32_t d, uint32_t *set)
{
    const struct fab_graph *g = v->g;
    fab_base_sets_init(set, g->n);
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (!runs_in(v, i, d) && v->s->dim[i] != FAB_DIMENSION_NONE)
                fab_base_sets_join(set, u, g->nbr[i]);
        }
    }
}

static void join_rows(const struct recognition *v, uint32_t d, uint32_t *row)
{
    const struct fab_graph *g = v->g;
    fab_base_sets_init(row, g->n);
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (runs_in(v, i, d))
                fab_base_sets_join(row, u, g->nbr[i]);
        }
    }
}

/* Finds the neighbours of switch u in dimension d that are in no slice with a neighbour of switch w
 * in dimension d. Sets *ret to the last of them, and returns their number. */
static uint32_t unmatched(const struct recognition *v, uint32_t d, uint32_t *set, uint32_t u,
                          uint32_t w, uint32_t *ret)
{
    const struct fab_graph *g = v->g;
    uint32_t count = 0;
    for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
        bool found = !runs_in(v, i, d);
        uint32_t slice = fab_base_sets_find(set, g->nbr[i]);
        for (uint32_t k = g->nbr_at[w]; k < g->nbr_at[w + 1] && !found; k++)
            found = runs_in(v, k, d) && fab_base_sets_find(set, g->nbr[k]) == slice;
        if (found)
            continue;
        *ret = g->nbr[i];
        count++;
    }
    return count;
}

/* Returns true if a switch of the slice of a and a switch of the slice of b are in one row, so that
 * their coordinates in the dimension differ. `mark` is zeroed scratch memory, and zeroed again. */
static bool share_row(const struct recognition *v, uint32_t *set, uint32_t *row, uint32_t a,
                      uint32_t b, bool *mark)
{
    bool shared = false;
    uint32_t of_a = fab_base_sets_find(set, a), of_b = fab_base_sets_find(set, b);
    for (uint32_t u = 0; u < v->g->n; u++)
        mark[fab_base_sets_find(row, u)] |= fab_base_sets_find(set, u) == of_a;
    for (uint32_t u = 0; u < v->g->n; u++)
        shared |= fab_base_sets_find(set, u) == of_b && mark[fab_base_sets_find(row, u)];
    memset(mark, 0, v->g->n * sizeof(*mark));
    return shared;
}

/* Switches u and w, which a link of another dimension joins, have equal neighbours in dimension d,
 * slice by slice. If one neighbour of each is left over, both belong to one slice. Joins their
 * parts, and returns true, if they were separate. */
static bool join_parts_at(const struct recognition *v, uint32_t d, uint32_t *set, uint32_t *row,
                          bool *mark, uint32_t u, uint32_t w)
{
    uint32_t a = 0, b = 0;
    if (unmatched(v, d, set, u, w, &a) != 1 || unmatched(v, d, set, w, u, &b) != 1 ||
        share_row(v, set, row, a, b, mark))
        return false;
    fab_base_sets_join(set, a, b);
    return true;
}

static bool join_parts_once(const struct recognition *v, uint32_t d, uint32_t *set, uint32_t *row,
                            bool *mark)
{
    const struct fab_graph *g = v->g;
    bool joined = false;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (g->nbr[i] > u && !runs_in(v, i, d) && v->s->dim[i] != FAB_DIMENSION_NONE)
                joined |= join_parts_at(v, d, set, row, mark, u, g->nbr[i]);
        }
    }
    return joined;
}

/* Joins the parts of slices that missing links have separated. */
static int join_parts(const struct recognition *v, uint32_t d, uint32_t *set)
{
    uint32_t *row = calloc((size_t)v->g->n + 1, sizeof(*row));
    bool *mark = calloc((size_t)v->g->n + 1, sizeof(*mark));
    int status = row != NULL && mark != NULL ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK) {
        join_rows(v, d, row);
        while (join_parts_once(v, d, set, row, mark))
            continue;
    }
    free(row);
    free(mark);
    return status;
}

/* Numbers the slices (the sets of switches with the same coordinate in a dimension) in the order of
 * their lowest switch ids. The root of each disjoint set is its switch with the lowest id. So the
 * loop reaches the root first and numbers the slice there. */
static void number_slices(const struct recognition *v, struct slices *s, uint32_t *set)
{
    for (uint32_t u = 0; u < v->g->n; u++) {
        uint32_t root = fab_base_sets_find(set, u);
        s->of[u] = root == u ? s->size++ : s->of[root];
    }
}

static int link_slices(const struct recognition *v, struct slices *s, uint32_t d)
{
    const struct fab_graph *g = v->g;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            uint32_t a = s->of[u], b = s->of[g->nbr[i]];
            if (!runs_in(v, i, d))
                continue;
            if (a == b) {
                snprintf(v->why, v->why_len, "no grid: the link from %.64s to %.64s does not fit",
                         name(v, u), name(v, g->nbr[i]));
                return FAB_E_UNSUPPORTED;
            }
            s->links += fab_base_bits_add(s->linked + a * s->words, b);
        }
    }
    s->links /= 2;
    return FAB_OK;
}

static int make_slices(struct recognition *v, uint32_t d)
{
    struct slices *s = &v->of[d];
    uint32_t *set = calloc((size_t)v->g->n + 1, sizeof(*set));
    s->of = fab_base_arena_alloc(&v->arena, (size_t)v->g->n + 1, sizeof(*s->of));
    int status = set != NULL && s->of != NULL ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK) {
        join_slices(v, d, set);
        status = join_parts(v, d, set);
    }
    if (status == FAB_OK)
        number_slices(v, s, set);
    free(set);
    if (status != FAB_OK)
        return status;
    if (s->size > SIZE_MAX_SLICES) {
        snprintf(v->why, v->why_len, "no grid: more than %u switches along one dimension",
                 SIZE_MAX_SLICES);
        return FAB_E_UNSUPPORTED;
    }
    s->words = fab_base_bits_words(s->size);
    s->linked = fab_base_arena_alloc(&v->arena, s->size * s->words + 1, sizeof(*s->linked));
    s->number = fab_base_arena_alloc(&v->arena, (size_t)s->size + 1, sizeof(*s->number));
    s->sequence = fab_base_arena_alloc(&v->arena, (size_t)s->size + 1, sizeof(*s->sequence));
    if (s->size == 0 || v->arena.failed)
        return FAB_E_NOMEM;
    return link_slices(v, s, d);
}

/* ---- links in no square ---------------------------------------------------------------------- */

struct trial {
    const struct recognition *v;
    uint32_t *set;  /* [switches] scratch: the slices of one dimension */
    uint64_t *key;  /* [switches] the slices of each switch, of all dimensions */
    uint32_t count; /* number of slices of all dimensions; FAB_NONE: this is no grid */
};

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds the slices of dimension d to t->count and t->key. */
static void add_slices(struct trial *t, uint32_t d)
{
    const struct fab_graph *g = t->v->g;
    for (uint32_t u = 0; u < g->n && t->count != FAB_NONE; u++) {
        uint32_t slice = fab_base_sets_find(t->set, u);
        t->count += slice == u;
        t->key[u] = t->key[u] * g->n + slice;
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (runs_in(t->v, i, d) && fab_base_sets_find(t->set, g->nbr[i]) == slice)
                t->count = FAB_NONE;
        }
    }
}

/* Counts the slices of all dimensions. In a grid, no link joins two switches of one slice of its
 * dimension, and no two switches are in the same slices. */
static int count_slices(struct trial *t)
{
    uint32_t n = t->v->g->n;
    int status = FAB_OK;
    t->count = 0;
    memset(t->key, 0, n * sizeof(*t->key));
    for (uint32_t d = 0; d < t->v->s->dims && t->count != FAB_NONE && status == FAB_OK; d++) {
        join_slices(t->v, d, t->set);
        status = join_parts(t->v, d, t->set);
        add_slices(t, d);
    }
    qsort(t->key, n, sizeof(*t->key), by_key);
    for (uint32_t u = 1; u < n; u++) {
        if (t->key[u] == t->key[u - 1])
            t->count = FAB_NONE;
    }
    return status;
}

/* Gives a link the dimension with which there are the fewest slices. */
static int choose_dim(struct trial *t, uint32_t u, uint32_t slot)
{
    const struct recognition *v = t->v;
    uint8_t best = v->s->dim[slot];
    uint32_t least = t->count;
    int status = FAB_OK;
    for (uint8_t d = 0; d < v->s->dims && status == FAB_OK; d++) {
        fab_route_dimensions_set(v->g, v->s, u, v->g->nbr[slot], d);
        status = count_slices(t);
        best = t->count < least ? d : best;
        least = t->count < least ? t->count : least;
    }
    t->count = least;
    fab_route_dimensions_set(v->g, v->s, u, v->g->nbr[slot], best);
    return status;
}

/* A missing link leaves links beside it that are in no square, most of them at the border of a mesh
 * of two dimensions. With a wrong dimension, slices fall into parts, or links do not fit. So finds
 * the dimensions with which there are the fewest slices. */
static int choose_dims(struct trial *t)
{
    const struct fab_graph *g = t->v->g;
    uint32_t tail[UNKNOWN_MAX], slot[UNKNOWN_MAX], unknown = 0;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (g->nbr[i] < u || t->v->s->dim[i] != FAB_DIMENSION_NONE)
                continue;
            if (unknown == UNKNOWN_MAX)
                return FAB_OK;
            tail[unknown] = u;
            slot[unknown++] = i;
        }
    }
    int status = unknown > 0 ? count_slices(t) : FAB_OK;
    for (uint32_t i = 0; i < UNKNOWN_PASSES * unknown && t->count != FAB_NONE && status == FAB_OK;
         i++)
        status = choose_dim(t, tail[i % unknown], slot[i % unknown]);
    return status;
}

static int find_unknown(const struct recognition *v)
{
    struct trial t = {.v = v};
    size_t n = (size_t)v->g->n + 1;
    if (v->s->dims < 2 || v->s->dims > UNKNOWN_DIMS_MAX)
        return FAB_OK;
    t.set = calloc(n, sizeof(*t.set));
    t.key = calloc(n, sizeof(*t.key));
    int status = t.set != NULL && t.key != NULL ? choose_dims(&t) : FAB_E_NOMEM;
    free(t.set);
    free(t.key);
    return status;
}

/* ---- the kind of a dimension ----------------------------------------------------------------- */

static uint32_t degree(const struct slices *s, uint32_t i)
{
    return (uint32_t)fab_base_bits_count(s->linked + i * s->words, s->size);
}

/* Follows the links between the slices, which form a ring or a chain, from slice `first`. Stores
 * the slices in sequence[] in the order of the visits. If links lead to two unvisited slices, goes
 * to the one with the lower index. Returns true if it has visited all slices. */
static bool walk(struct slices *s, uint32_t first)
{
    /* bit i of linked[] for slice i can mark visited slices, because no link leads from a slice to
     * itself */
    uint64_t *visited = s->linked;
    uint32_t at = first, count = 0;
    for (;;) {
        size_t next = 0;
        fab_base_bits_set(visited + at * s->words, at);
        s->sequence[count++] = at;
        for (; next < s->size; next++) {
            next = fab_base_bits_next(visited + at * s->words, s->size, next);
            if (next == s->size || !fab_base_bits_get(visited + next * s->words, next))
                break;
        }
        if (next >= s->size)
            return count == s->size;
        at = (uint32_t)next;
    }
}

static bool is_clique(const struct slices *s)
{
    for (uint32_t i = 0; i < s->size; i++) {
        if (degree(s, i) * 2 < s->size)
            return false;
    }
    return true;
}

static bool classify(struct slices *s)
{
    uint32_t most = 0, first = 0;
    for (uint32_t i = s->size; i-- > 0;) {
        uint32_t neighbours = degree(s, i);
        most = neighbours > most ? neighbours : most;
        first = neighbours == 1 ? i : first;
    }
    if (s->size > 2 && most <= 2 && s->links + 1 == s->size) {
        s->kind = FAB_GRID_PATH;
        return walk(s, first);
    }
    if (s->size > 3 && most <= 2 && s->links == s->size) {
        s->kind = FAB_GRID_RING;
        return walk(s, s->of[0]);
    }
    s->kind = FAB_GRID_CLIQUE;
    for (uint32_t i = 0; i < s->size; i++)
        s->sequence[i] = i;
    return is_clique(s);
}

static int classify_dim(struct recognition *v, uint32_t d)
{
    struct slices *s = &v->of[d];
    if (classify(s))
        return FAB_OK;
    uint32_t odd = 0;
    while (odd + 1 < v->g->n && degree(s, s->of[odd]) <= 2)
        odd++;
    snprintf(v->why, v->why_len,
             "no grid: %u slices across one dimension form no ring, path or clique, "
             "for example at %.64s",
             s->size, name(v, odd));
    return FAB_E_UNSUPPORTED;
}

/* ---- coordinates that do not depend on faults elsewhere -------------------------------------- */

/* Returns the only dimension in which the coordinates of `sw` differ from those of the anchor
 * (switch 0). FAB_NONE: they differ in several dimensions, or `sw` is the anchor. */
static uint32_t row_of(const struct recognition *v, uint32_t sw)
{
    uint32_t row = FAB_NONE;
    for (uint32_t d = 0; d < v->s->dims; d++) {
        if (v->of[d].of[sw] == v->of[d].of[0])
            continue;
        if (row != FAB_NONE)
            return FAB_NONE;
        row = d;
    }
    return row;
}

static void reverse(struct slices *s, uint32_t from)
{
    for (uint32_t i = from, k = s->size - 1; i < k; i++, k--) {
        uint32_t swap = s->sequence[i];
        s->sequence[i] = s->sequence[k];
        s->sequence[k] = swap;
    }
}

static uint32_t position(const struct slices *s, uint32_t slice)
{
    uint32_t i = 0;
    while (s->sequence[i] != slice)
        i++;
    return i;
}

/* Chooses the direction in which the coordinates of a dimension ascend, so that they do not depend
 * on faults elsewhere. `anchor` is the slice of switch 0, and `other` the slice of a switch that
 * differs from switch 0 only in this dimension. In a ring, the coordinate of `other` must be at
 * most half the size of the ring. Returns false if it is exactly half, because both directions meet
 * this condition then. In a path, the anchor must be in the lower half; if it is in the middle,
 * `other` must be in the lower half. */
static bool choose_direction(struct slices *s, uint32_t anchor, uint32_t other)
{
    uint32_t from = position(s, anchor), to = position(s, other);
    if (s->kind == FAB_GRID_RING) {
        if (2 * to > s->size)
            reverse(s, 1);
        return 2 * to != s->size;
    }
    if (2 * from + 1 == s->size ? to > from : 2 * from + 1 > s->size)
        reverse(s, 0);
    return true;
}

static void number_all(struct recognition *v)
{
    bool settled[FAB_GRID_DIMS] = {false};
    for (uint32_t d = 0; d < v->s->dims; d++)
        v->of[d].lowest = FAB_NONE;
    for (uint32_t sw = 1; sw < v->g->n; sw++) {
        uint32_t d = row_of(v, sw);
        if (d == FAB_NONE)
            continue;
        struct slices *s = &v->of[d];
        if (s->lowest == FAB_NONE)
            s->lowest = sw;
        if (!settled[d] && s->kind != FAB_GRID_CLIQUE)
            settled[d] = choose_direction(s, s->of[0], s->of[sw]);
    }
    for (uint32_t d = 0; d < v->s->dims; d++) {
        for (uint32_t i = 0; i < v->of[d].size; i++)
            v->of[d].number[v->of[d].sequence[i]] = i;
    }
}

static void order_dims(const struct recognition *v, uint32_t order[FAB_GRID_DIMS])
{
    for (uint32_t d = 0; d < v->s->dims; d++) {
        uint32_t i = d;
        for (; i > 0 && v->of[order[i - 1]].lowest > v->of[d].lowest; i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
}

/* ---- positions ------------------------------------------------------------------------------- */

static int allocate_positions(const struct recognition *v, const uint32_t *order,
                              struct fab_grid *grid)
{
    uint64_t places = 1;
    grid->dims = v->s->dims;
    for (uint32_t d = 0; d < grid->dims && places <= 2 * (uint64_t)grid->n; d++) {
        const struct slices *s = &v->of[order[d]];
        grid->dim[d] = (struct fab_grid_dim){s->kind, s->size, (uint32_t)places};
        places *= s->size;
    }
    if (places < grid->n || places > 2 * (uint64_t)grid->n) {
        snprintf(v->why, v->why_len, "no grid: its dimensions do not match %u switches", grid->n);
        return FAB_E_UNSUPPORTED;
    }
    grid->places = (uint32_t)places;
    grid->place = calloc((size_t)grid->n + 1, sizeof(*grid->place));
    grid->at = malloc(((size_t)grid->places + 1) * sizeof(*grid->at));
    if (grid->place == NULL || grid->at == NULL)
        return FAB_E_NOMEM;
    memset(grid->at, 0xff, ((size_t)grid->places + 1) * sizeof(*grid->at));
    return FAB_OK;
}

static int find_positions(const struct recognition *v, const uint32_t *order, struct fab_grid *grid)
{
    for (uint32_t sw = 0; sw < grid->n; sw++) {
        uint32_t place = 0;
        for (uint32_t d = 0; d < grid->dims; d++) {
            const struct slices *s = &v->of[order[d]];
            place += s->number[s->of[sw]] * grid->dim[d].step;
        }
        if (grid->at[place] != FAB_NONE) {
            snprintf(v->why, v->why_len, "no grid: %.64s and %.64s would have the same coordinates",
                     name(v, grid->at[place]), name(v, sw));
            return FAB_E_UNSUPPORTED;
        }
        grid->place[sw] = place;
        grid->at[place] = sw;
    }
    return FAB_OK;
}

uint32_t fab_route_grid_differ(const struct fab_grid *grid, uint32_t a, uint32_t b)
{
    uint32_t d = 0;
    while (d < grid->dims &&
           fab_route_grid_coordinate(grid, a, d) == fab_route_grid_coordinate(grid, b, d))
        d++;
    return d;
}

static bool are_neighbours(const struct fab_grid *grid, uint32_t a, uint32_t b)
{
    uint32_t d = fab_route_grid_differ(grid, a, b);
    uint32_t x = fab_route_grid_coordinate(grid, a, d), y = fab_route_grid_coordinate(grid, b, d),
             size = grid->dim[d].size;
    if (fab_route_grid_moved(grid, a, d, y) != grid->place[b])
        return false;
    if (grid->dim[d].kind == FAB_GRID_CLIQUE || x + 1 == y || y + 1 == x)
        return true;
    return grid->dim[d].kind == FAB_GRID_RING && x + y + 1 == size && (x == 0 || y == 0);
}

static int check_links(const struct recognition *v, const struct fab_grid *grid)
{
    const struct fab_graph *g = v->g;
    for (uint32_t u = 0; u < g->n; u++) {
        for (uint32_t i = g->nbr_at[u]; i < g->nbr_at[u + 1]; i++) {
            if (are_neighbours(grid, u, g->nbr[i]))
                continue;
            snprintf(v->why, v->why_len,
                     "no grid: the link from %.64s to %.64s joins switches that are "
                     "no neighbours",
                     name(v, u), name(v, g->nbr[i]));
            return FAB_E_UNSUPPORTED;
        }
    }
    return FAB_OK;
}

static int make_grid(struct recognition *v, struct fab_grid *grid)
{
    uint32_t order[FAB_GRID_DIMS];
    int status = FAB_OK;
    for (uint32_t d = 0; d < v->s->dims && status == FAB_OK; d++)
        status = make_slices(v, d);
    for (uint32_t d = 0; d < v->s->dims && status == FAB_OK; d++)
        status = classify_dim(v, d);
    if (status != FAB_OK)
        return status;
    number_all(v);
    order_dims(v, order);
    status = allocate_positions(v, order, grid);
    if (status == FAB_OK)
        status = find_positions(v, order, grid);
    return status == FAB_OK ? check_links(v, grid) : status;
}

static int check_whole(const struct fab_fabric *f, const struct fab_graph *g, char *why,
                       size_t why_len)
{
    for (uint32_t u = 0; u < g->n; u++) {
        if (g->component[u] == 0)
            continue;
        snprintf(why, why_len, "no grid: no path from %.64s to %.64s", f->nodes[0].desc,
                 f->nodes[u].desc);
        return FAB_E_UNSUPPORTED;
    }
    if (g->n > 1)
        return FAB_OK;
    snprintf(why, why_len, "no grid: %s", g->n == 0 ? "no switch" : "one switch");
    return FAB_E_UNSUPPORTED;
}

int fab_route_grid_find(const struct fab_fabric *f, const struct fab_graph *g, struct fab_grid *ret,
                        char *why, size_t why_len)
{
    struct fab_grid grid = {.n = g->n};
    struct fab_dimensions dimensions;
    int status = check_whole(f, g, why, why_len);
    if (status == FAB_OK)
        status = fab_route_dimensions_find(f, g, &dimensions, why, why_len);
    if (status != FAB_OK)
        return status;
    struct recognition v = {.f = f, .g = g, .s = &dimensions, .why = why, .why_len = why_len};
    status = find_unknown(&v);
    if (status == FAB_OK)
        status = make_grid(&v, &grid);
    fab_base_arena_fini(&v.arena);
    fab_route_dimensions_fini(&dimensions);
    if (status == FAB_OK)
        *ret = grid;
    else
        fab_route_grid_fini(&grid);
    return status;
}

void fab_route_grid_fini(struct fab_grid *grid)
{
    free(grid->place);
    free(grid->at);
    memset(grid, 0, sizeof(*grid));
}

static const char *kind_text(const struct fab_grid *grid)
{
    bool kinds[3] = {false};
    uint32_t widest = 0;
    for (uint32_t d = 0; d < grid->dims; d++) {
        kinds[grid->dim[d].kind] = true;
        if (grid->dim[d].kind == FAB_GRID_CLIQUE && grid->dim[d].size > widest)
            widest = grid->dim[d].size;
    }
    if (kinds[FAB_GRID_RING])
        return "torus";
    if (kinds[FAB_GRID_PATH])
        return "mesh";
    return widest > 3 ? "HyperX" : widest == 3 ? "torus" : "hypercube";
}

void fab_route_grid_text(const struct fab_grid *grid, char *text, size_t len)
{
    size_t at = 0;
    for (uint32_t d = 0; d < grid->dims && at < len; d++) {
        int wrote = snprintf(text + at, len - at, "%s%u", d > 0 ? "x" : "", grid->dim[d].size);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    if (at < len)
        snprintf(text + at, len - at, " %s", kind_text(grid));
}
