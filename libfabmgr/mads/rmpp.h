/* SPDX-License-Identifier: BSD-3-Clause */
/* RMPP (IBA 13.6) sends data that does not fit into one MAD in segments. The receiver acknowledges
 * each window of segments. Each transfer has its own `sender`, which does no I/O and reads no
 * clock. The caller finds the transfer of a received MAD by address, class and TID. Only responses
 * are sent in segments, because subnet administration needs no more. With real hardware, the kernel
 * implements RMPP instead. */
#ifndef LIBFABMGR_MADS_RMPP_H
#define LIBFABMGR_MADS_RMPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/wire/sa.h"

struct fab_rmpp_config {
    /* time in us without an ACK after which the sender repeats the segments that are not
     * acknowledged */
    uint64_t timeout_us;
    /* number of consecutive retries without a new ACK after which the transfer fails */
    uint32_t retries;
};
enum fab_rmpp_state { FAB_RMPP_GOING, FAB_RMPP_DONE, FAB_RMPP_FAILED };

struct fab_rmpp_sender {
    /* The common header and the class header, which are the same in every segment. */
    uint8_t head[FAB_SA_DATA];
    /* The data to send, owned by the caller and valid until the transfer ends. */
    const uint8_t *data;
    size_t len;
    uint32_t segments; /* total number of segments, at least 1 */
    /* Segment numbers: acked: the last acknowledged segment. next: the next one to send. sent: the
     * highest one sent. last: the last one in the receiver's window. */
    uint32_t acked, next, sent, last;
    uint64_t timeout_us, deadline;
    uint32_t retries, left;
    /* Status of the ABORT that the sender must send; 0: none. */
    uint8_t abort_status;
    enum fab_rmpp_state state;
};
/* Begins a transfer. head: the first FAB_SA_DATA bytes of a MAD, with all headers. The sender
 * copies them into each segment, and fills in the RMPP header. Returns OK, or LIMIT if the data
 * needs more than 2^24 segments. */
int fab_mads_rmpp_sender_init(struct fab_rmpp_sender *s, const uint8_t *head, const uint8_t *data,
                              size_t len, const struct fab_rmpp_config *config, uint64_t now);
/* Stores the next MAD to send, which is a segment or an ABORT, and returns true. Returns false if
 * there is nothing to send now. */
bool fab_mads_rmpp_sender_output(struct fab_rmpp_sender *s, uint64_t now,
                                 uint8_t mad[FAB_MAD_SIZE]);
/* Handles a received ACK, STOP or ABORT. Any other MAD, and an ACK that violates the protocol, end
 * the transfer with ABORT. */
void fab_mads_rmpp_sender_input(struct fab_rmpp_sender *s, uint64_t now,
                                const uint8_t mad[FAB_MAD_SIZE]);
void fab_mads_rmpp_sender_expire(struct fab_rmpp_sender *s, uint64_t now);

#endif
