/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the coordinates of the switches of a lattice (squares.h) by growth from one switch (the
 * seed). The growth uses only deductions that missing links and switches cannot make wrong:
 *
 *   - In a product of paths, rings of 5 or more switches, and pairs, two links at a switch have
 *     different dimensions if they are sides of one square. Opposite sides of a square are
 *     parallel: both lead in the same direction of the same dimension. A class consists of parallel
 *     arcs (an arc is one direction of a link). Missing links remove squares and divide classes,
 *     but never join classes that are not parallel.
 *   - At a switch, links that are in no common square are the two links of one dimension, if the
 *     fabric is undamaged there. A missing link removes squares, so a damaged switch can only seem
 *     to have fewer dimensions. The seed is a switch with the most dimensions.
 *   - Each class has a set of possible directions. A direction is impossible if it would move a
 *     switch to a position that another switch has, or if a crossing class runs in the same
 *     dimension.
 *   - The position of a switch is known if only one possible position is beside the positions of
 *     all its placed neighbours.
 *
 * A ring is first unrolled. If a placed switch would get a second position that differs in one
 * dimension only, the difference is the size of the rings, and the growth begins again with
 * positions modulo this size.
 *
 * If nothing more can be deduced, several positions are consistent with the links that are left,
 * for example for a switch with only one link at the border of a mesh. The growth then guesses: it
 * chooses the position with which the fewest links are missing, and continues. If this leads to a
 * contradiction, it begins again with the next best choice.
 */
#include "libfabmgr/route/grid/growth.h"

#include <string.h>

#include "libfabmgr/base/sets.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/grid/squares.h"

#define RING_LEAST 5
#define COORDINATE_MAX 8192
/* Maximum number of steps of the whole search. A torus 16x16x16 takes about a million. */
#define WORK_MAX UINT64_C(100000000)
#define TRIES_MAX 100
#define GUESSES_MAX 64

/* Bit 2d is the ascending direction of dimension d, and bit 2d + 1 the descending direction. */
#define ASCENDING UINT32_C(0x55555555)

struct growth {
    struct fab_arena *arena;
    const struct fab_graph *g;
    uint32_t dims, seed;
    uint32_t ring[FAB_DIMENSIONS_MAX];
    struct fab_squares squares;
    uint32_t *possible; /* [neighbours] for the root of each class in squares.parallel: the possible
                         * directions of the class */
    bool *placed;       /* [switches] whether the switch has a position */
    int16_t *at;        /* [switches][dims] position of each placed switch */
    /* [slots] hash table of the switches by position; 0: free slot, otherwise 1 + switch id */
    uint32_t *slot;
    uint32_t slots; /* number of elements of slot[], a power of two */
    int16_t low[FAB_DIMENSIONS_MAX], high[FAB_DIMENSIONS_MAX];
    /* [guesses] for each guess of the present try, the number of the option that it takes (0 is the
     * best one), and the number of options */
    uint8_t pick[GUESSES_MAX], options[GUESSES_MAX];
    uint32_t guesses;
    uint64_t work;
    bool failed, again, changed;
};

/* ---- positions ------------------------------------------------------------------------------- */

static int16_t *position(const struct growth *w, uint32_t sw)
{
    return w->at + (size_t)sw * w->dims;
}

static int32_t wrapped(const struct growth *w, uint32_t d, int32_t x)
{
    int32_t size = (int32_t)w->ring[d];
    return size == 0 ? x : (x % size + size) % size;
}

/* Sets to[] to the position beside position `at` in a direction. */
static void beside(const struct growth *w, const int16_t *at, unsigned direction, int16_t *to)
{
    unsigned d = direction / 2;
    memcpy(to, at, w->dims * sizeof(*to));
    to[d] = (int16_t)wrapped(w, d, at[d] + (direction % 2 ? -1 : 1));
}

static bool same(const struct growth *w, const int16_t *a, const int16_t *b)
{
    return memcmp(a, b, w->dims * sizeof(*a)) == 0;
}

static uint32_t hash(const struct growth *w, const int16_t *at)
{
    uint32_t h = 2166136261u;
    for (uint32_t d = 0; d < w->dims; d++)
        h = (h ^ (uint16_t)at[d]) * 16777619u;
    return (h ^ h >> 15) & (w->slots - 1);
}

