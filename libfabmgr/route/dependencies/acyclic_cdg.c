/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A graph of turns that stays acyclic while it grows: the complete channel dependency graph of Nue
 * (Domke, Hoefler, Matsuoka, HPDC 2016), of which only what is in use has to be without circles.
 *
 * Instead of looking for a circle at each new turn, a topological order of the arcs is kept
 * (Pearce, Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", JEA 2007). A
 * turn to a greater arc closes no circle, which is seen at once; and the order begins as climbing
 * and then descending, so that in trees nearly all turns are of that kind. Another one needs a
 * search from its end through what is not greater than its beginning: if it arrives there, the turn
 * would close a circle; else the arcs found are put behind those that lead to the beginning.
 */
#include "libfabmgr/route/dependencies/acyclic_cdg.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

struct fab_place {
    uint32_t place, arc;
};

/* ---- making ---------------------------------------------------------------------------------- */

static void find_back(struct fab_cdg *t)
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
            t->back[a] = low;
            t->tail[a] = s;
        }
    }
}

/* Arcs up by where they begin, from the bottom; then arcs down, from the top. */
static void first_places(struct fab_cdg *t, const struct fab_order *o)
{
    uint32_t place = 0;
    for (unsigned down = 0; down <= 1; down++) {
        for (uint32_t p = 0; p < o->n; p++) {
            uint32_t s = o->at[down ? o->n - 1 - p : p];
            for (uint32_t a = t->g->nbr_at[s]; a < t->g->nbr_at[s + 1]; a++) {
                if (fab_route_order_is_up(o, s, t->g->nbr[a]) == (down == 0))
                    t->place[a] = place++;
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
    made.back = calloc(arcs, sizeof(*made.back));
    made.tail = calloc(arcs, sizeof(*made.tail));
    made.used = calloc(arcs, made.words * sizeof(*made.used));
    made.barred = calloc(arcs, made.words * sizeof(*made.barred));
    made.place = calloc(arcs, sizeof(*made.place));
    made.seen = calloc(arcs, sizeof(*made.seen));
    made.stack = calloc(arcs, sizeof(*made.stack));
    made.fore = calloc(arcs, sizeof(*made.fore));
    made.aft = calloc(arcs, sizeof(*made.aft));
    made.pool = calloc(arcs, sizeof(*made.pool));
    if (!made.back || !made.tail || !made.used || !made.barred || !made.place || !made.seen ||
        !made.stack || !made.fore || !made.aft || !made.pool) {
        fab_route_cdg_fini(&made);
        return FAB_E_NOMEM;
    }
    find_back(&made);
    first_places(&made, o);
    *t = made;
    return FAB_OK;
}

void fab_route_cdg_fini(struct fab_cdg *t)
{
    free(t->back);
    free(t->tail);
    free(t->used);
    free(t->barred);
    free(t->place);
    free(t->seen);
    free(t->stack);
    free(t->fore);
    free(t->aft);
    free(t->pool);
    free(t->log);
    memset(t, 0, sizeof(*t));
}

/* ---- searching ------------------------------------------------------------------------------- */

static bool first_look(struct fab_cdg *t, uint32_t arc)
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

/* What `to` leads to and is not greater than `from`, into fore[]. False: `from` is among it, or
 * patience ends; *ret_circle says which. */
static bool search_forward(struct fab_cdg *t, uint32_t from, uint32_t to, uint32_t *ret_count,
                           bool *ret_circle)
{
    uint32_t depth = 0, count = 0, limit = t->place[from];
    *ret_circle = false;
    next_stamp(t);
    first_look(t, to);
    t->stack[depth++] = to;
    while (depth > 0) {
        uint32_t arc = t->stack[--depth], base = t->g->nbr_at[fab_route_cdg_head(t, arc)];
        const uint64_t *used = fab_route_cdg_used_from(t, arc);
        t->fore[count++] = (struct fab_place){t->place[arc], arc};
        for (uint32_t w = 0; w < t->words; w++) {
            for (uint64_t bits = used[w]; bits != 0; bits &= bits - 1) {
                uint32_t next = base + w * 64 + (uint32_t)__builtin_ctzll(bits);
                if (--t->patience == 0)
                    return false;
                if (next == from) {
                    *ret_circle = true;
                    return false;
                }
                if (t->place[next] < limit && first_look(t, next))
                    t->stack[depth++] = next;
            }
        }
    }
    *ret_count = count;
    return true;
}

/* What leads to `from` and is not less than `to`, into aft[]. */
static uint32_t search_backward(struct fab_cdg *t, uint32_t from, uint32_t to)
{
    const struct fab_graph *g = t->g;
    uint32_t depth = 0, count = 0, limit = t->place[to];
    first_look(t, from);
    t->stack[depth++] = from;
    while (depth > 0) {
        uint32_t arc = t->stack[--depth], s = t->tail[arc];
        t->aft[count++] = (struct fab_place){t->place[arc], arc};
        for (uint32_t out = g->nbr_at[s]; out < g->nbr_at[s + 1]; out++) {
            uint32_t in = t->back[out];
            if (t->place[in] > limit && fab_route_cdg_used(t, in, arc) && first_look(t, in))
                t->stack[depth++] = in;
        }
    }
    return count;
}

static int by_place(const void *a, const void *b)
{
    const struct fab_place *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

/* The places of both, in order: first those that lead to the beginning, then the others. */
static void reorder(struct fab_cdg *t, uint32_t fore, uint32_t aft)
{
    uint32_t i = 0, j = 0, count = 0;
    qsort(t->fore, fore, sizeof(*t->fore), by_place);
    qsort(t->aft, aft, sizeof(*t->aft), by_place);
    while (i < fore || j < aft) {
        bool first = j == aft || (i < fore && t->fore[i].place < t->aft[j].place);
        t->pool[count++] = first ? t->fore[i++].place : t->aft[j++].place;
    }
    for (j = 0; j < aft; j++)
        t->place[t->aft[j].arc] = t->pool[j];
    for (i = 0; i < fore; i++)
        t->place[t->fore[i].arc] = t->pool[aft + i];
}

/* ---- taking and giving back ------------------------------------------------------------------ */

static bool log_turn(struct fab_cdg *t, struct fab_cdg_dependency turn)
{
    if (!t->logging)
        return true;
    struct fab_cdg_dependency *log = t->log;
    if (t->logged == t->log_room)
        log = fab_grow(log, sizeof(*log), t->logged + 1, &t->log_room);
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
    uint32_t slot = fab_route_cdg_slot(t, to), fore;
    size_t word = (size_t)from * t->words + slot / 64;
    uint64_t bit = UINT64_C(1) << slot % 64;
    if ((t->used[word] & bit) != 0)
        return true;
    if ((t->barred[word] & bit) != 0)
        return false;
    if (t->place[from] > t->place[to]) {
        bool circle = false;
        if (t->patience == 0 || !search_forward(t, from, to, &fore, &circle)) {
            if (circle && log_turn(t, (struct fab_cdg_dependency){from, to, true}))
                t->barred[word] |= bit;
            return false;
        }
        if (!log_turn(t, (struct fab_cdg_dependency){from, to, false}))
            return false;
        reorder(t, fore, search_backward(t, from, to));
    } else if (!log_turn(t, (struct fab_cdg_dependency){from, to, false})) {
        return false;
    }
    t->used[word] |= bit;
    return true;
}

void fab_route_cdg_undo(struct fab_cdg *t, size_t mark)
{
    while (t->logged > mark) {
        struct fab_cdg_dependency turn = t->log[--t->logged];
        uint32_t slot = fab_route_cdg_slot(t, turn.to);
        uint64_t *set = turn.barred ? t->barred : t->used;
        set[(size_t)turn.from * t->words + slot / 64] &= ~(UINT64_C(1) << slot % 64);
    }
}
