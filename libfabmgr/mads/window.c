/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of TCP: it doubles every round trip until the first loss (slow start), then grows by
 * one a round trip. A loss halves it, but at most once a round trip: a request sent before the last
 * halving was sent under the old window. The window grows only while it is the limit, that is, if
 * it was full when the last request was to be sent.
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
