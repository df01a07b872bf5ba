/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dimension order: a packet travels its first dimension until it is right, then the second, and so
 * on. In a ring it goes the shorter way; opposite places are reached by either, by the parity of
 * coordinates, so that both carry as much.
 *
 * What is missing:
 *
 *   - a cable of a ring: the ring is a path now, and what went over the cable goes the long way;
 *   - a cable of a clique: a packet goes by a pivot, a switch of the row that has all its cables.
 *     Cables into pivots wait for cables out of them, and never the other way round;
 *   - a switch that was a corner on the way, and rows in pieces: as near to the gap as can be, the
 *     packet turns early into the next dimension that it has to travel (or, if there is none, into
 *     any later one), goes past the gap there, and turns back: one turn that dimension order does
 *     not know, after which the hop has a lane of its own (torus.c).
 *
 * All of it depends on the switch and the destination only, as forwarding tables must. This is the
 * behaviour of Torus-2QoS (OpenSM, doc/current-routing.txt), for more kinds of rows.
 */
#include "libfabmgr/route/grid/dimension_order.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* The switch at coordinate `to` of a's row, if a cable leads there; or FAB_NONE. */
static uint32_t beside(const struct fab_dor *s, uint32_t a, uint32_t d, uint32_t to)
{
    uint32_t sw = s->grid->at[fab_route_grid_moved(s->grid, a, d, to)];
    return sw != FAB_NONE && fab_route_graph_linked(s->g, a, sw) ? sw : FAB_NONE;
}

static uint32_t step_from(const struct fab_dor *s, uint32_t a, uint32_t d, bool forth)
{
    const struct fab_grid_dim *dim = &s->grid->dim[d];
    uint32_t at = fab_route_grid_coordinate(s->grid, a, d);
    if (dim->kind == FAB_GRID_PATH && at == (forth ? dim->size - 1 : 0))
        return FAB_NONE;
    return beside(s, a, d, forth ? (at + 1) % dim->size : (at + dim->size - 1) % dim->size);
}

/* ---- how far ----------------------------------------------------------------------------------
 */

static uint16_t reach(const struct fab_dor *s, uint32_t a, uint32_t d, bool forth)
{
    uint32_t steps = 0, at = a;
    for (; steps < s->grid->dim[d].size; steps++) {
        at = step_from(s, at, d, forth);
        if (at == FAB_NONE)
            break;
    }
    return (uint16_t)steps;
}

static uint32_t distance(const struct fab_dor *s, uint32_t from, uint32_t to, uint32_t d,
                         bool forth)
{
    uint32_t size = s->grid->dim[d].size;
    if (s->grid->dim[d].kind == FAB_GRID_PATH && (from < to) != forth)
        return FAB_NONE;
    return forth ? (to + size - from) % size : (from + size - to) % size;
}

static bool can_go(const struct fab_dor *s, uint32_t a, uint32_t d, bool forth, uint32_t steps)
{
    return steps <= (forth ? s->forth : s->back)[(size_t)a * s->grid->dims + d];
}

/* Which way from a to b in dimension d, when nothing is missing. */
static bool goes_forth(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(s->grid, a, d),
             to = fab_route_grid_coordinate(s->grid, b, d), sum = from;
    uint32_t forth = distance(s, from, to, d, true), back = distance(s, from, to, d, false);
    if (forth != back)
        return forth < back;
    for (uint32_t e = 0; e < s->grid->dims; e++)
        sum += e != d ? fab_route_grid_coordinate(s->grid, b, e) : 0;
    return sum % 2 == 0;
}

bool fab_route_dor_crosses_dateline(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(s->grid, a, d),
             to = fab_route_grid_coordinate(s->grid, b, d);
    return from != to && (from < to) != goes_forth(s, a, b, d);
}

/* ---- within a row ---------------------------------------------------------------------------- */

static uint32_t along_line(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(s->grid, a, d),
             to = fab_route_grid_coordinate(s->grid, b, d);
    bool forth = goes_forth(s, a, b, d);
    for (unsigned i = 0; i < 2; i++, forth = !forth) {
        uint32_t steps = distance(s, from, to, d, forth);
        if (steps != FAB_NONE && can_go(s, a, d, forth, steps))
            return step_from(s, a, d, forth);
    }
    return FAB_NONE;
}

/* Has all cables to the others of its row. */
static bool is_pivot(const struct fab_dor *s, uint32_t a, uint32_t d)
{
    for (uint32_t to = 0; to < s->grid->dim[d].size; to++) {
        uint32_t sw = s->grid->at[fab_route_grid_moved(s->grid, a, d, to)];
        if (sw != FAB_NONE && sw != a && !fab_route_graph_linked(s->g, a, sw))
            return false;
    }
    return true;
}

/* The first pivot of the row from a place on that differs from destination to destination. */
static uint32_t by_pivot(const struct fab_dor *s, uint32_t a, uint32_t d)
{
    uint32_t size = s->grid->dim[d].size;
    uint32_t start = fab_route_grid_coordinate(s->grid, a, d) + s->number;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t sw = s->grid->at[fab_route_grid_moved(s->grid, a, d, (start + i) % size)];
        if (sw != FAB_NONE && sw != a && is_pivot(s, sw, d))
            return sw;
    }
    return FAB_NONE;
}

