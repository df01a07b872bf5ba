/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The complete channel dependency graph (CDG) of Nue (Domke, Hoefler, Matsuoka, HPDC 2016). The
 * engine puts dependencies into use one after another. Only dependencies in use must be acyclic.
 *
 * This file does not search for a cycle at each addition. It maintains a topological order of the
 * arcs (Pearce, Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", JEA
 * 2007). An arc stands for all parallel links from a switch to one neighbour. If the target arc of
 * a dependency is later in the order than its source arc, the dependency closes no cycle, and needs
 * no search. The initial order suits paths that ascend and then descend, so in trees nearly all
 * dependencies need no search.
 *
 * For any other dependency, search_forward() starts at the target, and visits the arcs that are
 * before the source in the order. If the search meets the source, the dependency would close a
 * cycle. Otherwise reorder() moves the visited arcs behind the arcs that lead to the source.
 */
#include "libfabmgr/route/dependencies/acyclic_cdg.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct fab_cdg_position {
    uint32_t pos, arc;
};

/* ---- making ---------------------------------------------------------------------------------- */

static void find_reverse_arcs(struct fab_cdg *t)
{
    const struct fab_graph *g = t->g;
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t a = g->nbr_at[s]; a < g->nbr_at[s + 1]; a++) {
            uint32_t v = g->nbr[a], low = g->nbr_at[v], high = g->nbr_at[v + 1];
            while (low + 1 < high) {
                uint32_t middle = low + (high - low) / 2;
                if (g->nbr[middle] <= s)
                    low = middle;
                else
                    high = middle;
            }
            t->reverse[a] = low;
            t->tail[a] = s;
        }
    }
}

/* Sets the initial order. The arcs that lead up come first, ordered by the switch that they leave,
 * the lowest first. Then come the arcs that lead down, the highest switch first. */
static void initial_positions(struct fab_cdg *t, const struct fab_order *o)
{
    uint32_t pos = 0;
    for (unsigned down = 0; down <= 1; down++) {
        for (uint32_t p = 0; p < o->n; p++) {
            uint32_t s = o->at[down ? o->n - 1 - p : p];
            for (uint32_t a = t->g->nbr_at[s]; a < t->g->nbr_at[s + 1]; a++) {
                if (fab_route_order_is_up(o, s, t->g->nbr[a]) == (down == 0))
                    t->pos[a] = pos++;
            }
        }
    }
}

int fab_route_cdg_init(struct fab_cdg *t, const struct fab_graph *g, const struct fab_order *o)
{
    struct fab_cdg made = {.g = g, .arcs = g->nbr_at[g->n], .words = 1, .stamp = 0};
    for (uint32_t s = 0; s < g->n; s++) {
        uint32_t words = (g->nbr_at[s + 1] - g->nbr_at[s] + 63) / 64;
        made.words = words > made.words ? words : made.words;
    }
    size_t arcs = (size_t)made.arcs + 1;
    made.reverse = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.reverse));
    made.tail = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.tail));
    made.used = fab_base_arena_alloc(&made.arena, arcs, made.words * sizeof(*made.used));
    made.forbidden = fab_base_arena_alloc(&made.arena, arcs, made.words * sizeof(*made.forbidden));
    made.pos = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.pos));
    made.seen = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.seen));
    made.stack = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.stack));
    made.forward = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.forward));
    made.backward = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.backward));
    made.pool = fab_base_arena_alloc(&made.arena, arcs, sizeof(*made.pool));
    if (made.arena.failed) {
        fab_route_cdg_fini(&made);
        return FAB_E_NOMEM;
    }
    find_reverse_arcs(&made);
    initial_positions(&made, o);
    *t = made;
    return FAB_OK;
}

void fab_route_cdg_fini(struct fab_cdg *t)
{
    fab_base_arena_fini(&t->arena);
    free(t->log);
    memset(t, 0, sizeof(*t));
}

/* ---- searching ------------------------------------------------------------------------------- */

static bool first_visit(struct fab_cdg *t, uint32_t arc)
{
    bool first = t->seen[arc] != t->stamp;
    t->seen[arc] = t->stamp;
    return first;
}

static void next_stamp(struct fab_cdg *t)
{
    if (++t->stamp == 0) {
        memset(t->seen, 0, t->arcs * sizeof(*t->seen));
        t->stamp = 1;
    }
}

/* Collects in forward[] the arcs that can be reached from `to` over dependencies in use, and that
 * are before `from` in the topological order. *ret_count is the number of these arcs. Returns false
 * if the search reaches `from`: the dependency of `from` on `to` would close a cycle, and
 * *ret_cycle becomes true. Also returns false if the budget is used up. */
static bool search_forward(struct fab_cdg *t, uint32_t from, uint32_t to, uint32_t *ret_count,
                           bool *ret_cycle)
{
    uint32_t depth = 0, count = 0, limit = t->pos[from];
    *ret_cycle = false;
    next_stamp(t);
    first_visit(t, to);
    t->stack[depth++] = to;
    while (depth > 0) {
        uint32_t arc = t->stack[--depth], base = t->g->nbr_at[fab_route_cdg_head(t, arc)];
        const uint64_t *used = fab_route_cdg_used_from(t, arc);
        t->forward[count++] = (struct fab_cdg_position){t->pos[arc], arc};
        for (uint32_t w = 0; w < t->words; w++) {
            for (uint64_t bits = used[w]; bits != 0; bits &= bits - 1) {
                uint32_t next = base + w * 64 + (uint32_t)__builtin_ctzll(bits);
                if (--t->budget == 0)
                    return false;
                if (next == from) {
                    *ret_cycle = true;
                    return false;
                }
                if (t->pos[next] < limit && first_visit(t, next))
                    t->stack[depth++] = next;
            }
        }
    }
    *ret_count = count;
    return true;
}

