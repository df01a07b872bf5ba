/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender of RMPP (IBA 13.6). A segment is a whole MAD: common header, RMPP header, header of
 * the class (the same in all segments), and up to 200 bytes of data.
 *
 *      sender                                    receiver
 *      DATA 1 (the window is one segment)  -->
 *                                          <--   ACK 1, the window ends at 1 + w
 *      DATA 2 .. 1 + w                     -->
 *                                          <--   ACK 1 + w, the window ends at 1 + 2w
 *      ... DATA n, Last                    -->
 *                                          <--   ACK n
 *
 * w is the window of the receiver, in segments. The receiver accepts segments only in order. If a
 * segment is missing, the receiver drops the segments after it. When the last segment of the window
 * arrives, the receiver repeats its ACK of the last segment that arrived in order. If no ACK comes
 * in time, the sender goes back to the first segment that is not acknowledged (13.6.3.2). A
 * violation of the protocol ends the transfer with ABORT, and too much data ends it with STOP; both
 * have a status of 13.6.2.1.
 *
 * Not supported: transfers with more than one segment in both directions (13.6.6.4).
 */
#include "libfabmgr/mads/rmpp.h"

#include <string.h>

#include "libfabmgr/base/status.h"

/* size of the class header in bytes; PayloadLength counts the header in each segment */
#define CLASS_HEADER (FAB_SA_DATA - FAB_RMPP_DATA)
#define MAX_SEGMENTS (UINT32_C(1) << 31)
#define NO_RESP_TIME 31

static void put_rmpp(uint8_t *mad, const struct fab_rmpp *h)
{
    (void)fab_wire_attr_pack(&fab_wire_attr_rmpp, h, mad + FAB_RMPP_AT,
                             FAB_RMPP_DATA - FAB_RMPP_AT);
}

static struct fab_rmpp get_rmpp(const uint8_t *mad)
{
    struct fab_rmpp h;
    (void)fab_wire_attr_unpack(&fab_wire_attr_rmpp, mad + FAB_RMPP_AT, FAB_RMPP_DATA - FAB_RMPP_AT,
                               &h);
    return h;
}

int fab_mads_rmpp_sender_init(struct fab_rmpp_sender *s, const uint8_t *head, const uint8_t *data,
                              size_t len, const struct fab_rmpp_config *config, uint64_t now)
{
    size_t segments = len > 0 ? (len - 1) / FAB_SA_DATA_LEN + 1 : 1;
    /* limits the data, so that PayloadLength of the whole transfer fits into 32 bits */
    if (segments > MAX_SEGMENTS / 128)
        return FAB_E_LIMIT;
    *s = (struct fab_rmpp_sender){.data = data,
                                  .len = len,
                                  .segments = (uint32_t)segments,
                                  .next = 1,
                                  .last = 1,
                                  .timeout_us = config->timeout_us,
                                  .deadline = now + config->timeout_us,
                                  .retries = config->retries,
                                  .left = config->retries};
    memcpy(s->head, head, sizeof s->head);
    return FAB_OK;
}

static void write_segment(const struct fab_rmpp_sender *s, uint32_t segment, uint8_t *mad)
{
    size_t at = (size_t)(segment - 1) * FAB_SA_DATA_LEN;
    size_t n = s->len - at < FAB_SA_DATA_LEN ? s->len - at : FAB_SA_DATA_LEN;
    bool last = segment == s->segments;
    struct fab_rmpp h = {.version = 1,
                         .type = FAB_RMPP_DATA_TYPE,
                         .resp_time = NO_RESP_TIME,
                         .flags = FAB_RMPP_ACTIVE,
                         .segment = segment};
    if (segment == 1) {
        h.flags |= FAB_RMPP_FIRST;
        h.length = (uint32_t)(s->len + (size_t)s->segments * CLASS_HEADER);
    }
    if (last) {
        h.flags |= FAB_RMPP_LAST;
        h.length = (uint32_t)(n + CLASS_HEADER);
    }
    memset(mad, 0, FAB_MAD_SIZE);
    memcpy(mad, s->head, sizeof s->head);
    if (n > 0)
        memcpy(mad + FAB_SA_DATA, s->data + at, n);
    put_rmpp(mad, &h);
}

static void write_abort(const uint8_t *head, uint8_t status, uint8_t *mad)
{
    struct fab_rmpp h = {.version = 1,
                         .type = FAB_RMPP_ABORT,
                         .resp_time = NO_RESP_TIME,
                         .flags = FAB_RMPP_ACTIVE,
                         .status = status};
    memset(mad, 0, FAB_MAD_SIZE);
    memcpy(mad, head, FAB_SA_DATA);
    put_rmpp(mad, &h);
}

bool fab_mads_rmpp_sender_output(struct fab_rmpp_sender *s, uint64_t now, uint8_t mad[FAB_MAD_SIZE])
{
    if (s->abort_status != 0) {
        write_abort(s->head, s->abort_status, mad);
        s->abort_status = 0;
        return true;
    }
    if (s->state != FAB_RMPP_GOING || s->next > s->last || s->next > s->segments)
        return false;
    write_segment(s, s->next, mad);
    if (s->next > s->sent)
        s->sent = s->next;
    s->next++;
    s->deadline = now + s->timeout_us;
    return true;
}

static void sender_abort(struct fab_rmpp_sender *s, uint8_t status)
{
    s->state = FAB_RMPP_FAILED;
    s->abort_status = status;
}

/* Handles an ACK. Ignores an ACK that was overtaken by a later one. */
static void acknowledged(struct fab_rmpp_sender *s, uint64_t now, const struct fab_rmpp *h)
{
    if (h->segment > s->sent) {
        sender_abort(s, FAB_RMPP_SEGMENT_TOO_BIG);
        return;
    }
    if (h->length < h->segment) {
        sender_abort(s, FAB_RMPP_WINDOW_TOO_SMALL);
        return;
    }
    if (h->segment < s->acked)
        return;
    if (h->segment > s->acked || h->length > s->last)
        s->left = s->retries;
    s->acked = h->segment;
    if (h->length > s->last)
        s->last = h->length;
    if (s->next <= s->acked)
        s->next = s->acked + 1;
    s->deadline = now + s->timeout_us;
    if (s->acked == s->segments)
        s->state = FAB_RMPP_DONE;
}

void fab_mads_rmpp_sender_input(struct fab_rmpp_sender *s, uint64_t now,
                                const uint8_t mad[FAB_MAD_SIZE])
{
    struct fab_rmpp h = get_rmpp(mad);
    if (s->state != FAB_RMPP_GOING)
        return;
    if (h.type == FAB_RMPP_STOP || h.type == FAB_RMPP_ABORT)
        s->state = FAB_RMPP_FAILED;
    else if (h.version != 1)
        sender_abort(s, FAB_RMPP_BAD_VERSION);
    else if (h.type != FAB_RMPP_ACK)
        sender_abort(s, FAB_RMPP_BAD_TYPE);
    else if (h.status != FAB_RMPP_OK)
        sender_abort(s, FAB_RMPP_BAD_STATUS);
    else
        acknowledged(s, now, &h);
}

void fab_mads_rmpp_sender_expire(struct fab_rmpp_sender *s, uint64_t now)
{
    if (s->state != FAB_RMPP_GOING || now < s->deadline)
        return;
    s->deadline = now + s->timeout_us;
    if (s->left-- == 0)
        sender_abort(s, FAB_RMPP_TOO_MANY_RETRIES);
    else
        s->next = s->acked + 1;
}
