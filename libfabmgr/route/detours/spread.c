/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spreads the load of detours over more links. The detours around a gap first lead over the
 * neighbouring rows, so that the links beside the gap carry up to twice as much as others.
 *
 * A link is busy if its load is near the greatest load. If packets of a tree use a busy link, the
 * switch at the link, or a switch up to HOPS_BEFORE hops before it, may send to another neighbour
 * instead, whose path does not lead back to this switch. Such a change is made if it lowers the sum
 * of the costs of all links, and if its dependencies close no cycle. The cost of a link grows with
 * the sixth power of its load.
 */
#include "libfabmgr/route/detours/tree.h"

#include <string.h>

/* A link with more than BUSY / 16 of the greatest load is busy. */
#define BUSY 14
/* loads are scaled so that the greatest load is SCALE, before their sixth power is taken */
#define SCALE 4096u
/* Only switches from which packets reach a busy link within about HOPS_BEFORE hops may change their
 * next hop to relieve this link. At most SWITCHES of them are considered. */
#define HOPS_BEFORE 16
#define SWITCHES 256
/* maximum number of steps of the searches for cycles of one change */
#define STEPS 2000

/* ---- costs ----------------------------------------------------------------------------------- */

/* Returns the cost of a link with this load: SCALE^6 / 2^24 at the greatest load, plus a part in
 * proportion to the load, so that longer paths cost more even if their links have small loads.
 * Loads above twice the greatest load count as twice this load: then the costs of 200 links fit
 * into 62 bits. */
static uint64_t cost_of(const struct fab_detour_search *x, uint32_t arc, uint64_t load)
{
    uint64_t part = load * SCALE / (x->greatest * x->width[arc]);
    part = part < 2 * SCALE ? part : 2 * SCALE;
    uint64_t square = part * part >> 8;
    return square * square * square + (part << 34);
}

/* The arc `onward` leaves a switch u. Returns the first switch at which the path over `onward`
 * meets the present path of u, whose switches are marked in on_path[]. Returns u if the path over
 * `onward` leads back to u. */
static uint32_t meet(const struct fab_detour_search *x, uint32_t onward)
{
    uint32_t s = x->head[onward];
    while (!x->on_path[s])
        s = x->head[x->arc[s]];
    return s;
}

/* Returns by how much the sum of the costs grows if the packets of switch u take the arc `onward`
 * instead of arc[u]. The new path meets the present one at switch `end`. */
static int64_t change_of(const struct fab_detour_search *x, uint32_t u, uint32_t onward,
                         uint32_t end)
{
    uint64_t load = x->flow[u] * x->weight, more = 0, less = 0;
    for (uint32_t arc = onward;; arc = x->arc[x->head[arc]]) {
        more += cost_of(x, arc, x->load[arc] + load) - cost_of(x, arc, x->load[arc]);
        if (x->head[arc] == end)
            break;
    }
    for (uint32_t s = u; s != end; s = x->head[x->arc[s]]) {
        uint32_t arc = x->arc[s];
        less += cost_of(x, arc, x->load[arc]) - cost_of(x, arc, x->load[arc] - load);
    }
    return (int64_t)(more - less);
}

/* ---- one busy link --------------------------------------------------------------------------- */

static bool is_busy(const struct fab_detour_search *x, uint32_t arc)
{
    return x->load[arc] * 16 > x->greatest * x->width[arc] * BUSY;
}

/* Marks the switches of the path from u in on_path[], or removes the marks. */
static void mark_path(struct fab_detour_search *x, uint32_t u, bool mark)
{
    for (uint32_t s = u; s != x->dest; s = x->head[x->arc[s]])
        x->on_path[s] = mark;
    x->on_path[x->dest] = mark;
}

/* Passes to fab_route_detour_offer() each change of the next hop of switch u that lowers the sum of
 * the costs. */
static void offer_changes(struct fab_detour_search *x, uint32_t u)
{
    mark_path(x, u, true);
    for (uint32_t arc = x->g->nbr_at[u]; arc < x->g->nbr_at[u + 1]; arc++) {
        uint32_t end = meet(x, arc);
        if (arc == x->arc[u] || end == u)
            continue;
        int64_t growth = change_of(x, u, arc, end);
        struct fab_detour_chain c = {
            .count = 1, .arc = {arc}, .cost = (uint64_t)(INT64_MAX / 2 + growth)};
        if (growth < 0)
            fab_route_detour_offer(x, &c);
    }
    mark_path(x, u, false);
}

