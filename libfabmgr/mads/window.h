/* SPDX-License-Identifier: BSD-3-Clause */
/* How many requests may be in flight: additive increase, multiplicative decrease. */
#ifndef LIBFABMGR_MADS_WINDOW_H
#define LIBFABMGR_MADS_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct fab_window {
    uint32_t size, floor, ceiling;
    uint32_t answers;  /* responses since the window last grew */
    bool full;         /* no request was allowed at the last call of fab_mads_window_room */
    bool lost_once;    /* the slow start has ended */
    uint64_t last_cut; /* when the window was last halved */
};
void fab_mads_window_init(struct fab_window *w, uint32_t start, uint32_t max);
/* Whether one more request may be sent while in_flight of them are outstanding. */
bool fab_mads_window_room(struct fab_window *w, uint32_t in_flight);
void fab_mads_window_answer(struct fab_window *w); /* a response came in time */
/* At `now`, a request that was sent at sent_at was found to be lost. */
void fab_mads_window_loss(struct fab_window *w, uint64_t sent_at, uint64_t now);

#endif
