/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides how many requests may be in flight, by additive increase and multiplicative decrease
 * (AIMD). */
#ifndef LIBFABMGR_MADS_WINDOW_H
#define LIBFABMGR_MADS_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct fab_window {
    uint32_t size, floor, ceiling;
    uint32_t answers; /* number of responses that arrived since the window last grew */
    bool full;        /* true: the window had no room when fab_mads_window_room was last called */
    bool lost_once;   /* true: a request was lost, so the slow start has ended */
    /* Time in us at which the window was last halved. */
    uint64_t last_cut;
};
void fab_mads_window_init(struct fab_window *w, uint32_t start, uint32_t max);
/* Returns true if the window has room for one more request, besides the `in_flight` requests that
 * count against it. */
bool fab_mads_window_room(struct fab_window *w, uint32_t in_flight);
/* Notes that a response has arrived in time, so that the window may grow (window.c). */
void fab_mads_window_answer(struct fab_window *w);
/* Notes that a request is lost, and halves the window, at most once in a round trip. sent_at: time
 * at which the request was sent. now: the present time. Both in us. */
void fab_mads_window_loss(struct fab_window *w, uint64_t sent_at, uint64_t now);

#endif