/* Adds the packets of switch u to load[] and flow[] along the path from u. If `add` is false,
 * subtracts them. */
static void carry(struct fab_detour_search *x, uint32_t u, bool add)
{
    uint64_t flow = add ? x->flow[u] : UINT64_C(0) - x->flow[u];
    for (uint32_t s = u; s != x->dest; s = x->head[x->arc[s]]) {
        x->load[x->arc[s]] += flow * x->weight;
        if (s != u)
            x->flow[s] += flow;
    }
}

/* Sets stack[] to switch s and the switches whose packets come to s within HOPS_BEFORE hops, but to
 * at most SWITCHES switches. Returns their number. */
static uint32_t list_before(struct fab_detour_search *x, uint32_t s)
{
    uint32_t count = 0, level = 0, end = 1;
    x->stack[count++] = s;
    for (uint32_t at = 0; at < count && count < SWITCHES; at++) {
        if (at == end) {
            end = count;
            level++;
        }
        s = x->stack[at];
        for (uint32_t i = x->g->nbr_at[s];
             i < x->g->nbr_at[s + 1] && level < HOPS_BEFORE && count < SWITCHES; i++) {
            uint32_t from = x->head[i];
            if (x->arc[from] != FAB_NONE && x->head[x->arc[from]] == s && x->flow[from] > 0)
                x->stack[count++] = from;
        }
    }
    return count;
}

/* Makes the change c. Returns false if its dependencies would close a cycle, or if the search for
 * cycles takes too many steps. */
static bool change(struct fab_detour_search *x, const struct fab_detour_chain *c)
{
    uint32_t u = x->tail[c->arc[0]], before = x->arc[u];
    uint64_t *budget = &x->cdg.cdg.budget, rest = *budget > STEPS ? *budget - STEPS : 0;
    *budget -= rest;
    bool taken = fab_route_detour_take(x, c);
    *budget += rest;
    if (!taken)
        return false;
    x->arc[u] = before;
    carry(x, u, false);
    x->arc[u] = c->arc[0];
    carry(x, u, true);
    return true;
}

/* Makes the best change for the busy link over which switch s sends. Returns false if there is
 * none. */
static bool relieve(struct fab_detour_search *x, uint32_t s)
{
    uint32_t count = list_before(x, s);
    x->candidates = 0;
    for (uint32_t i = 0; i < count; i++)
        offer_changes(x, x->stack[i]);
    for (uint32_t i = 0; i < x->candidates; i++) {
        if (change(x, &x->best[i]))
            return true;
    }
    return false;
}

/* ---- all trees ------------------------------------------------------------------------------- */

static bool uses_busy(const struct fab_detour_search *x)
{
    for (uint32_t s = 0; s < x->g->n; s++) {
        if (s != x->dest && is_busy(x, x->arc[s]))
            return true;
    }
    return false;
}

static void set_flows(struct fab_detour_search *x)
{
    for (uint32_t s = 0; s < x->g->n; s++)
        x->flow[s] = x->g->hosts[s];
    for (uint32_t i = 0; i < x->g->n; i++) {
        uint32_t s = x->far[i];
        if (s != x->dest)
            x->flow[x->head[x->arc[s]]] += x->flow[s];
    }
}

bool fab_route_detour_spread(struct fab_detour_search *x, const struct fab_detour_tree *t)
{
    bool changed = false;
    fab_route_detour_load(x, t, false);
    if (t->weight == 0 || !uses_busy(x))
        return false;
    fab_route_detour_lay_out(x);
    fab_route_detour_add(x);
    set_flows(x);
    for (uint32_t i = 0; i < x->g->n; i++) {
        uint32_t s = x->far[i];
        if (s != x->dest && x->flow[s] > 0 && is_busy(x, x->arc[s]))
            changed |= relieve(x, s);
    }
    x->cdg.cdg.logged = 0;
    return changed;
}

uint64_t fab_route_detour_greatest(const struct fab_detour_search *x)
{
    uint64_t greatest = 1;
    for (uint32_t arc = 0; arc < x->g->nbr_at[x->g->n]; arc++) {
        uint64_t load = x->load[arc] / x->width[arc];
        greatest = load > greatest ? load : greatest;
    }
    return greatest;
}
