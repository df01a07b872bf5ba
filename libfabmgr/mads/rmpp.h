/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RMPP (IBA 13.6): what is too long for one MAD goes in segments, a window at a time, each window
 * acknowledged. A sender and a receiver, each of one transfer; no I/O and no clock. The caller
 * finds the transfer of a MAD that came in (by address, class and TID). One-sided transfers:
 * answers of subnet administration. On hardware the kernel does all this.
 */
#ifndef LIBFABMGR_MADS_RMPP_H
#define LIBFABMGR_MADS_RMPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/wire/sa.h"

struct fab_rmpp_config {
    uint32_t window;     /* of a receiver: segments a sender may be ahead, 1.. */
    uint64_t timeout_us; /* without an acknowledgement (a segment) what is missing is sent again */
    uint32_t retries;    /* in a row, without progress; then the transfer fails */
    size_t limit;        /* of a receiver: most bytes */
};
enum fab_rmpp_state { FAB_RMPP_GOING, FAB_RMPP_DONE, FAB_RMPP_FAILED };

/* ---- sending ----------------------------------------------------------------------------------
 */

struct fab_rmpp_sender {
    uint8_t head[FAB_SA_DATA]; /* of every segment: common header, and that of the class */
    const uint8_t *data;       /* the caller's, until the end */
    size_t len;
    uint32_t segments;                /* 1.. */
    uint32_t acked, next, sent, last; /* next to be sent, highest ever sent, last of the window */
    uint64_t timeout_us, deadline;
    uint32_t retries, left;
    uint8_t abort_status; /* to be told to the other side; 0: nothing */
    enum fab_rmpp_state state;
};
/* head: FAB_SA_DATA bytes, its RMPP header is overwritten. LIMIT: more than 2^31 segments. */
int fab_mads_rmpp_sender_init(struct fab_rmpp_sender *s, const uint8_t *head, const uint8_t *data,
                              size_t len, const struct fab_rmpp_config *config, uint64_t now);
/* The next MAD to put on the wire: a segment, or an ABORT. False: none now. */
bool fab_mads_rmpp_sender_output(struct fab_rmpp_sender *s, uint64_t now,
                                 uint8_t mad[FAB_MAD_SIZE]);
/* What came back: ACK, STOP or ABORT; other types abort the transfer. */
void fab_mads_rmpp_sender_input(struct fab_rmpp_sender *s, uint64_t now,
                                const uint8_t mad[FAB_MAD_SIZE]);
void fab_mads_rmpp_sender_expire(struct fab_rmpp_sender *s, uint64_t now);

/* ---- receiving --------------------------------------------------------------------------------
 */

struct fab_rmpp_receiver {
    struct fab_rmpp_config config;
    uint8_t head[FAB_SA_DATA]; /* of the first segment */
    uint8_t *data;             /* owned: what came so far, without headers */
    size_t len, room;
    uint32_t got, window_last; /* segments in order; last one that we said may come */
    uint32_t announced;        /* PayloadLength of the first segment, 0: not said */
    uint64_t deadline;
    enum fab_rmpp_state state;
};
void fab_mads_rmpp_receiver_init(struct fab_rmpp_receiver *r, const struct fab_rmpp_config *config,
                                 uint64_t now);
void fab_mads_rmpp_receiver_fini(struct fab_rmpp_receiver *r);
/* A MAD of the transfer. True: reply, an ACK, STOP or ABORT, is to be sent to its sender. */
bool fab_mads_rmpp_receiver_input(struct fab_rmpp_receiver *r, uint64_t now,
                                  const uint8_t mad[FAB_MAD_SIZE], uint8_t reply[FAB_MAD_SIZE]);
/* A transfer that stands still fails. */
void fab_mads_rmpp_receiver_expire(struct fab_rmpp_receiver *r, uint64_t now);

#endif
