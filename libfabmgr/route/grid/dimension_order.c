/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dimension-order routing. A packet travels its first dimension until that coordinate equals the
 * destination's, then the second, and so on. In a ring it takes the shorter direction. For opposite
 * positions the parity of the coordinates decides, so that both directions have equal loads.
 *
 * Packets pass failures as follows:
 *
 *   - If a ring lacks a link, it is a path, and packets take the longer direction.
 *   - If a clique lacks a link, the packet goes over a pivot: a switch that has links to all other
 *     switches of the row. Channels into pivots depend on channels out of pivots, but channels out
 *     of pivots never depend on channels into pivots.
 *   - If a switch on the path is missing, or a row has several parts, the packet goes as near to
 *     the gap as possible. There it turns early into the next dimension that it has to travel. If
 *     there is none, it turns into any later dimension. It passes the gap there and turns back. The
 *     turn back violates dimension order, so the hop after it has a VL of its own (torus.c).
 *
 * The next hop depends on the switch and the destination only, as forwarding tables require. This
 * is the behaviour of Torus-2QoS (OpenSM, doc/current-routing.txt), for more kinds of rows.
 */
#include "libfabmgr/route/grid/dimension_order.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* Returns the switch that differs from switch a only in dimension d, where its coordinate is `to`.
 * Returns FAB_NONE if there is no such switch, or if no link connects it with a. */
static uint32_t linked_at(const struct fab_dor *s, uint32_t a, uint32_t d, uint32_t to)
{
    uint32_t sw = s->grid->at[fab_route_grid_moved(s->grid, a, d, to)];
    return sw != FAB_NONE && fab_route_graph_linked(s->g, a, sw) ? sw : FAB_NONE;
}

static uint32_t step_from(const struct fab_dor *s, uint32_t a, uint32_t d, bool forward)
{
    const struct fab_grid_dim *dim = &s->grid->dim[d];
    uint32_t at = fab_route_grid_coordinate(s->grid, a, d);
    if (dim->kind == FAB_GRID_PATH && at == (forward ? dim->size - 1 : 0))
        return FAB_NONE;
    return linked_at(s, a, d, forward ? (at + 1) % dim->size : (at + dim->size - 1) % dim->size);
}

/* ---- distances within a row ------------------------------------------------------------------ */

static uint16_t reach(const struct fab_dor *s, uint32_t a, uint32_t d, bool forward)
{
    uint32_t steps = 0, at = a;
    for (; steps < s->grid->dim[d].size; steps++) {
        at = step_from(s, at, d, forward);
        if (at == FAB_NONE)
            break;
    }
    return (uint16_t)steps;
}

static uint32_t distance(const struct fab_dor *s, uint32_t from, uint32_t to, uint32_t d,
                         bool forward)
{
    uint32_t size = s->grid->dim[d].size;
    if (s->grid->dim[d].kind == FAB_GRID_PATH && (from < to) != forward)
        return FAB_NONE;
    return forward ? (to + size - from) % size : (from + size - to) % size;
}

static bool can_go(const struct fab_dor *s, uint32_t a, uint32_t d, bool forward, uint32_t steps)
{
    return steps <= (forward ? s->forward : s->backward)[(size_t)a * s->grid->dims + d];
}

/* Returns true if packets from switch a to the coordinate of b in dimension d travel forward (to
 * ascending coordinates) when no link is missing. */
static bool goes_forward(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(s->grid, a, d),
             to = fab_route_grid_coordinate(s->grid, b, d), sum = from;
    uint32_t forward = distance(s, from, to, d, true), backward = distance(s, from, to, d, false);
    if (forward != backward)
        return forward < backward;
    for (uint32_t e = 0; e < s->grid->dims; e++)
        sum += e != d ? fab_route_grid_coordinate(s->grid, b, e) : 0;
    return sum % 2 == 0;
}

bool fab_route_dor_crosses_dateline(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(s->grid, a, d),
             to = fab_route_grid_coordinate(s->grid, b, d);
    return from != to && (from < to) != goes_forward(s, a, b, d);
}

/* ---- paths within a row ---------------------------------------------------------------------- */

static uint32_t along_line(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(s->grid, a, d),
             to = fab_route_grid_coordinate(s->grid, b, d);
    bool forward = goes_forward(s, a, b, d);
    for (unsigned i = 0; i < 2; i++, forward = !forward) {
        uint32_t steps = distance(s, from, to, d, forward);
        if (steps != FAB_NONE && can_go(s, a, d, forward, steps))
            return step_from(s, a, d, forward);
    }
    return FAB_NONE;
}

/* Returns whether switch `a` has links to all other switches of its row in dimension d. */
static bool is_pivot(const struct fab_dor *s, uint32_t a, uint32_t d)
{
    for (uint32_t to = 0; to < s->grid->dim[d].size; to++) {
        uint32_t sw = s->grid->at[fab_route_grid_moved(s->grid, a, d, to)];
        if (sw != FAB_NONE && sw != a && !fab_route_graph_linked(s->g, a, sw))
            return false;
    }
    return true;
}