/* The next switch from a, so that coordinate d becomes that of b; FAB_NONE: the row is no way. */
static uint32_t in_row(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    if (s->grid->dim[d].kind != FAB_GRID_CLIQUE)
        return along_line(s, a, b, d);
    uint32_t to = fab_route_grid_coordinate(s->grid, b, d);
    uint32_t direct = beside(s, a, d, to);
    if (direct != FAB_NONE || s->grid->at[fab_route_grid_moved(s->grid, a, d, to)] == FAB_NONE)
        return direct;
    return by_pivot(s, a, d);
}

/* ---- past a gap ------------------------------------------------------------------------------ */

/* On in the row towards a gap; FAB_NONE: a stands before it. */
static uint32_t approach(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(s->grid, a, d),
             to = fab_route_grid_coordinate(s->grid, b, d);
    bool forth = goes_forth(s, a, b, d);
    if (s->grid->dim[d].kind == FAB_GRID_CLIQUE)
        return FAB_NONE;
    for (unsigned i = 0; i < 2; i++, forth = !forth) {
        uint32_t steps = distance(s, from, to, d, forth);
        if (steps != FAB_NONE && steps > 0 && can_go(s, a, d, forth, steps - 1))
            return steps > 1 ? step_from(s, a, d, forth) : FAB_NONE;
    }
    return step_from(s, a, d, goes_forth(s, a, b, d));
}

/* Into a later dimension: one that has to be travelled anyway, from a switch that can go on in d if
 * there is one. */
static uint32_t turn(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t second = FAB_NONE;
    for (uint32_t r = s->rank[d] + 1; r < s->grid->dims; r++) {
        uint32_t e = s->order[r];
        if (fab_route_grid_coordinate(s->grid, a, e) == fab_route_grid_coordinate(s->grid, b, e))
            continue;
        uint32_t next = in_row(s, a, b, e);
        if (next != FAB_NONE && in_row(s, next, b, d) != FAB_NONE)
            return next;
        second = second == FAB_NONE ? next : second;
    }
    return second;
}

/* Into any later dimension, to whoever can go on in d. */
static uint32_t digress(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    for (uint32_t r = s->grid->dims; r-- > s->rank[d] + 1;) {
        uint32_t e = s->order[r];
        for (uint32_t to = 0; to < s->grid->dim[e].size; to++) {
            uint32_t next = beside(s, a, e, to);
            if (next != FAB_NONE && in_row(s, next, b, d) != FAB_NONE)
                return next;
        }
    }
    return FAB_NONE;
}

uint32_t fab_route_dor_next(const struct fab_dor *s, uint32_t a, uint32_t b)
{
    uint32_t r = 0;
    while (fab_route_grid_coordinate(s->grid, a, s->order[r]) ==
           fab_route_grid_coordinate(s->grid, b, s->order[r]))
        r++;
    uint32_t d = s->order[r];
    uint32_t next = in_row(s, a, b, d);
    if (next == FAB_NONE)
        next = approach(s, a, b, d);
    if (next == FAB_NONE)
        next = turn(s, a, b, d);
    return next != FAB_NONE ? next : digress(s, a, b, d);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Some switch cannot reach another one of its row within the row. */
static bool in_pieces(const struct fab_dor *s, uint32_t d)
{
    for (uint32_t a = 0; a < s->grid->n; a++) {
        for (uint32_t to = 0; to < s->grid->dim[d].size; to++) {
            uint32_t b = s->grid->at[fab_route_grid_moved(s->grid, a, d, to)];
            if (b != FAB_NONE && b != a && in_row(s, a, b, d) == FAB_NONE)
                return true;
        }
    }
    return false;
}

static bool needs_pivots(const struct fab_dor *s, uint32_t d)
{
    for (uint32_t a = 0; a < s->grid->n; a++) {
        if (s->grid->dim[d].kind == FAB_GRID_CLIQUE && !is_pivot(s, a, d))
            return true;
    }
    return false;
}

static void set_order(struct fab_dor *s)
{
    uint32_t count = 0;
    bool pieces[FAB_GRID_DIMS];
    for (uint32_t d = 0; d < s->grid->dims; d++) {
        s->pivots |= needs_pivots(s, d);
        pieces[d] = in_pieces(s, d);
        if (pieces[d])
            s->order[count++] = d;
    }
    for (uint32_t d = 0; d < s->grid->dims; d++) {
        if (!pieces[d])
            s->order[count++] = d;
    }
    for (uint32_t r = 0; r < count; r++)
        s->rank[s->order[r]] = r;
}

int fab_route_dor_make(const struct fab_graph *g, const struct fab_grid *grid, struct fab_dor *ret)
{
    struct fab_dor s = {.g = g, .grid = grid};
    size_t size = (size_t)grid->n * grid->dims + 1;
    s.forth = calloc(size, sizeof(*s.forth));
    s.back = calloc(size, sizeof(*s.back));
    if (s.forth == NULL || s.back == NULL) {
        fab_route_dor_fini(&s);
        return FAB_E_NOMEM;
    }
    for (uint32_t a = 0; a < grid->n; a++) {
        for (uint32_t d = 0; d < grid->dims; d++) {
            if (grid->dim[d].kind == FAB_GRID_CLIQUE)
                continue;
            s.forth[(size_t)a * grid->dims + d] = reach(&s, a, d, true);
            s.back[(size_t)a * grid->dims + d] = reach(&s, a, d, false);
        }
    }
    set_order(&s);
    *ret = s;
    return FAB_OK;
}

void fab_route_dor_fini(struct fab_dor *s)
{
    free(s->forth);
    free(s->back);
    memset(s, 0, sizeof(*s));
}
