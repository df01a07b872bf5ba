/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server side of an HTTP/2 connection (RFC 9113), with nghttp2.
 *
 * nghttp2 handles frames, header compression and flow control. For each stream, this file keeps the
 * request headers and a queue of chunks. nghttp2 takes bytes from the queue when the client's
 * window and the socket permit it. So a client that never reads uses no memory beyond that of its
 * queues.
 *
 * An h2_stream is created at the first HEADERS frame of a stream, and freed when nghttp2 closes the
 * stream. The layer above may keep a pointer to it from `open` to `close`.
 */
#include "config.h"

#include "fabricd/rpc/h2.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/grpc/grpc.h"

/* length of the header of an HTTP/2 frame */
#define FRAME_HEADER 9u

struct h2_chunk {
    struct h2_chunk *next;
    uint8_t *data;
    size_t len, pos;
};

struct h2 {
    nghttp2_session *session;
    const struct h2_ops *ops;
    void *ctx;
    LIST_HEAD(, h2_stream) list;
    size_t streams, queued;
    uint64_t now_us;
    /* The result of h2_headers_until. One value is enough for all streams, because the frames of a
     * header block follow each other directly, so at most one header block is incomplete. */
    uint64_t headers_until;
    /* `budget`: number of frames that the client may still send (limits.h). The budget grows with
     * time; its growth up to the time `budget_us` has been added. */
    uint32_t budget;
    uint64_t budget_us;
    /* The state of pay(), which finds the frame headers in the received bytes. `skip`: number of
     * payload bytes before the next frame header. `head`: number of bytes of this header that were
     * received. `length`: length of the payload, computed from these bytes. */
    uint32_t skip, head, length;
    bool ready;
};

/* ---- streams --------------------------------------------------------------------------------- */

static struct h2_stream *stream_new(struct h2 *h, int32_t id)
{
    struct h2_stream *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->h2 = h;
    s->id = id;
    s->last = &s->first;
    LIST_INSERT_HEAD(&h->list, s, entry);
    h->streams++;
    return s;
}

static void chunk_drop(struct h2_stream *s)
{
    struct h2_chunk *c = s->first;
    s->first = c->next;
    if (s->first == NULL)
        s->last = &s->first;
    s->h2->queued -= c->len - c->pos;
    free(c->data);
    free(c);
}

static void stream_free(struct h2_stream *s)
{
    if (s->told)
        s->h2->ops->close(s->h2->ctx, s);
    else
        s->h2->headers_until = UINT64_MAX;
    while (s->first != NULL)
        chunk_drop(s);
    LIST_REMOVE(s, entry);
    s->h2->streams--;
    free(s->message);
    free(s);
}

static struct h2_stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* ---- limit of frames ------------------------------------------------------------------------- */

static void earn(struct h2 *h, uint64_t frames)
{
    uint64_t sum = h->budget + frames;
    h->budget = sum < RPC_FRAMES_BURST ? (uint32_t)sum : RPC_FRAMES_BURST;
}

static void earn_by_time(struct h2 *h)
{
    uint64_t frames = (h->now_us - h->budget_us) * RPC_FRAMES_RATE / 1000000;
    if (frames == 0)
        return;
    earn(h, frames);
    h->budget_us = h->now_us;
}

static void calm(struct h2 *h)
{
    static const char why[] = "too many HTTP/2 frames for the calls of this client";
    nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(h->session),
                          NGHTTP2_ENHANCE_YOUR_CALM, (const uint8_t *)why, sizeof why - 1);
}

/* Subtracts the frames whose header ends in `data` from the client's budget. nghttp2 does not
 * report frames that it ignores, so this function finds the frame headers itself. Returns false if
 * the budget is used up. */
static bool pay(struct h2 *h, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len;) {
        if (h->skip > 0) {
            size_t n = h->skip < len - i ? h->skip : len - i;
            h->skip -= (uint32_t)n;
            i += n;
            continue;
        }
        if (h->head < 3) /* the first 3 bytes of a frame header are the length of the payload */
            h->length = h->length << 8 | data[i];
        i++;
        if (++h->head < FRAME_HEADER)
            continue;
        if (h->budget == 0)
            return false;
        h->budget--;
        h->skip = h->length;
        h->head = h->length = 0;
    }
    return true;
}