/* Returns the switch at a position; FAB_NONE: there is none. */
static uint32_t occupant(const struct growth *w, const int16_t *at)
{
    uint32_t i = hash(w, at);
    while (w->slot[i] != 0 && !same(w, position(w, w->slot[i] - 1), at))
        i = (i + 1) & (w->slots - 1);
    return w->slot[i] != 0 ? w->slot[i] - 1 : FAB_NONE;
}

static void place(struct growth *w, uint32_t sw, const int16_t *at)
{
    uint32_t i = hash(w, at);
    memcpy(position(w, sw), at, w->dims * sizeof(*at));
    while (w->slot[i] != 0)
        i = (i + 1) & (w->slots - 1);
    w->slot[i] = sw + 1;
    w->placed[sw] = w->changed = true;
    for (uint32_t d = 0; d < w->dims; d++) {
        w->low[d] = at[d] < w->low[d] ? at[d] : w->low[d];
        w->high[d] = at[d] > w->high[d] ? at[d] : w->high[d];
        w->failed |= at[d] > COORDINATE_MAX || at[d] < -COORDINATE_MAX;
    }
}

/* ---- classes of parallel arcs ---------------------------------------------------------------- */

static uint32_t turned(uint32_t directions)
{
    return (directions & ASCENDING) << 1 | (directions >> 1 & ASCENDING);
}

static bool is_one(uint32_t directions)
{
    return (directions & (directions - 1)) == 0;
}

static uint32_t possible(const struct growth *w, uint32_t arc)
{
    return w->possible[fab_base_sets_find(w->squares.parallel, arc)];
}

/* Restricts the class of an arc to the given directions (a bitset), and the class of the reverse
 * arc to the opposite directions. */
static void narrow(struct growth *w, uint32_t arc, uint32_t directions)
{
    uint32_t root = fab_base_sets_find(w->squares.parallel, arc);
    uint32_t left = w->possible[root] & directions;
    if (left == w->possible[root])
        return;
    w->possible[root] = left;
    w->possible[fab_base_sets_find(w->squares.parallel, w->squares.reverse[arc])] = turned(left);
    w->failed |= left == 0;
    w->changed = true;
}

/* ---- the seed -------------------------------------------------------------------------------- */

/* Returns the number of dimensions of a switch. Two links that are mates (fab_route_squares_mates)
 * are in one dimension; a link without a mate is alone in its dimension. count: number of links. */
static uint32_t count_dims(uint32_t count, const unsigned mate[FAB_LATTICE_LINKS])
{
    uint32_t dims = count;
    for (uint32_t i = 0; i < count; i++)
        dims -= mate[i] < i;
    return dims;
}

/* Chooses the switch with the most dimensions, among those at which no link has several mates.
 * Among several such switches, chooses the switch with the most links. */
static void choose_seed(struct growth *w)
{
    unsigned mate[FAB_LATTICE_LINKS];
    uint32_t links = 0, next = 0;
    for (uint32_t u = 0; u < w->g->n; u++) {
        uint32_t count = w->g->nbr_at[u + 1] - w->g->nbr_at[u];
        if (!fab_route_squares_mates(&w->squares, w->g, u, &next, mate))
            continue;
        uint32_t dims = count_dims(count, mate);
        if (dims < w->dims || (dims == w->dims && count <= links))
            continue;
        w->dims = dims;
        w->seed = u;
        links = count;
    }
}

static void begin_at_seed(struct growth *w)
{
    const struct fab_graph *g = w->g;
    uint32_t first = g->nbr_at[w->seed], count = g->nbr_at[w->seed + 1] - first, d = 0, next = 0;
    int16_t origin[FAB_DIMENSIONS_MAX] = {0};
    unsigned mate[FAB_LATTICE_LINKS];
    while (w->squares.corners > next && w->squares.corner[next].a < first)
        next++;
    fab_route_squares_mates(&w->squares, w->g, w->seed, &next, mate);
    place(w, w->seed, origin);
    for (uint32_t i = 0; i < count; i++) {
        if (mate[i] < i)
            continue;
        narrow(w, first + i, UINT32_C(1) << 2 * d);
        if (mate[i] < FAB_LATTICE_LINKS)
            narrow(w, first + mate[i], UINT32_C(2) << 2 * d);
        d++;
    }
}

/* ---- deductions ------------------------------------------------------------------------------ */

/* Returns the size of a ring on which `a` and `b` can be two positions of one switch; 0: there is
 * no such ring. The positions must differ in exactly one dimension, whose rings have no known size
 * yet, and by at least RING_LEAST. Sets *dim to this dimension. */
