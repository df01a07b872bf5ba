/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the coordinates of switches. First tries the method of growth.c, which starts at one
 * switch. If that method cannot handle the topology, for example because it has cliques, this file
 * computes the coordinates from the dimensions of the links (dimensions.c), as follows.
 *
 * A slice of a dimension is the set of all switches with the same coordinate in this dimension. The
 * links of all other dimensions connect the switches of a slice. So without the links of this
 * dimension, each slice is a connected component. The links of this dimension join the slices to a
 * ring, a path or a clique; the position of a slice in it is the coordinate of its switches. The
 * file then checks that no two switches have the same coordinates in all dimensions, and that each
 * link joins neighbours. This check proves that the topology was recognised correctly, even if
 * links are missing. Switches may be missing, too; some combinations of coordinates then have no
 * switch.
 *
 * The anchor is the switch with the lowest GUID; it has id 0. Its coordinate is 0 in dimensions
 * that are rings or cliques, and in the lower half in dimensions that are paths. A row in a
 * dimension consists of the switches whose coordinates are equal in all other dimensions. In each
 * dimension, the row of the anchor has one switch with the second lowest GUID (the anchor has the
 * lowest). This switch determines in which direction the coordinates of the dimension ascend, and
 * where the dimension stands in the order of the dimensions. The slices of a clique are numbered in
 * the order of their lowest GUIDs. So a fault changes coordinates of other switches only if it
 * removes the anchor, one of these switches, or the switch with the lowest GUID in a slice of a
 * clique.
 */
#include "libfabmgr/route/grid/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/grid/growth.h"

#define SIZE_MAX_SLICES 4096
/* if a switch has more unmatched neighbours than this (see unmatched()), join_parts_at() joins
 * nothing */
#define UNMATCHED_MAX 2u

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
    return v->f->nodes[sw].name;
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

/* Finds the unmatched neighbours of switch u in dimension d: those whose slice contains no
 * neighbour of switch w in dimension d. Stores the first UNMATCHED_MAX of them in ret[], and
 * returns how many there are. */
static uint32_t unmatched(const struct recognition *v, uint32_t d, uint32_t *set, uint32_t u,
                          uint32_t w, uint32_t ret[UNMATCHED_MAX])
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
        if (count < UNMATCHED_MAX)
            ret[count] = g->nbr[i];
        count++;
    }
    return count;
}

/* Returns true if some row has a switch of the slice of a and a switch of the slice of b. Then
 * these are different slices: their coordinates differ in the dimension of the row. mark[] is
 * scratch memory; it must be zero on entry, and is zero on return. */
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

/* Called for each link between two switches u and w whose dimension is not d. In a complete grid,
 * each neighbour of u in dimension d is in one slice with a neighbour of w in dimension d. A
 * missing link can divide this slice into two parts; then both neighbours are unmatched. If
 * switches of both parts are in one row, the parts belong to different slices (share_row). If there
 * is exactly one pair of unmatched neighbours whose parts can belong to one slice, joins these
 * parts and returns true. */
