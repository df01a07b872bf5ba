/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel dependency graph (CDG) in which the dependencies in use form no cycle.
 *
 * An arc represents the channels from a switch to one of its neighbours: parallel links form one
 * arc. Arc i of switch s is nbr[nbr_at[s] + i] of the graph, and i is its slot. A dependency is a
 * pair of arcs, one into a switch and one out of the same switch. The structure maintains a
 * topological order: every dependency in use leads to an arc that is later in the order.
 */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_ACYCLIC_CDG_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_ACYCLIC_CDG_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/updown/switch_order.h"

struct fab_cdg_dependency {
    uint32_t from, to; /* The arc `from` depends on the arc `to`. */
    bool forbidden;
};
struct fab_cdg {
    struct fab_arena arena;    /* memory of the arrays */
    const struct fab_graph *g; /* borrowed */
    uint32_t arcs, words;
    uint32_t *reverse; /* [arcs] the arc in the opposite direction */
    uint32_t *tail;    /* [arcs] the switch that the arc leaves */
    /* [arcs][words] Two bitsets for each arc. Bit i stands for the dependency of this arc on arc i
     * of the switch to which this arc leads. `used` has the dependencies in use, and `forbidden`
     * those that would close a cycle. */
    uint64_t *used, *forbidden;
    uint32_t *pos; /* [arcs] position in the topological order */
    /* number of dependencies that the searches for cycles may still follow, set by the caller; 0,
     * as after fab_route_cdg_init(): every dependency that needs a search is refused */
    uint64_t budget;
    uint64_t moved; /* number of arcs that reordering has moved so far */
    /* [logged] the dependencies that were added or forbidden while `logging` was true, newest last;
     * fab_route_cdg_undo() undoes them */
    struct fab_cdg_dependency *log;
    size_t logged, log_room;
    bool logging;
    bool no_memory; /* true: memory ran out when the log had to grow */
    /* the following members are scratch memory of the searches */
    uint32_t stamp, *seen, *stack;
    struct fab_cdg_position *forward, *backward;
    uint32_t *pool;
};
/* Creates a graph in which no dependency is in use. The initial topological order follows the
 * switch order `o`. First come all arcs that ascend, from the lowest switch up, then all arcs that
 * descend, from the highest switch down. So all dependencies of up/down paths can be added without
 * a search. *t keeps a pointer to `g`, so `g` must outlive *t. Returns NOMEM if there is no
 * memory. */
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
/* Returns the dependencies of `arc` that are in use, as a bitset. Bit i stands for arc i of the
 * switch to which `arc` leads. */
static inline const uint64_t *fab_route_cdg_used_from(const struct fab_cdg *t, uint32_t arc)
{
    return t->used + (size_t)arc * t->words;
}
static inline bool fab_route_cdg_used(const struct fab_cdg *t, uint32_t from, uint32_t to)
{
    uint32_t slot = fab_route_cdg_slot(t, to);
    return (fab_route_cdg_used_from(t, from)[slot / 64] >> slot % 64 & 1) != 0;
}
/* Returns true if the arc `from` is before the arc `to` in the topological order. Then a dependency
 * of `from` on `to` is in use already, or can be added without a search. */
static inline bool fab_route_cdg_in_order(const struct fab_cdg *t, uint32_t from, uint32_t to)
{
    return t->pos[from] < t->pos[to];
}
/* Adds a dependency of the arc `from` on the arc `to`, which must not be the reverse of `from`.
 * Returns true if the dependency is in use now. Returns false if it would close a cycle, if the
 * budget is used up, or if the log could not grow (no_memory). If `from` is before `to` in the
 * topological order, the function takes O(1) steps. Otherwise the number of steps is proportional
 * to the number of arcs between `to` and `from` in the order, and of their dependencies. */
bool fab_route_cdg_add(struct fab_cdg *t, uint32_t from, uint32_t to);
/* Removes a dependency that is in use and not in the log. Dependencies that would have closed a
 * cycle with it can be added afterwards. */
void fab_route_cdg_remove(struct fab_cdg *t, uint32_t from, uint32_t to);
/* Removes all dependencies, and empties the log. The topological order stays, so the dependencies
 * that were in use can be added again without a search. */
void fab_route_cdg_clear(struct fab_cdg *t);
/* Undoes the newest changes in the log, until only its first `mark` changes are left. */
void fab_route_cdg_undo(struct fab_cdg *t, size_t mark);

#endif
