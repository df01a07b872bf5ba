/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns from cable to cable that packets may take, never any in a circle. Private to the room.
 *
 * An arc leads from a switch to one of its neighbours (over any of the cables between them): arc i
 * of switch s is nbr[nbr_at[s] + i] of the graph, and i its slot. A turn is a pair of arcs, one
 * into a switch and one out of it. An order in which every turn in use leads to a greater arc is
 * kept at hand.
 */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_ACYCLIC_CDG_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_ACYCLIC_CDG_H

#include "libfabmgr/route/updown/switch_order.h"

struct fab_cdg_dependency {
    uint32_t from, to; /* arcs */
    bool barred;
};
struct fab_cdg {
    const struct fab_graph *g; /* borrowed */
    uint32_t arcs, words;
    uint32_t *back, *tail; /* [arcs] the arc the other way; the switch that it leaves */
    /* [arcs][words] by the slot of the next arc: turns in use, and those known to close a circle */
    uint64_t *used, *barred;
    uint32_t *place;   /* [arcs] in the order */
    uint64_t patience; /* arcs that searches may still look at; then what needs one is refused */
    /* What was taken, newest last, so that it can be given back; only while `logging`. */
    struct fab_cdg_dependency *log;
    size_t logged, log_room;
    bool logging;
    bool no_memory; /* the log could not grow */
    /* Searches. */
    uint32_t stamp, *seen, *stack;
    struct fab_place *fore, *aft;
    uint32_t *pool;
};
/* No turn in use; the order is that of climbing and then descending by `o`. */
int fab_route_cdg_init(struct fab_cdg *t, const struct fab_graph *g, const struct fab_order *o);
void fab_route_cdg_fini(struct fab_cdg *t);

static inline uint32_t fab_route_cdg_head(const struct fab_cdg *t, uint32_t arc)
{
    return t->g->nbr[arc];
}
static inline uint32_t fab_route_cdg_slot(const struct fab_cdg *t, uint32_t arc)
{
    return arc - t->g->nbr_at[t->tail[arc]];
}
/* Turns from `arc` in use, by the slot of the next arc. */
static inline const uint64_t *fab_route_cdg_used_from(const struct fab_cdg *t, uint32_t arc)
{
    return t->used + (size_t)arc * t->words;
}
static inline bool fab_route_cdg_used(const struct fab_cdg *t, uint32_t from, uint32_t to)
{
    uint32_t slot = fab_route_cdg_slot(t, to);
    return (fab_route_cdg_used_from(t, from)[slot / 64] >> slot % 64 & 1) != 0;
}
/* In use, or can be without a search. */
static inline bool fab_route_cdg_in_order(const struct fab_cdg *t, uint32_t from, uint32_t to)
{
    return t->place[from] < t->place[to];
}
/* Takes the turn into use; false: it closes a circle, or patience is at its end, or no_memory. `to`
 * does not lead back to where `from` comes from. */
bool fab_route_cdg_add(struct fab_cdg *t, uint32_t from, uint32_t to);
/* Gives back what was taken since logged was `mark`. */
void fab_route_cdg_undo(struct fab_cdg *t, size_t mark);

#endif
