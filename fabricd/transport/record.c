/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The recorder. This file decides when entries are written to a recording; libfabmgr/recording
 * defines the format of the file.
 *
 * If the transport has no room for a MAD (BUSY), the recorder records the MAD only when a later try
 * succeeds. If the transport refuses a MAD, the recorder records it as failed. It records incoming
 * MADs before it passes them to the receivers; all MADs of a batch get the same time stamp. The
 * last entry of the file says why the recording ended. The recorder stops early enough that this
 * entry fits below the size limit.
 */
#include "fabricd/transport/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/events.h"
#include "fabricd/transport/tape.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/base/version.h"
#include "libfabmgr/recording/recording.h"

#define FLUSH_US 100000u
#define CLOCK_EVERY 16

struct recorder {
    struct transport base;
    struct transport *to;
    struct bus *bus;
    struct loop_timer *flush_timer;
    /* the file that is written; NULL: the recording has ended */
    struct tape *tape;
    char *path;
    uint64_t began_us, written, limit;
    bool flush_set;
    /* true: the receivers are working on a batch of incoming MADs */
    bool in_batch;
    /* number of time stamps in this batch so far; sent_at reads the clock for only one in
     * CLOCK_EVERY of them */
    unsigned batch_out;
    uint64_t now_us;
};

/* ---- the tape ---- */

static void emit_stopped(struct recorder *r, const char *reason)
{
    event_emit(r->bus, recording_stopped, .subject = r->base.name, .path = r->path,
               .bytes = r->written, .reason = reason);
}

/* Ends the recording: writes the last entry with the reason, and closes the file. Emits the event
 * recording-stopped, unless `end` is STOPPED and the file was written without an error. What was
 * recorded before can be replayed. */
static void stop(struct recorder *r, enum fab_recording_end end, const char *reason)
{
    struct tape *tape = r->tape;
    uint8_t *room = tape_room(tape, FAB_RECORDING_ENTRY_MAX);
    const struct fab_recording_entry e = {
        .kind = FAB_RECORDING_END, .time_us = clock_now_us() - r->began_us, .small = (uint8_t)end};
    if (room)
        tape_advance(tape, fab_recording_pack(&e, room));
    r->tape = NULL;
    int error = tape_close(tape);
    if (error || end != FAB_RECORDING_STOPPED)
        emit_stopped(r, error ? strerror(error) : reason);
}

/* Returns memory for an entry of `size` bytes. If the file is full or the disk fails, ends the
 * recording and returns NULL. Also returns NULL if the recording has ended before. */
static uint8_t *room_for(struct recorder *r, size_t size)
{
    uint8_t *room = NULL;
    if (!r->tape)
        return NULL;
    if (r->limit && r->written + size + FAB_RECORDING_ENTRY_MAX > r->limit)
        stop(r, FAB_RECORDING_LIMIT, "the file has reached its limit (--record-limit)");
    else if (!(room = tape_room(r->tape, size)))
        stop(r, FAB_RECORDING_DISK_SLOW, "the disk cannot keep up");
    return room;
}

static void advance(struct recorder *r, size_t size)
{
    tape_advance(r->tape, size);
    r->written += size;
    if (!r->flush_set)
        loop_timer_set(r->flush_timer, FLUSH_US);
    r->flush_set = true;
}

static void append(struct recorder *r, const struct fab_recording_entry *e)
{
    uint8_t *room = room_for(r, FAB_RECORDING_ENTRY_MAX);
    if (room)
        advance(r, fab_recording_pack(e, room));
}

static void on_flush(void *ctx)
{
    struct recorder *r = ctx;
    r->flush_set = false;
    if (!r->tape)
        return;
    tape_flush(r->tape);
    int error = tape_error(r->tape);
    if (error)
        stop(r, FAB_RECORDING_STOPPED, strerror(error));
}

/* ---- MADs ---- */

static void append_mad(struct recorder *r, uint8_t kind, uint64_t now,
                       const struct transport_mad *mad, bool failed)
{
    const struct fab_recording_entry e = {
        .kind = kind,
        .failed = failed,
        .time_us = now - r->began_us,
        .addr = mad->addr,
        .qp = mad->qp,
        .len = mad->len,
        .bytes = mad->bytes,
    };
    append(r, &e);
}

/* Returns the time stamp of a sent MAD. Reading the clock is the largest part of the cost of a
 * recording. So the clock is read only for one in CLOCK_EVERY MADs that the receivers send while
 * they work on a batch. */
static uint64_t sent_at(struct recorder *r)
{
    if (!r->in_batch || r->batch_out++ % CLOCK_EVERY == 0)
        r->now_us = clock_now_us();
    return r->now_us;
}

