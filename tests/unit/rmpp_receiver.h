/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An RMPP receiver, the counterpart of the sender in libfabmgr/mads/rmpp.h. In the tests, it is a
 * host that receives a long answer of subnet administration in segments. A receiver serves one
 * transfer. Its memory grows only with the data that it has received, up to its limit.
 */
#ifndef TESTS_UNIT_RMPP_RECEIVER_H
#define TESTS_UNIT_RMPP_RECEIVER_H

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/mads/rmpp.h"

/* length in bytes of the class header, which PayloadLength includes in each segment */
#define RMPP_CLASS_HEADER (FAB_SA_DATA - FAB_RMPP_DATA)

struct rmpp_receiver_config {
    /* Configuration of the sender. The receiver needs it, because it waits as long as the sender
     * retries. */
    struct fab_rmpp_config sender;
    /* Number of segments that the sender may send after the last ACK, at least 1. */
    uint32_t window;
    /* maximum size of a transfer that the receiver accepts, in bytes */
    size_t limit;
};
struct rmpp_receiver {
    struct rmpp_receiver_config config;
    uint8_t head[FAB_SA_DATA]; /* headers of the first segment */
    /* The data received so far, without headers; owned by this struct. */
    uint8_t *data;
    size_t len, room;
    /* the last segment that was received in order, and the last segment that the window permits */
    uint32_t got, window_last;
    /* Length of the data in bytes, as PayloadLength of the first segment gives it; 0: not given. */
    uint32_t announced;
    uint64_t deadline;
    enum fab_rmpp_state state;
};

static inline struct fab_rmpp rmpp_get(const uint8_t *mad)
{
    struct fab_rmpp h;
    (void)fab_wire_attr_unpack(&fab_wire_attr_rmpp, mad + FAB_RMPP_AT, FAB_RMPP_DATA - FAB_RMPP_AT,
                               &h);
    return h;
}

/* Makes a reply to `mad`, with the RMPP header h. */
static inline void rmpp_reply(const uint8_t *mad, struct fab_rmpp h, uint8_t *reply)
{
    h.version = 1;
    h.resp_time = 31; /* 31: no response time given */
    h.flags = FAB_RMPP_ACTIVE;
    memset(reply, 0, FAB_MAD_SIZE);
    memcpy(reply, mad, FAB_SA_DATA);
    (void)fab_wire_attr_pack(&fab_wire_attr_rmpp, &h, reply + FAB_RMPP_AT,
                             FAB_RMPP_DATA - FAB_RMPP_AT);
}

/* Returns the time at which the receiver gives up. By then, a sender with the same configuration
 * has given up, too. */
static inline uint64_t rmpp_deadline(const struct rmpp_receiver_config *config, uint64_t now)
{
    return now + config->sender.timeout_us * ((uint64_t)config->sender.retries + 1);
}

static inline void rmpp_receiver_init(struct rmpp_receiver *r,
                                      const struct rmpp_receiver_config *config, uint64_t now)
{
    *r = (struct rmpp_receiver){
        .config = *config, .window_last = 1, .deadline = rmpp_deadline(config, now)};
}

static inline void rmpp_receiver_fini(struct rmpp_receiver *r)
{
    free(r->data);
    r->data = NULL;
}

/* Returns the status (IBA 13.6.2.1) with which the receiver rejects a segment that violates the
 * protocol; FAB_RMPP_OK: the segment is valid. */
static inline uint8_t rmpp_error_of(const struct rmpp_receiver *r, const struct fab_rmpp *h)
{
    bool last = (h->flags & FAB_RMPP_LAST) != 0;
    if (h->version != 1)
        return FAB_RMPP_BAD_VERSION;
    if (h->type != FAB_RMPP_DATA_TYPE)
        return FAB_RMPP_BAD_TYPE;
    if (h->status != FAB_RMPP_OK)
        return FAB_RMPP_BAD_STATUS;
    if (h->segment == 0 || (h->segment == 1) != ((h->flags & FAB_RMPP_FIRST) != 0))
        return FAB_RMPP_BAD_FIRST;
    if (h->segment > r->window_last)
        return FAB_RMPP_SEGMENT_TOO_BIG;
    if (last && (h->length < RMPP_CLASS_HEADER || h->length > FAB_RMPP_SEGMENT))
        return FAB_RMPP_BAD_LENGTH;
    return FAB_RMPP_OK;
}