static uint32_t ring_of(const struct growth *w, const int16_t *a, const int16_t *b, uint32_t *dim)
{
    uint32_t differ = 0, last = 0;
    for (uint32_t d = 0; d < w->dims; d++) {
        differ += a[d] != b[d];
        last = a[d] != b[d] ? d : last;
    }
    int32_t size = a[last] > b[last] ? a[last] - b[last] : b[last] - a[last];
    *dim = last;
    return differ == 1 && size >= RING_LEAST && w->ring[last] == 0 ? (uint32_t)size : 0;
}

/* Called if switch v has a position, but the growth leads to position `to` for v, too. If a ring
 * explains this, stores the size of the ring, and the growth begins again; otherwise the growth
 * fails. */
static void find_ring(struct growth *w, uint32_t v, const int16_t *to)
{
    uint32_t dim, size = ring_of(w, position(w, v), to, &dim);
    if (size == 0) {
        w->failed = true;
        return;
    }
    w->ring[dim] = size;
    w->again = true;
}

/* Narrows the directions of an arc from switch u, which has a position, to a switch v: excludes the
 * directions in which the arc would lead to the position of another switch. If only one direction
 * is left, places v there. */
static void look_along(struct growth *w, uint32_t u, uint32_t arc)
{
    uint32_t v = w->g->nbr[arc], left = possible(w, arc);
    int16_t to[FAB_DIMENSIONS_MAX];
    for (unsigned i = 0; i < 2 * w->dims; i++) {
        if ((left >> i & 1) == 0)
            continue;
        beside(w, position(w, u), i, to);
        uint32_t other = occupant(w, to);
        if (other == v)
            left = UINT32_C(1) << i;
        else if (other != FAB_NONE)
            left &= ~(UINT32_C(1) << i);
    }
    narrow(w, arc, left);
    if (!is_one(left) || left == 0 || w->failed)
        return;
    beside(w, position(w, u), (unsigned)__builtin_ctz(left), to);
    if (!w->placed[v])
        place(w, v, to);
    else if (!same(w, position(w, v), to))
        find_ring(w, v, to);
}

static uint32_t both_ways(uint32_t directions)
{
    return directions | turned(directions);
}

/* Compares the two sides of a square that meet in corner `c`. If the dimension of one side is
 * known, excludes this dimension for the other side. */
static void look_at_corner(struct growth *w, const struct fab_corner *c)
{
    uint32_t a = possible(w, c->a), b = possible(w, c->b);
    if (both_ways(a) == both_ways(a & (~a + 1)))
        narrow(w, c->b, ~both_ways(a));
    if (both_ways(b) == both_ways(b & (~b + 1)))
        narrow(w, c->a, ~both_ways(b));
}

/* Returns true if the positions of the neighbours of switch v permit position `to` for v. The
 * position must be free. */
static bool fits_at(const struct growth *w, uint32_t v, const int16_t *to)
{
    const struct fab_graph *g = w->g;
    int16_t at[FAB_DIMENSIONS_MAX];
    for (uint32_t i = g->nbr_at[v]; i < g->nbr_at[v + 1]; i++) {
        uint32_t directions = possible(w, i);
        bool fits = !w->placed[g->nbr[i]];
        for (unsigned k = 0; k < 2 * w->dims && !fits; k++) {
            if ((directions >> k & 1) == 0)
                continue;
            beside(w, to, k, at);
            fits = same(w, at, position(w, g->nbr[i]));
        }
        if (!fits)
            return false;
    }
    return true;
}

/* Returns the number of links that would be missing if switch v were at position `to`. Adds
 * FAB_LATTICE_LINKS for each dimension in which this position is outside the range of the positions
 * in use. */
static uint32_t badness(const struct growth *w, uint32_t v, const int16_t *to)
{
    uint32_t missing = 0;
    int16_t at[FAB_DIMENSIONS_MAX];
    for (unsigned k = 0; k < 2 * w->dims; k++) {
        beside(w, to, k, at);
        uint32_t other = occupant(w, at);
        missing += other != FAB_NONE && !fab_route_graph_linked(w->g, v, other);
    }
    for (uint32_t d = 0; d < w->dims; d++)
        missing += to[d] < w->low[d] || to[d] > w->high[d] ? FAB_LATTICE_LINKS : 0;
    return missing;
}

/* The choice of a position for switch `sw`. count: number of possible positions. at: the best of
 * the positions that were not tried before. key: the key of this position; a lower key is better;
 * FAB_NONE: no such position is left. */