/* A packet at switch a must go around a missing link of its row in dimension d. Returns the next
 * switch, a pivot, which has links to all switches of the row. If there are several pivots, the
 * number of the destination LID selects one. FAB_NONE: the row has no pivot. */
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

/* Returns the next switch on the path from switch a that stays in its row in dimension d and ends
 * at the coordinate of b. FAB_NONE: there is no such path. */
static uint32_t in_row(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    if (s->grid->dim[d].kind != FAB_GRID_CLIQUE)
        return along_line(s, a, b, d);
    uint32_t to = fab_route_grid_coordinate(s->grid, b, d);
    uint32_t direct = linked_at(s, a, d, to);
    if (direct != FAB_NONE || s->grid->at[fab_route_grid_moved(s->grid, a, d, to)] == FAB_NONE)
        return direct;
    return by_pivot(s, a, d);
}

/* ---- paths around a gap ---------------------------------------------------------------------- */

/* The row of switch a in dimension d has a gap before the coordinate of b. Returns the next switch
 * towards this gap; FAB_NONE: a is next to the gap. */
static uint32_t approach(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    uint32_t from = fab_route_grid_coordinate(s->grid, a, d),
             to = fab_route_grid_coordinate(s->grid, b, d);
    bool forward = goes_forward(s, a, b, d);
    if (s->grid->dim[d].kind == FAB_GRID_CLIQUE)
        return FAB_NONE;
    for (unsigned i = 0; i < 2; i++, forward = !forward) {
        uint32_t steps = distance(s, from, to, d, forward);
        if (steps != FAB_NONE && steps > 0 && can_go(s, a, d, forward, steps - 1))
            return steps > 1 ? step_from(s, a, d, forward) : FAB_NONE;
    }
    return step_from(s, a, d, goes_forward(s, a, b, d));
}

/* Lets a packet to b leave dimension d at switch a, although it has not reached the coordinate of b
 * in d. Returns the next switch, in a later dimension in which a and b differ. Prefers a switch
 * from which a path in dimension d leads to the coordinate of b. FAB_NONE: there is no next switch.
 */
static uint32_t turn_early(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
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

/* Returns a neighbour of switch a in a dimension after d. From this neighbour, packets can reach
 * the coordinate of b within its row in dimension d. FAB_NONE: there is no such neighbour. */
static uint32_t detour(const struct fab_dor *s, uint32_t a, uint32_t b, uint32_t d)
{
    for (uint32_t r = s->grid->dims; r-- > s->rank[d] + 1;) {
        uint32_t e = s->order[r];
        for (uint32_t to = 0; to < s->grid->dim[e].size; to++) {
            uint32_t next = linked_at(s, a, e, to);
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
        next = turn_early(s, a, b, d);
    return next != FAB_NONE ? next : detour(s, a, b, d);
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Returns true if some row of dimension d is broken: within the row, some switch has no path to
 * another switch of the row. */
static bool is_broken(const struct fab_dor *s, uint32_t d)
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
    bool broken[FAB_GRID_DIMS];
    for (uint32_t d = 0; d < s->grid->dims; d++) {
        s->pivots |= needs_pivots(s, d);
        broken[d] = is_broken(s, d);
        if (broken[d])
            s->order[count++] = d;
    }
    for (uint32_t d = 0; d < s->grid->dims; d++) {
        if (!broken[d])
            s->order[count++] = d;
    }
    for (uint32_t r = 0; r < count; r++)
        s->rank[s->order[r]] = r;
}

int fab_route_dor_make(const struct fab_graph *g, const struct fab_grid *grid, struct fab_dor *ret)
{
    struct fab_dor s = {.g = g, .grid = grid};
    size_t size = (size_t)grid->n * grid->dims + 1;
    s.forward = calloc(size, sizeof(*s.forward));
    s.backward = calloc(size, sizeof(*s.backward));
    if (s.forward == NULL || s.backward == NULL) {
        fab_route_dor_fini(&s);
        return FAB_E_NOMEM;
    }
    for (uint32_t a = 0; a < grid->n; a++) {
        for (uint32_t d = 0; d < grid->dims; d++) {
            if (grid->dim[d].kind == FAB_GRID_CLIQUE)
                continue;
            s.forward[(size_t)a * grid->dims + d] = reach(&s, a, d, true);
            s.backward[(size_t)a * grid->dims + d] = reach(&s, a, d, false);
        }
    }
    set_order(&s);
    *ret = s;
    return FAB_OK;
}

void fab_route_dor_fini(struct fab_dor *s)
{
    free(s->forward);
    free(s->backward);
    memset(s, 0, sizeof(*s));
}
