/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and breaks cycles of channel dependencies by a depth-first search. The stack of the search
 * holds a chain of channels, each of which depends on the next. When the search has broken a cycle,
 * it removes all channels after the first removed dependency from the stack. It then continues with
 * the channels that are left. A channel is DONE if the search has followed all its dependencies, so
 * no cycle through it is left. The channel cannot become part of a cycle later, because
 * dependencies are only removed. */
#include "libfabmgr/route/dependencies/cycle_breaking.h"

#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

enum state { NEW, OPEN, DONE };

void fab_route_cdg_counts_fini(struct fab_cdg_counts *w)
{
    fab_base_arena_fini(&w->arena);
    memset(w, 0, sizeof(*w));
}

static int alloc_all(struct fab_cdg_counts *w)
{
    const struct fab_graph *g = w->g;
    size_t channels = (size_t)g->port_at[g->n] + 1, count = 0;
    for (uint32_t c = 0; c < g->port_at[g->n]; c++)
        count += g->port_at[g->port_peer[c] + 1] - g->port_at[g->port_peer[c]];
    w->sw = fab_base_arena_alloc(&w->arena, channels, sizeof(*w->sw));
    w->channel = fab_base_arena_alloc(&w->arena, (size_t)w->f->port_count + 1, sizeof(*w->channel));
    w->first = fab_base_arena_alloc(&w->arena, channels, sizeof(*w->first));
    w->count = fab_base_arena_alloc(&w->arena, count + 1, sizeof(*w->count));
    w->state = fab_base_arena_alloc(&w->arena, channels, sizeof(*w->state));
    w->next = fab_base_arena_alloc(&w->arena, channels, sizeof(*w->next));
    w->stack = fab_base_arena_alloc(&w->arena, channels, sizeof(*w->stack));
    return !w->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

int fab_route_cdg_counts_init(struct fab_cdg_counts *w, const struct fab_fabric *f,
                              const struct fab_graph *g)
{
    struct fab_cdg_counts made = {.f = f, .g = g};
    size_t count = 0;
    if (alloc_all(&made) != FAB_OK) {
        fab_route_cdg_counts_fini(&made);
        return FAB_E_NOMEM;
    }
    memset(made.channel, 0xff, f->port_count * sizeof(*made.channel));
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t c = g->port_at[s]; c < g->port_at[s + 1]; c++) {
            made.sw[c] = s;
            made.channel[fab_fabric_port_id(f, s, g->port_num[c])] = c;
            made.first[c] = count;
            count += g->port_at[g->port_peer[c] + 1] - g->port_at[g->port_peer[c]];
        }
    }
    made.first[g->port_at[g->n]] = count;
    *w = made;
    return FAB_OK;
}

void fab_route_cdg_counts_clear(struct fab_cdg_counts *w)
{
    memset(w->count, 0, w->first[w->g->port_at[w->g->n]] * sizeof(*w->count));
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* Finds the weakest dependency of a cycle: the dependency that the fewest paths cause. The cycle
 * consists of the channels from stack[start] to the top of the stack. */
static void find_weakest(const struct fab_cdg_counts *w, uint32_t start, uint32_t *ret_from,
                         uint32_t *ret_to)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = start; i < w->depth; i++) {
        uint32_t to = w->stack[i + 1 < w->depth ? i + 1 : start];
        uint32_t count = *fab_route_cdg_counts_of(w, w->stack[i], to);
        if (count >= least)
            continue;
        least = count;
        *ret_from = w->stack[i];
        *ret_to = to;
    }
}

/* Removes channels from the top of the stack until each channel of the stack again depends on the
 * next one. This may remove several channels, because the paths that were moved to another layer
 * may have caused several dependencies along the stack. */
static void shorten_stack(struct fab_cdg_counts *w)
{
    uint32_t depth = 1, *stack = w->stack;
    while (depth < w->depth && fab_route_cdg_counts_of(w, stack[depth - 1], stack[depth])[0] > 0)
        depth++;
    while (w->depth > depth)
        w->state[stack[--w->depth]] = NEW;
}

static void open_channel(struct fab_cdg_counts *w, uint32_t channel)
{
    w->state[channel] = OPEN;
    w->next[channel] = w->g->port_at[w->g->port_peer[channel]];
    w->stack[w->depth++] = channel;
}

/* Returns a channel that is not DONE, and on which the top of the stack depends; `end` if there is
 * none. */
static uint32_t next_dependency(struct fab_cdg_counts *w, uint32_t end)
{
    uint32_t from = w->stack[w->depth - 1], to = w->next[from];
    while (to < end && (*fab_route_cdg_counts_of(w, from, to) == 0 || w->state[to] == DONE))
        to++;
    w->next[from] = to;
    return to;
}

bool fab_route_cdg_counts_break_cycles(struct fab_cdg_counts *w,
                                       void (*remove)(void *ctx, uint32_t from, uint32_t to),
                                       void *ctx, const uint64_t *budget)
{
    uint32_t channels = w->g->port_at[w->g->n], channel = 0;
    memset(w->state, NEW, channels * sizeof(*w->state));
    while (w->depth > 0 || channel < channels) {
        if (w->depth == 0) {
            if (w->state[channel] == NEW)
                open_channel(w, channel);
            channel++;
            continue;
        }
        uint32_t top = w->stack[w->depth - 1], end = w->g->port_at[w->g->port_peer[top] + 1];
        uint32_t to = next_dependency(w, end), start = 0, from = top;
        if (to == end) {
            w->state[top] = DONE;
            w->depth--;
        } else if (w->state[to] == NEW) {
            open_channel(w, to);
        } else {
            while (w->stack[start] != to)
                start++;
            find_weakest(w, start, &from, &to);
            remove(ctx, from, to);
            shorten_stack(w);
            if (*budget == 0)
                return false;
        }
    }
    return true;
}