struct choice {
    uint32_t sw, count, key;
    int16_t at[FAB_DIMENSIONS_MAX];
};

/* Finds the possible positions of switch v, which has no position yet, and the best of those with a
 * greater key than `after`. Sets count to FAB_NONE if no neighbour of v has a position. */
static struct choice choices_of(struct growth *w, uint32_t v, uint32_t after)
{
    const struct fab_graph *g = w->g;
    struct choice ret = {.sw = v, .count = FAB_NONE, .key = FAB_NONE};
    int16_t to[FAB_DIMENSIONS_MAX];
    uint32_t i = g->nbr_at[v];
    while (i < g->nbr_at[v + 1] && !w->placed[g->nbr[i]])
        i++;
    if (i == g->nbr_at[v + 1])
        return ret;
    uint32_t directions = possible(w, w->squares.reverse[i]);
    ret.count = 0;
    for (unsigned k = 0; k < 2 * w->dims; k++) {
        beside(w, position(w, g->nbr[i]), k, to);
        if ((directions >> k & 1) == 0 || occupant(w, to) != FAB_NONE || !fits_at(w, v, to))
            continue;
        uint32_t key = (1 + badness(w, v, to)) * FAB_LATTICE_LINKS + k;
        ret.count++;
        if (key >= ret.key || key <= after)
            continue;
        ret.key = key;
        memcpy(ret.at, to, w->dims * sizeof(*to));
    }
    w->work += (uint64_t)FAB_LATTICE_LINKS * w->dims;
    return ret;
}

/* Two placed neighbours of a switch can allow different positions for the switch. This struct
 * describes the ring that explains the difference. */
struct closing {
    uint32_t dim, size; /* dimension of the ring, and its size; size 0: no ring found yet */
    bool several;
};

static void compare_neighbours(const struct growth *w, uint32_t a, uint32_t b, struct closing *c)
{
    int16_t of_a[FAB_DIMENSIONS_MAX], of_b[FAB_DIMENSIONS_MAX];
    for (unsigned i = 0; i < 2 * w->dims; i++) {
        if ((possible(w, w->squares.reverse[a]) >> i & 1) == 0)
            continue;
        beside(w, position(w, w->g->nbr[a]), i, of_a);
        for (unsigned k = 0; k < 2 * w->dims; k++) {
            if ((possible(w, w->squares.reverse[b]) >> k & 1) == 0)
                continue;
            beside(w, position(w, w->g->nbr[b]), k, of_b);
            uint32_t dim, size = ring_of(w, of_a, of_b, &dim);
            if (size == 0)
                continue;
            c->several |= c->size != 0 && (c->size != size || c->dim != dim);
            c->size = size;
            c->dim = dim;
        }
    }
}

/* Called if no position of switch v is beside all its placed neighbours, which means that v closes
 * a ring. If only one size of the ring is possible, stores this size, and the growth begins
 * again. */
static void close_ring(struct growth *w, uint32_t v)
{
    const struct fab_graph *g = w->g;
    struct closing c = {0};
    for (uint32_t i = g->nbr_at[v]; i < g->nbr_at[v + 1]; i++)
        for (uint32_t k = i + 1; k < g->nbr_at[v + 1]; k++)
            if (w->placed[g->nbr[i]] && w->placed[g->nbr[k]])
                compare_neighbours(w, i, k, &c);
    if (c.size == 0 || c.several)
        return;
    w->ring[c.dim] = c.size;
    w->again = true;
}

/* Makes one pass of deductions over all corners, arcs and switches. */
static void deduce(struct growth *w)
{
    const struct fab_graph *g = w->g;
    w->changed = false;
    for (uint32_t i = 0; i < w->squares.corners && !w->failed; i++)
        look_at_corner(w, w->squares.corner + i);
    for (uint32_t u = 0; u < g->n; u++)
        for (uint32_t i = g->nbr_at[u];
             w->placed[u] && i < g->nbr_at[u + 1] && !w->failed && !w->again; i++)
            look_along(w, u, i);
    for (uint32_t v = 0; v < g->n && !w->failed && !w->again; v++) {
        if (w->placed[v])
            continue;
        struct choice c = choices_of(w, v, 0);
        if (c.count == 0)
            close_ring(w, v);
        if (c.count == 1)
            place(w, v, c.at);
    }
    w->work += w->squares.corners + (uint64_t)g->nbr_at[g->n] * w->dims;
    w->failed |= w->work > WORK_MAX;
}