/* Appends the data of the next segment in order. Returns FAB_RMPP_OK, or the status for a STOP. */
static inline uint8_t rmpp_take(struct rmpp_receiver *r, const struct fab_rmpp *h,
                                const uint8_t *mad)
{
    size_t n = h->flags & FAB_RMPP_LAST ? h->length - RMPP_CLASS_HEADER : FAB_SA_DATA_LEN;
    if (r->got == 0) {
        memcpy(r->head, mad, sizeof r->head);
        r->announced = h->flags & FAB_RMPP_LAST ? 0 : h->length;
    }
    if (n > r->config.limit - r->len ||
        r->announced / FAB_RMPP_SEGMENT * FAB_SA_DATA_LEN > r->config.limit)
        return FAB_RMPP_NO_RESOURCES;
    if (r->len + n > r->room) {
        uint8_t *more = fab_base_grow(r->data, 1, r->len + n, &r->room);
        if (more == NULL)
            return FAB_RMPP_NO_RESOURCES;
        r->data = more;
    }
    if (n > 0)
        memcpy(r->data + r->len, mad + FAB_SA_DATA, n);
    r->len += n;
    r->got++;
    if (h->flags & FAB_RMPP_LAST)
        r->state = FAB_RMPP_DONE;
    return FAB_RMPP_OK;
}

static inline void rmpp_write_ack(struct rmpp_receiver *r, const uint8_t *mad, uint8_t *reply)
{
    if (r->state == FAB_RMPP_GOING && r->got == r->window_last)
        r->window_last = r->got + (r->config.window > 0 ? r->config.window : 1);
    struct fab_rmpp h = {.type = FAB_RMPP_ACK,
                         .segment = r->got,
                         .length = r->window_last > r->got ? r->window_last : r->got};
    rmpp_reply(mad, h, reply);
}

/* Ends the transfer with STOP or ABORT. Returns false if the transfer had already ended. */
static inline bool rmpp_end_transfer(struct rmpp_receiver *r, uint8_t fault, const uint8_t *mad,
                                     uint8_t *reply)
{
    if (r->state != FAB_RMPP_GOING)
        return false;
    r->state = FAB_RMPP_FAILED;
    struct fab_rmpp h = {.type = fault == FAB_RMPP_NO_RESOURCES ? FAB_RMPP_STOP : FAB_RMPP_ABORT,
                         .status = fault};
    rmpp_reply(mad, h, reply);
    return true;
}

/* Handles a MAD of the transfer. Returns true if the caller must send `reply` (an ACK, STOP or
 * ABORT) to the sender. If a segment arrives again, its ACK was lost. The receiver then
 * acknowledges the segment again, even after the end of the transfer. */
static inline bool rmpp_receiver_input(struct rmpp_receiver *r, uint64_t now,
                                       const uint8_t mad[FAB_MAD_SIZE], uint8_t reply[FAB_MAD_SIZE])
{
    struct fab_rmpp h = rmpp_get(mad);
    if (h.type == FAB_RMPP_STOP || h.type == FAB_RMPP_ABORT || r->state == FAB_RMPP_FAILED) {
        if (r->state == FAB_RMPP_GOING)
            r->state = FAB_RMPP_FAILED;
        return false;
    }
    uint8_t fault = rmpp_error_of(r, &h);
    bool again = h.segment <= r->got;
    if (fault == FAB_RMPP_OK && r->state == FAB_RMPP_GOING && h.segment == r->got + 1) {
        r->deadline = rmpp_deadline(&r->config, now);
        fault = rmpp_take(r, &h, mad);
    }
    if (fault != FAB_RMPP_OK)
        return rmpp_end_transfer(r, fault, mad, reply);
    if (!again && h.segment != r->window_last && (h.flags & FAB_RMPP_LAST) == 0)
        return false;
    rmpp_write_ack(r, mad, reply);
    return true;
}

/* Fails the transfer if no segment arrived for (retries + 1) * timeout_us microseconds. */
static inline void rmpp_receiver_expire(struct rmpp_receiver *r, uint64_t now)
{
    if (r->state == FAB_RMPP_GOING && now >= r->deadline)
        r->state = FAB_RMPP_FAILED;
}

#endif