/* Follows dependencies in use backwards, starting at the arc `from`, and visits only arcs that are
 * after the arc `to` in the topological order. Stores the visited arcs in backward[], and returns
 * their number. */
static uint32_t search_backward(struct fab_cdg *t, uint32_t from, uint32_t to)
{
    const struct fab_graph *g = t->g;
    uint32_t depth = 0, count = 0, limit = t->pos[to];
    first_visit(t, from);
    t->stack[depth++] = from;
    while (depth > 0) {
        uint32_t arc = t->stack[--depth], s = t->tail[arc];
        t->backward[count++] = (struct fab_cdg_position){t->pos[arc], arc};
        for (uint32_t out = g->nbr_at[s]; out < g->nbr_at[s + 1]; out++) {
            uint32_t in = t->reverse[out];
            if (t->pos[in] > limit && fab_route_cdg_used(t, in, arc) && first_visit(t, in))
                t->stack[depth++] = in;
        }
    }
    return count;
}

static int by_position(const void *a, const void *b)
{
    const struct fab_cdg_position *x = a, *y = b;
    return (x->pos > y->pos) - (x->pos < y->pos);
}

/* Gives the arcs of backward[] and forward[] new positions in the topological order: they exchange
 * their positions, and no other arc moves. First come the arcs of backward[], from which
 * dependencies lead to the source of the new dependency. Then come the arcs of forward[], to which
 * dependencies lead from its target. Within each of the two sets, the order stays. `forward` and
 * `backward` are the numbers of arcs in these arrays. */
static void reorder(struct fab_cdg *t, uint32_t forward, uint32_t backward)
{
    uint32_t i = 0, j = 0, count = 0;
    t->moved += forward + backward;
    qsort(t->forward, forward, sizeof(*t->forward), by_position);
    qsort(t->backward, backward, sizeof(*t->backward), by_position);
    while (i < forward || j < backward) {
        bool first = j == backward || (i < forward && t->forward[i].pos < t->backward[j].pos);
        t->pool[count++] = first ? t->forward[i++].pos : t->backward[j++].pos;
    }
    for (j = 0; j < backward; j++)
        t->pos[t->backward[j].arc] = t->pool[j];
    for (i = 0; i < forward; i++)
        t->pos[t->forward[i].arc] = t->pool[backward + i];
}

/* ---- adding and undoing ---------------------------------------------------------------------- */

static bool log_dependency(struct fab_cdg *t, struct fab_cdg_dependency turn)
{
    if (!t->logging)
        return true;
    struct fab_cdg_dependency *log = t->log;
    if (t->logged == t->log_room)
        log = fab_base_grow(log, sizeof(*log), t->logged + 1, &t->log_room);
    if (log == NULL) {
        t->no_memory = true;
        return false;
    }
    t->log = log;
    log[t->logged++] = turn;
    return true;
}

bool fab_route_cdg_add(struct fab_cdg *t, uint32_t from, uint32_t to)
{
    uint32_t slot = fab_route_cdg_slot(t, to), forward;
    size_t word = (size_t)from * t->words + slot / 64;
    uint64_t bit = UINT64_C(1) << slot % 64;
    if ((t->used[word] & bit) != 0)
        return true;
    if ((t->forbidden[word] & bit) != 0)
        return false;
    if (t->pos[from] > t->pos[to]) {
        bool cycle = false;
        if (t->budget == 0 || !search_forward(t, from, to, &forward, &cycle)) {
            if (cycle && log_dependency(t, (struct fab_cdg_dependency){from, to, true}))
                t->forbidden[word] |= bit;
            return false;
        }
        if (!log_dependency(t, (struct fab_cdg_dependency){from, to, false}))
            return false;
        reorder(t, forward, search_backward(t, from, to));
    } else if (!log_dependency(t, (struct fab_cdg_dependency){from, to, false})) {
        return false;
    }
    t->used[word] |= bit;
    return true;
}

void fab_route_cdg_remove(struct fab_cdg *t, uint32_t from, uint32_t to)
{
    uint32_t slot = fab_route_cdg_slot(t, to);
    t->used[(size_t)from * t->words + slot / 64] &= ~(UINT64_C(1) << slot % 64);
    memset(t->forbidden, 0, (size_t)t->arcs * t->words * sizeof(*t->forbidden));
}

void fab_route_cdg_clear(struct fab_cdg *t)
{
    memset(t->used, 0, (size_t)t->arcs * t->words * sizeof(*t->used));
    memset(t->forbidden, 0, (size_t)t->arcs * t->words * sizeof(*t->forbidden));
    t->logged = 0;
}

void fab_route_cdg_undo(struct fab_cdg *t, size_t mark)
{
    while (t->logged > mark) {
        struct fab_cdg_dependency turn = t->log[--t->logged];
        uint32_t slot = fab_route_cdg_slot(t, turn.to);
        uint64_t *set = turn.forbidden ? t->forbidden : t->used;
        set[(size_t)turn.from * t->words + slot / 64] &= ~(UINT64_C(1) << slot % 64);
    }
}