/* Called if nothing more can be deduced. Takes the switch whose best position lacks the fewest
 * links, and places this switch at the best position. If earlier tries have failed with this
 * position, places the switch at the next best one. */
static void guess(struct growth *w)
{
    struct choice best = {.key = FAB_NONE};
    for (uint32_t v = 0; v < w->g->n; v++) {
        if (w->placed[v])
            continue;
        struct choice c = choices_of(w, v, 0);
        if (c.key < best.key)
            best = c;
    }
    if (best.key == FAB_NONE || w->guesses == GUESSES_MAX)
        return;
    w->options[w->guesses] = (uint8_t)best.count;
    for (unsigned i = 0; i < w->pick[w->guesses]; i++)
        best = choices_of(w, best.sw, best.key);
    w->guesses++;
    if (best.key != FAB_NONE)
        place(w, best.sw, best.at);
}

static bool all_placed(const struct growth *w)
{
    for (uint32_t u = 0; u < w->g->n; u++)
        if (!w->placed[u])
            return false;
    return true;
}

/* Places all switches, beginning with none. Returns early if it finds the size of rings, or if it
 * fails. */
static void grow(struct growth *w)
{
    uint32_t arcs = w->g->nbr_at[w->g->n];
    memset(w->placed, 0, w->g->n * sizeof(*w->placed));
    memset(w->slot, 0, w->slots * sizeof(*w->slot));
    memset(w->low, 0, sizeof(w->low));
    memset(w->high, 0, sizeof(w->high));
    for (uint32_t i = 0; i < arcs; i++)
        w->possible[i] = (UINT32_C(1) << 2 * w->dims) - 1;
    w->again = false;
    w->guesses = 0;
    begin_at_seed(w);
    while (w->changed && !w->failed && !w->again) {
        deduce(w);
        if (!w->changed && !w->failed && !w->again)
            guess(w);
    }
    w->failed |= !w->again && !all_placed(w);
}

/* Prepares the next try: the last guess with an untried option takes this option. Returns false if
 * no guess has an untried option. */
static bool next_try(struct growth *w)
{
    uint32_t last = w->guesses;
    while (last > 0 && w->pick[last - 1] + 1 >= w->options[last - 1])
        last--;
    if (last == 0)
        return false;
    w->pick[last - 1]++;
    memset(w->pick + last, 0, GUESSES_MAX - last);
    memset(w->ring, 0, sizeof(w->ring));
    return true;
}

static int try_all(struct growth *w)
{
    for (unsigned i = 0; i < TRIES_MAX && w->work <= WORK_MAX; i++) {
        w->failed = false;
        do {
            grow(w);
        } while (w->again && !w->failed);
        if (!w->failed)
            return FAB_OK;
        if (!next_try(w))
            break;
    }
    return FAB_E_UNSUPPORTED;
}

static int allocate(struct growth *w)
{
    const struct fab_graph *g = w->g;
    size_t n = (size_t)g->n + 1, arcs = (size_t)g->nbr_at[g->n] + 1;
    for (w->slots = 64; w->slots < 2 * n; w->slots *= 2)
        continue;
    w->possible = fab_base_arena_alloc(w->arena, arcs, sizeof(*w->possible));
    w->placed = fab_base_arena_alloc(w->arena, n, sizeof(*w->placed));
    w->slot = fab_base_arena_alloc(w->arena, w->slots, sizeof(*w->slot));
    return w->arena->failed ? FAB_E_NOMEM : FAB_OK;
}

int fab_route_growth_find(struct fab_arena *arena, const struct fab_graph *g,
                          struct fab_growth *ret)
{
    struct growth w = {.arena = arena, .g = g};
    int status = fab_route_squares_find(arena, g, &w.squares);
    if (status == FAB_OK)
        status = allocate(&w);
    if (status != FAB_OK)
        return status;
    choose_seed(&w);
    if (w.dims == 0 || w.dims > FAB_DIMENSIONS_MAX)
        return FAB_E_UNSUPPORTED;
    w.at = fab_base_arena_alloc(arena, (size_t)g->n * w.dims + 1, sizeof(*w.at));
    if (w.at == NULL)
        return FAB_E_NOMEM;
    if (try_all(&w) != FAB_OK)
        return FAB_E_UNSUPPORTED;
    ret->dims = w.dims;
    memcpy(ret->ring, w.ring, sizeof(w.ring));
    ret->at = w.at;
    return FAB_OK;
}