static bool join_parts_at(const struct recognition *v, uint32_t d, uint32_t *set, uint32_t *row,
                          bool *mark, uint32_t u, uint32_t w)
{
    uint32_t a[UNMATCHED_MAX], b[UNMATCHED_MAX], pairs = 0, first = 0, second = 0;
    uint32_t of_u = unmatched(v, d, set, u, w, a), of_w = unmatched(v, d, set, w, u, b);
    if (of_u == 0 || of_w == 0 || of_u > UNMATCHED_MAX || of_w > UNMATCHED_MAX)
        return false;
    for (uint32_t i = 0; i < of_u; i++)
        for (uint32_t k = 0; k < of_w; k++) {
            if (share_row(v, set, row, a[i], b[k], mark))
                continue;
            first = a[i];
            second = b[k];
            pairs++;
        }
    if (pairs != 1)
        return false;
    fab_base_sets_join(set, first, second);
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

/* Joins the parts of slices that are separate only because links are missing. */
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
    /* Bit i of linked[] for slice i itself has no other use, because no link leads from a slice to
     * itself. Here it tells that slice i was visited. */
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

/* Returns the dimension in which the coordinates of `sw` differ from the coordinates of the anchor
 * (switch 0). FAB_NONE: the coordinates differ in several dimensions, or `sw` is the anchor. */
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

/* Gives each switch its position in the grid, from the slices of all dimensions and their order. */
static int make_positions(struct recognition *v, struct fab_grid *grid)
{
    uint32_t order[FAB_GRID_DIMS];
    number_all(v);
    order_dims(v, order);
    int status = allocate_positions(v, order, grid);
    if (status == FAB_OK)
        status = find_positions(v, order, grid);
    return status == FAB_OK ? check_links(v, grid) : status;
}

static int make_grid(struct recognition *v, struct fab_grid *grid)
{
    int status = FAB_OK;
    for (uint32_t d = 0; d < v->s->dims && status == FAB_OK; d++)
        status = make_slices(v, d);
    for (uint32_t d = 0; d < v->s->dims && status == FAB_OK; d++)
        status = classify_dim(v, d);
    return status == FAB_OK ? make_positions(v, grid) : status;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* Makes the slices of dimension d from the coordinates that the growth found. The anchor has
 * coordinate 0 in rings and pairs, as in slices that are found from links. */
static int slices_of_growth(struct recognition *v, const struct fab_growth *growth, uint32_t d)
{
    struct slices *s = &v->of[d];
    int32_t low = growth->at[d], high = low, ring = (int32_t)growth->ring[d];
    for (uint32_t u = 0; u < v->g->n; u++) {
        int32_t x = growth->at[(size_t)u * growth->dims + d];
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    s->size = ring > 0 ? (uint32_t)ring : (uint32_t)(high - low + 1);
    s->kind = ring > 0 ? FAB_GRID_RING : s->size > 2 ? FAB_GRID_PATH : FAB_GRID_CLIQUE;
    s->of = fab_base_arena_alloc(&v->arena, (size_t)v->g->n + 1, sizeof(*s->of));
    s->number = fab_base_arena_alloc(&v->arena, (size_t)s->size + 1, sizeof(*s->number));
    s->sequence = fab_base_arena_alloc(&v->arena, (size_t)s->size + 1, sizeof(*s->sequence));
    if (v->arena.failed)
        return FAB_E_NOMEM;
    int32_t origin = s->kind == FAB_GRID_PATH ? low : growth->at[d], size = (int32_t)s->size;
    for (uint32_t u = 0; u < v->g->n; u++)
        s->of[u] = (uint32_t)((growth->at[(size_t)u * growth->dims + d] - origin + size) % size);
    for (uint32_t i = 0; i < s->size; i++)
        s->sequence[i] = i;
    return s->size > 1 ? FAB_OK : FAB_E_UNSUPPORTED;
}

static int make_grid_by_growth(struct recognition *v, struct fab_grid *grid)
{
    struct fab_growth growth;
    int status = fab_route_growth_find(&v->arena, v->g, &growth);
    v->s->dims = status == FAB_OK ? growth.dims : 0;
    for (uint32_t d = 0; d < v->s->dims && status == FAB_OK; d++)
        status = slices_of_growth(v, &growth, d);
    return status == FAB_OK ? make_positions(v, grid) : status;
}

/* ---- all together ---------------------------------------------------------------------------- */

static int check_whole(const struct fab_fabric *f, const struct fab_graph *g, char *why,
                       size_t why_len)
{
    for (uint32_t u = 0; u < g->n; u++) {
        if (g->component[u] == 0)
            continue;
        snprintf(why, why_len, "no grid: no path from %.64s to %.64s", f->nodes[0].name,
                 f->nodes[u].name);
        return FAB_E_UNSUPPORTED;
    }
    if (g->n > 1)
        return FAB_OK;
    snprintf(why, why_len, "no grid: %s", g->n == 0 ? "no switch" : "one switch");
    return FAB_E_UNSUPPORTED;
}

/* Finds the coordinates by the dimensions of links. */
static int find_by_slices(struct recognition *v, struct fab_grid *grid)
{
    int status = fab_route_dimensions_find(v->f, v->g, v->s, v->why, v->why_len);
    return status == FAB_OK ? make_grid(v, grid) : status;
}

int fab_route_grid_find(const struct fab_fabric *f, const struct fab_graph *g, struct fab_grid *ret,
                        char *why, size_t why_len)
{
    static int (*const find[])(struct recognition *, struct fab_grid *) = {make_grid_by_growth,
                                                                           find_by_slices};
    struct fab_grid grid = {.n = g->n};
    int status = check_whole(f, g, why, why_len);
    if (status != FAB_OK)
        return status;
    status = FAB_E_UNSUPPORTED;
    for (unsigned i = 0; i < 2 && status == FAB_E_UNSUPPORTED; i++) {
        struct fab_dimensions dimensions = {.dims = 0};
        struct recognition v = {.f = f, .g = g, .s = &dimensions, .why = why, .why_len = why_len};
        fab_route_grid_fini(&grid);
        grid.n = g->n;
        status = find[i](&v, &grid);
        fab_base_arena_fini(&v.arena);
        fab_route_dimensions_fini(&dimensions);
    }
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