/* ---- receiving --------------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2 *h = user;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct h2_stream *s = stream_new(h, frame->hd.stream_id);
    if (s == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, s->id, s);
    h->headers_until = h->now_us + RPC_REQUEST_US;
    return 0;
}

static void keep(char *place, size_t room, const uint8_t *value, size_t len)
{
    if (len >= room || memchr(value, '\0', len) != NULL) {
        value = (const uint8_t *)"?";
        len = 1;
    }
    memcpy(place, value, len);
    place[len] = '\0';
}

struct header_place {
    const char *name;
    size_t offset, room;
};
#define PLACE(n, m)                                                                                \
    {                                                                                              \
        n, offsetof(struct h2_request, m), sizeof((struct h2_request *)0)->m                       \
    }
static const struct header_place header_places[] = {
    PLACE(":method", method),
    PLACE(":path", path),
    PLACE("content-type", content_type),
    PLACE("grpc-timeout", timeout),
    PLACE("grpc-encoding", encoding),
    PLACE("fabric-reason", reason),
    PLACE("fabric-local", local),
};

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    (void)flags, (void)user;
    struct h2_stream *s = stream_of(session, frame->hd.stream_id);
    if (s == NULL || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    s->header_bytes += name_len + value_len + 32;
    if (s->header_bytes > RPC_MAX_HEADERS)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    for (size_t i = 0; i < sizeof header_places / sizeof header_places[0]; i++) {
        const struct header_place *p = &header_places[i];
        if (strlen(p->name) == name_len && memcmp(p->name, name, name_len) == 0)
            keep((char *)&s->request + p->offset, p->room, value, value_len);
    }
    return 0;
}

static void on_request(struct h2 *h, struct h2_stream *s)
{
    s->told = true;
    h->ops->open(h->ctx, s);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2 *h = user;
    if (frame->hd.type == NGHTTP2_SETTINGS)
        h->ready = true;
    if (frame->hd.type == NGHTTP2_HEADERS)
        h->headers_until = UINT64_MAX;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct h2_stream *s = stream_of(session, frame->hd.stream_id);
    if (s == NULL)
        return 0;
    if (!s->told)
        on_request(h, s);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && !s->ended) {
        s->ended = true;
        h->ops->end(h->ctx, s);
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *user)
{
    (void)flags;
    struct h2 *h = user;
    struct h2_stream *s = stream_of(session, id);
    if (s != NULL && s->told)
        h->ops->data(h->ctx, s, data, len);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    (void)error, (void)user;
    struct h2_stream *s = stream_of(session, id);
    if (s == NULL)
        return 0;
    nghttp2_session_set_stream_user_data(session, id, NULL);
    stream_free(s);
    return 0;
}

/* ---- sending --------------------------------------------------------------------------- */