static int record_send(struct transport *base, const struct transport_mad *mad)
{
    struct recorder *r = (struct recorder *)base;
    int status = transport_send(r->to, mad);
    if (status != FAB_E_BUSY && r->tape)
        append_mad(r, FAB_RECORDING_OUT, sent_at(r), mad, status != FAB_OK);
    return status;
}

static void record_receive(void *ctx, const struct transport_mad *mads, size_t count)
{
    struct recorder *r = ctx;
    r->now_us = r->tape ? clock_now_us() : 0;
    for (size_t i = 0; i < count && r->tape; i++)
        append_mad(r, FAB_RECORDING_IN, r->now_us, &mads[i], mads[i].failed);
    r->in_batch = true;
    r->batch_out = 1;
    transport_hand_up(&r->base, mads, count);
    r->in_batch = false;
}

static int record_set_is_sm(struct transport *base, bool is_sm)
{
    struct transport *to = ((struct recorder *)base)->to;
    return to->ops->set_is_sm(to, is_sm);
}

/* ---- what a run depends on ---- */

void transport_record_lease(struct transport *t, uint64_t guid, uint16_t lid, uint8_t lmc)
{
    append((struct recorder *)t,
           &(struct fab_recording_entry){
               .kind = FAB_RECORDING_LEASE, .guid = guid, .lid = lid, .small = lmc});
}

void transport_record_disabled(struct transport *t, uint64_t node_guid, uint8_t port)
{
    append((struct recorder *)t, &(struct fab_recording_entry){.kind = FAB_RECORDING_DISABLED,
                                                               .guid = node_guid,
                                                               .small = port});
}

void transport_record_pin(struct transport *t, uint64_t node_guid, const char *name)
{
    append((struct recorder *)t,
           &(struct fab_recording_entry){.kind = FAB_RECORDING_PIN,
                                         .guid = node_guid,
                                         .bytes = (const uint8_t *)name,
                                         .len = (uint16_t)strnlen(name, FAB_NODE_DESC_LEN)});
}

void transport_record_settings(struct transport *t, const char *text, size_t len)
{
    struct recorder *r = (struct recorder *)t;
    uint8_t *room = len <= FAB_RECORDING_BODY_MAX ? room_for(r, FAB_RECORDING_PREFIX + len) : NULL;
    if (!room)
        return;
    fab_recording_pack_settings(0, (uint16_t)len, room);
    memcpy(room + FAB_RECORDING_PREFIX, text, len);
    advance(r, FAB_RECORDING_PREFIX + len);
}

/* ---- opening and closing ---- */

static void record_close(struct transport *base)
{
    struct recorder *r = (struct recorder *)base;
    if (r->tape)
        stop(r, FAB_RECORDING_STOPPED, NULL);
    transport_on_receive(r->to, NULL, NULL);
    loop_timer_free(r->flush_timer);
    free(r->path);
    free(r);
}

static const struct transport_ops record_ops = {
    .send = record_send, .set_is_sm = record_set_is_sm, .close = record_close};

static void write_header(struct recorder *r)
{
    struct fab_recording_header h = {
        .window = r->to->window_max, .began_us = clock_unix_us(), .port_guid = r->to->port_guid};
    snprintf(h.version, sizeof(h.version), "%s", fab_base_version());
    snprintf(h.name, sizeof(h.name), "%s", r->to->name);
    uint8_t *room = room_for(r, FAB_RECORDING_HEADER);
    if (!room)
        return;
    fab_recording_pack_header(&h, room);
    advance(r, FAB_RECORDING_HEADER);
}

int transport_record_open(struct loop *l, struct transport *to, struct bus *bus, const char *path,
                          uint64_t limit, struct transport **ret, char *why, size_t why_len)
{
    struct recorder *r = calloc(1, sizeof(*r));
    int status = FAB_E_NOMEM;
    snprintf(why, why_len, "out of memory");
    if (!r)
        return status;
    r->flush_timer = loop_timer_new(l, on_flush, r);
    r->path = strdup(path);
    if (r->flush_timer && r->path)
        status = tape_open(path, &r->tape, why, why_len);
    if (status != FAB_OK) {
        loop_timer_free(r->flush_timer);
        free(r->path);
        free(r);
        return status;
    }
    r->base = *to;
    r->base.ops = &record_ops;
    r->base.receive = NULL;
    r->to = to;
    r->bus = bus;
    r->limit = limit;
    r->began_us = clock_now_us();
    write_header(r);
    transport_on_receive(to, record_receive, r);
    *ret = &r->base;
    return FAB_OK;
}
