/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window works as TCP's congestion window. It doubles every round trip until the first loss
 * (slow start). Then it grows by one request in each round trip. A loss halves the window, but at
 * most once in a round trip: the loss of a request that was sent before the last halving has no
 * effect.
 *
 * The window grows only if it was full when the session last wanted to send. Otherwise it does not
 * limit the session, and need not grow.
 */
#include "libfabmgr/mads/window.h"

#define SMALLEST 4

void fab_mads_window_init(struct fab_window *w, uint32_t start, uint32_t max)
{
    uint32_t ceiling = max > 0 ? max : 1;
    uint32_t floor = ceiling < SMALLEST ? ceiling : SMALLEST;
    *w = (struct fab_window){
        .size = start < floor     ? floor
                : start > ceiling ? ceiling
                                  : start,
        .floor = floor,
        .ceiling = ceiling,
    };
}

bool fab_mads_window_room(struct fab_window *w, uint32_t in_flight)
{
    w->full = in_flight >= w->size;
    return !w->full;
}

void fab_mads_window_answer(struct fab_window *w)
{
    if (!w->full || w->size == w->ceiling)
        return;
    if (w->lost_once && ++w->answers < w->size)
        return;
    w->size++;
    w->answers = 0;
}

void fab_mads_window_loss(struct fab_window *w, uint64_t sent_at, uint64_t now)
{
    if (w->lost_once && sent_at < w->last_cut)
        return;
    w->size = w->size / 2 > w->floor ? w->size / 2 : w->floor;
    w->answers = 0;
    w->lost_once = true;
    w->last_cut = now;
}