#define NV(n, v, len)                                                                              \
    {                                                                                              \
        (uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1, (len),                \
            NGHTTP2_NV_FLAG_NO_COPY_NAME                                                           \
    }

static size_t trailers(const struct h2_stream *s, char code[8], nghttp2_nv nv[2])
{
    int n = snprintf(code, 8, "%d", s->code);
    nv[0] = (nghttp2_nv)NV("grpc-status", code, (size_t)n);
    if (s->message == NULL)
        return 1;
    nv[1] = (nghttp2_nv)NV("grpc-message", s->message, strlen(s->message));
    return 2;
}

static size_t copy_out(struct h2_stream *s, uint8_t *buf, size_t room)
{
    size_t out = 0;
    while (s->first != NULL && out < room) {
        struct h2_chunk *c = s->first;
        size_t n = c->len - c->pos < room - out ? c->len - c->pos : room - out;
        memcpy(buf + out, c->data + c->pos, n);
        c->pos += n;
        s->h2->queued -= n;
        out += n;
        if (c->pos == c->len)
            chunk_drop(s);
    }
    return out;
}

static ssize_t read_data(nghttp2_session *session, int32_t id, uint8_t *buf, size_t room,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct h2 *h = user;
    struct h2_stream *s = source->ptr;
    if (s->first == NULL && !s->finished)
        h->ops->drain(h->ctx, s);
    size_t n = copy_out(s, buf, room);
    if (s->first == NULL && s->finished) {
        nghttp2_nv nv[2];
        char code[8];
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        return nghttp2_submit_trailer(session, id, nv, trailers(s, code, nv)) == 0
                   ? (ssize_t)n
                   : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    s->deferred = n == 0;
    return n == 0 ? NGHTTP2_ERR_DEFERRED : (ssize_t)n;
}

/* Called after a frame was sent. Adds RPC_FRAMES_ANSWER to the client's budget of frames, if this
 * is a HEADERS frame or a DATA frame of at least RPC_FRAMES_DATA bytes. If the answer is complete
 * and the client is still sending, tells the client to stop (RFC 9113, 8.1). */
static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2 *h = user;
    if (frame->hd.type == NGHTTP2_HEADERS ||
        (frame->hd.type == NGHTTP2_DATA && frame->hd.length >= RPC_FRAMES_DATA))
        earn(h, RPC_FRAMES_ANSWER);
    if (frame->hd.type != NGHTTP2_HEADERS || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return 0;
    struct h2_stream *s = stream_of(session, frame->hd.stream_id);
    if (s != NULL && !s->ended)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
    return 0;
}

#define RESPONSE_HEADERS                                                                           \
    NV(":status", "200", 3), NV("content-type", "application/grpc", 16),                           \
        NV("grpc-accept-encoding", "identity", 8)

static int respond(struct h2_stream *s)
{
    const nghttp2_nv nv[] = {RESPONSE_HEADERS};
    nghttp2_data_provider source = {.source.ptr = s, .read_callback = read_data};
    s->responded = true;
    return nghttp2_submit_response(s->h2->session, s->id, nv, sizeof nv / sizeof nv[0], &source) ==
                   0
               ? FAB_OK
               : FAB_E_NOMEM;
}

/* Sends headers and trailers in a single HEADERS frame, because the answer has no data. gRPC
 * calls this "Trailers-Only". */
static int respond_trailers_only(struct h2_stream *s)
{
    nghttp2_nv nv[5] = {RESPONSE_HEADERS};
    char code[8];
    size_t n = 3 + trailers(s, code, nv + 3);
    s->responded = true;
    return nghttp2_submit_response(s->h2->session, s->id, nv, n, NULL) == 0 ? FAB_OK : FAB_E_NOMEM;
}

void h2_resume(struct h2_stream *s)
{
    if (s->deferred)
        nghttp2_session_resume_data(s->h2->session, s->id);
    s->deferred = false;
}

int h2_start(struct h2_stream *s)
{
    return s->responded ? FAB_OK : respond(s);
}

int h2_write(struct h2_stream *s, uint8_t *data, size_t len)
{
    struct h2_chunk *c = calloc(1, sizeof *c);
    if (c == NULL || s->finished) {
        free(c);
        free(data);
        return s->finished ? FAB_E_INVAL : FAB_E_NOMEM;
    }
    *c = (struct h2_chunk){.data = data, .len = len};
    *s->last = c;
    s->last = &c->next;
    s->h2->queued += len;
    h2_resume(s);
    return h2_start(s);
}

int h2_finish(struct h2_stream *s, int code, const char *message)
{
    if (s->finished)
        return FAB_OK;
    s->finished = true;
    s->code = code;
    if (message != NULL && message[0] != '\0') {
        size_t room = strlen(message) * 3 + 1;
        s->message = malloc(room);
        if (s->message != NULL)
            fab_grpc_percent_encode(message, s->message, room);
    }
    h2_resume(s);
    return s->responded ? FAB_OK : respond_trailers_only(s);
}

int h2_refuse(struct h2_stream *s, int http_status)
{
    char text[8];
    int n = snprintf(text, sizeof text, "%d", http_status);
    const nghttp2_nv nv[] = {NV(":status", text, (size_t)n)};
    s->responded = s->finished = true;
    return nghttp2_submit_response(s->h2->session, s->id, nv, 1, NULL) == 0 ? FAB_OK : FAB_E_NOMEM;
}

/* ---- the connection -------------------------------------------------------------------------- */

static int session_new(struct h2 *h)
{
    nghttp2_session_callbacks *cb = NULL;
    nghttp2_option *option = NULL;
    int rc = FAB_E_NOMEM;
    if (nghttp2_session_callbacks_new(&cb) != 0 || nghttp2_option_new(&option) != 0)
        goto out;
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
    /* without this option, nghttp2 keeps closed streams for its priority tree */
    nghttp2_option_set_no_closed_streams(option, 1);
#if HAVE_DECL_NGHTTP2_OPTION_SET_STREAM_RESET_RATE_LIMIT
    /* By default, nghttp2 ends a connection whose client resets more than 33 streams per second for
     * some time. But a client ends each WatchEvents call by a reset, so many resets can be normal.
     * pay() limits floods instead. */
    nghttp2_option_set_stream_reset_rate_limit(option, UINT64_MAX, UINT64_MAX);
#endif
    rc = nghttp2_session_server_new2(&h->session, cb, h, option) == 0 ? FAB_OK : FAB_E_NOMEM;
out:
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(cb);
    return rc;
}

int h2_new(const struct h2_ops *ops, void *ctx, struct h2 **ret)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, RPC_MAX_STREAMS},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, RPC_MAX_HEADERS},
    };
    struct h2 *h = calloc(1, sizeof *h);
    if (h == NULL)
        return FAB_E_NOMEM;
    h->ops = ops;
    h->ctx = ctx;
    h->headers_until = UINT64_MAX;
    h->budget = RPC_FRAMES_BEGIN;
    h->skip = NGHTTP2_CLIENT_MAGIC_LEN;
    int rc = session_new(h);
    if (rc == FAB_OK && nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, 2) != 0)
        rc = FAB_E_NOMEM;
    if (rc < 0) {
        h2_free(h);
        return rc;
    }
    *ret = h;
    return FAB_OK;
}

void h2_free(struct h2 *h)
{
    if (h == NULL)
        return;
    /* Free the remaining streams first, because nghttp2_session_del drops them without a
     * callback. */
    while (!LIST_EMPTY(&h->list))
        stream_free(LIST_FIRST(&h->list));
    nghttp2_session_del(h->session);
    free(h);
}

int h2_receive(struct h2 *h, const uint8_t *data, size_t len, uint64_t now_us)
{
    h->now_us = now_us;
    if (h->budget_us == 0)
        h->budget_us = now_us;
    earn_by_time(h);
    if (!pay(h, data, len)) {
        calm(h);
        return FAB_E_LIMIT;
    }
    ssize_t n = nghttp2_session_mem_recv(h->session, data, len);
    return n >= 0 && (size_t)n == len ? FAB_OK : FAB_E_FORMAT;
}

ssize_t h2_produce(struct h2 *h, const uint8_t **ret_data)
{
    ssize_t n = nghttp2_session_mem_send(h->session, ret_data);
    return n >= 0 ? n : FAB_E_NOMEM;
}

bool h2_done(const struct h2 *h)
{
    return nghttp2_session_want_read(h->session) == 0 &&
           nghttp2_session_want_write(h->session) == 0;
}

void h2_shut(struct h2 *h)
{
    nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(h->session), NGHTTP2_NO_ERROR,
                          NULL, 0);
}

bool h2_ready(const struct h2 *h)
{
    return h->ready;
}

uint64_t h2_headers_until(const struct h2 *h)
{
    return h->headers_until;
}

size_t h2_streams(const struct h2 *h)
{
    return h->streams;
}

size_t h2_queued(const struct h2 *h)
{
    return h->queued;
}
