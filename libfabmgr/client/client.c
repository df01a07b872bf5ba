/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes blocking calls over one HTTP/2 connection, one call at a time, with nghttp2.
 *
 * A call is a `struct exchange` on the stack: the request, and what was received so far. The
 * callbacks of nghttp2 fill it. The loop in run() sends and receives until the stream is closed,
 * the connection is lost, or the deadline has passed.
 *
 * The server is not trusted: the size of messages is limited, and header values are truncated to
 * their buffers.
 */
#include "libfabmgr/client/client.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/client/socket.h"
#include "libfabmgr/grpc/grpc.h"

#define MAX_REPLY (16u << 20)
/* time in ms by which the client waits longer than the deadline, so that the server itself can
 * report DEADLINE_EXCEEDED */
#define GRACE_MS 500
/* maximum length in bytes of the header fabric-reason */
#define REASON_MAX 768
/* number of bytes that the server may send before the client has read them; enough for one page of
 * a list */
#define WINDOW (1 << 20)

struct fab_client {
    struct client_socket *socket;
    nghttp2_session *session;
    unsigned timeout_ms;
    bool broken, local;
    char *address;
    /* Value of the header fabric-reason, percent-encoded; "": none. The array has room for more
     * than the REASON_MAX bytes that the server accepts, so that the client can recognise a reason
     * that is too long. */
    char reason[REASON_MAX + 4];
};

struct exchange {
    struct fab_client *client;
    const ProtobufCMessageDescriptor *reply;
    /* only for a stream: function of the caller for each reply; NULL: the call has a single reply,
     * which is stored in `kept` */
    fab_client_each *each;
    void *ctx;
    ProtobufCMessage *kept;
    ProtobufCAllocator *memory; /* allocates the replies; NULL: malloc */
    uint8_t *request;           /* the gRPC prefix, and the request message after it */
    size_t request_len, request_sent;
    struct fab_grpc_reader reader;
    int32_t stream;
    /* HTTP status and gRPC status (code) of the response; code -1: grpc-status has not arrived
     * yet */
    int http_status, code;
    char message[sizeof((struct fab_client_error *)0)->message];
    /* error code with which HTTP/2 (RST_STREAM) ended the stream */
    uint32_t reset;
    bool closed, enough;
    /* enum fab_status: why a received message could not be read; FAB_OK: no error */
    int failed;
};

/* ---- receiving ------------------------------------------------------------------------------- */

static struct exchange *exchange_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int number(const uint8_t *value, size_t len)
{
    int n = 0;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9' || i > 3)
            return -1;
        n = n * 10 + (value[i] - '0');
    }
    return len > 0 ? n : -1;
}

static bool is_named(const uint8_t *name, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(name, text, len) == 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    (void)flags, (void)user;
    struct exchange *x = exchange_of(session, frame->hd.stream_id);
    if (x == NULL)
        return 0;
    if (is_named(name, name_len, ":status"))
        x->http_status = number(value, value_len);
    else if (is_named(name, name_len, "grpc-status"))
        x->code = number(value, value_len);
    else if (is_named(name, name_len, "grpc-message"))
        fab_grpc_percent_decode((const char *)value, value_len, x->message, sizeof x->message);
    return 0;
}

static void on_message(struct exchange *x)
{
    ProtobufCMessage *m =
        protobuf_c_message_unpack(x->reply, x->memory, x->reader.len, x->reader.body);
    if (m == NULL) {
        x->failed = FAB_E_FORMAT;
        return;
    }
    if (x->each == NULL && x->kept == NULL) {
        x->kept = m;
        return;
    }
    x->enough = x->each != NULL && !x->each(x->ctx, m);
    protobuf_c_message_free_unpacked(m, x->memory);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *user)
{
    (void)flags, (void)user;
    struct exchange *x = exchange_of(session, id);
    while (x != NULL && len > 0 && x->failed == FAB_OK && !x->enough) {
        int rc = fab_grpc_reader_feed(&x->reader, &data, &len);
        if (rc < 0)
            x->failed = rc;
        else if (rc > 0)
            on_message(x);
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *user)
{
    (void)user;
    struct exchange *x = exchange_of(session, id);
    if (x == NULL)
        return 0;
    x->reset = error;
    x->closed = true;
    nghttp2_session_set_stream_user_data(session, id, NULL);
    return 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static ssize_t read_request(nghttp2_session *session, int32_t id, uint8_t *buf, size_t room,
                            uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)session, (void)id, (void)user;
    struct exchange *x = source->ptr;
    size_t left = x->request_len - x->request_sent;
    size_t n = left < room ? left : room;
    memcpy(buf, x->request + x->request_sent, n);
    x->request_sent += n;
    if (x->request_sent == x->request_len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int submit(struct exchange *x, const char *method, unsigned timeout_ms)
{
    char path[200], timeout[16];
    nghttp2_data_provider body = {.source.ptr = x, .read_callback = read_request};
    snprintf(path, sizeof path, "/%s", method);
    fab_grpc_timeout_format((uint64_t)timeout_ms * 1000, timeout);
    nghttp2_nv nv[10] = {
        header(":method", "POST"),
        header(":scheme", "http"),
        header(":path", path),
        header(":authority", "localhost"),
        header("te", "trailers"),
        header("content-type", "application/grpc"),
        header("user-agent", "fabric-client-c"),
    };
    size_t count = 7;
    if (timeout_ms != 0)
        nv[count++] = header("grpc-timeout", timeout);
    if (x->client->reason[0] != '\0')
        nv[count++] = header("fabric-reason", x->client->reason);
    if (x->client->local)
        nv[count++] = header("fabric-local", "yes");
    x->stream = nghttp2_submit_request(x->client->session, NULL, nv, count, &body, x);
    return x->stream > 0 ? FAB_OK : FAB_E_NOMEM;
}

static int pack(struct exchange *x, const ProtobufCMessage *request)
{
    size_t len = protobuf_c_message_get_packed_size(request);
    x->request = malloc(FAB_GRPC_PREFIX + len);
    if (x->request == NULL || len > UINT32_MAX)
        return FAB_E_NOMEM;
    fab_grpc_prefix(x->request, (uint32_t)len);
    protobuf_c_message_pack(request, x->request + FAB_GRPC_PREFIX);
    x->request_len = FAB_GRPC_PREFIX + len;
    return FAB_OK;
}

/* ---- the loop of a call ---------------------------------------------------------------------- */

static int flush(struct fab_client *c, uint64_t deadline)
{
    for (;;) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(c->session, &data);
        if (n <= 0)
            return n == 0 ? FAB_OK : FAB_E_NOMEM;
        int rc = fab_client_socket_write(c->socket, data, (size_t)n, deadline);
        if (rc < 0)
            return rc;
    }
}

static int receive(struct fab_client *c, uint64_t deadline)
{
    uint8_t buf[65536];
    ssize_t n = fab_client_socket_read(c->socket, buf, sizeof buf, deadline);
    if (n <= 0)
        return n == 0 ? FAB_E_IO : (int)n;
    return nghttp2_session_mem_recv(c->session, buf, (size_t)n) == n ? FAB_OK : FAB_E_FORMAT;
}

static int run(struct exchange *x, uint64_t deadline)
{
    int rc = FAB_OK;
    while (rc == FAB_OK && !x->closed && !x->enough && x->failed == FAB_OK) {
        rc = flush(x->client, deadline);
        if (rc == FAB_OK && !x->closed)
            rc = receive(x->client, deadline);
    }
    if (x->closed)
        return FAB_OK;
    /* The call was cancelled or has failed. Only its stream is reset, so the connection stays
     * usable. */
    nghttp2_session_set_stream_user_data(x->client->session, x->stream, NULL);
    nghttp2_submit_rst_stream(x->client->session, NGHTTP2_FLAG_NONE, x->stream, NGHTTP2_CANCEL);
    if (rc == FAB_OK)
        rc = flush(x->client, deadline);
    x->client->broken = rc < 0;
    return rc;
}

/* ---- the result of a call -------------------------------------------------------------------- */

static enum fab_grpc_code fail(struct fab_client_error *e, enum fab_grpc_code code,
                               const char *message)
{
    e->code = code;
    snprintf(e->message, sizeof e->message, "%s", message);
    return code;
}

static enum fab_grpc_code no_connection(const struct fab_client *c, int rc,
                                        struct fab_client_error *e)
{
    const char *refusal = fab_client_socket_refusal(c->socket);
    if (refusal != NULL) {
        e->code = FAB_GRPC_UNAUTHENTICATED;
        snprintf(e->message, sizeof e->message,
                 "%s: the manager does not trust this certificate: %s", c->address, refusal);
        return e->code;
    }
    e->code = rc == FAB_E_TIMEOUT ? FAB_GRPC_DEADLINE_EXCEEDED : FAB_GRPC_UNAVAILABLE;
    snprintf(e->message, sizeof e->message, "%s: %s", c->address,
             rc == FAB_E_TIMEOUT  ? "no response in time"
             : rc == FAB_E_FORMAT ? "the server is not fabricd: it does not speak HTTP/2"
                                  : "the connection was lost");
    return e->code;
}

static enum fab_grpc_code outcome(const struct exchange *x, int rc, struct fab_client_error *e)
{
    if (x->failed == FAB_E_NOMEM)
        return fail(e, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    if (x->failed < 0)
        return fail(e, FAB_GRPC_INTERNAL, "the server's reply is malformed or too long");
    if (x->enough)
        return fail(e, FAB_GRPC_OK, "");
    if (rc < 0)
        return no_connection(x->client, rc, e);
    if (x->code >= 0) {
        fail(e, (enum fab_grpc_code)x->code, "");
        fab_grpc_utf8_clean(x->message, strlen(x->message), e->message, sizeof e->message);
        return e->code;
    }
    if (x->http_status > 0 && x->http_status != 200) {
        e->code = FAB_GRPC_UNAVAILABLE;
        snprintf(e->message, sizeof e->message, "%s: the server is not fabricd: HTTP status %d",
                 x->client->address, x->http_status);
        return e->code;
    }
    return fail(e, x->reset == NGHTTP2_REFUSED_STREAM ? FAB_GRPC_UNAVAILABLE : FAB_GRPC_INTERNAL,
                "the server ended the call without a reply");
}

static enum fab_grpc_code call(struct exchange *x, const char *method,
                               const ProtobufCMessage *request, unsigned timeout_ms,
                               struct fab_client_error *e)
{
    uint64_t deadline =
        timeout_ms == 0 ? CLIENT_NEVER : fab_client_now_ms() + timeout_ms + GRACE_MS;
    if (x->client->broken)
        return no_connection(x->client, FAB_E_IO, e);
    x->code = -1;
    fab_grpc_reader_init(&x->reader, MAX_REPLY);
    int rc = pack(x, request);
    if (rc == FAB_OK)
        rc = submit(x, method, timeout_ms);
    if (rc == FAB_OK) {
        rc = run(x, deadline);
        outcome(x, rc, e);
    } else {
        fail(e, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    }
    fab_grpc_reader_fini(&x->reader);
    free(x->request);
    return e->code;
}

/* ---- public functions ------------------------------------------------------------------------ */

enum fab_grpc_code fab_client_call(struct fab_client *c, const char *method,
                                   const ProtobufCMessage *request,
                                   const ProtobufCMessageDescriptor *reply,
                                   ProtobufCMessage **ret_reply, struct fab_client_error *ret_error)
{
    return fab_client_call_in(c, method, request, reply, NULL, ret_reply, ret_error);
}

enum fab_grpc_code fab_client_call_in(struct fab_client *c, const char *method,
                                      const ProtobufCMessage *request,
                                      const ProtobufCMessageDescriptor *reply,
                                      ProtobufCAllocator *memory, ProtobufCMessage **ret_reply,
                                      struct fab_client_error *ret_error)
{
    struct exchange x = {.client = c, .reply = reply, .memory = memory};
    enum fab_grpc_code code = call(&x, method, request, c->timeout_ms, ret_error);
    if (code == FAB_GRPC_OK && x.kept == NULL)
        return fail(ret_error, FAB_GRPC_INTERNAL, "the server sent no reply");
    if (code == FAB_GRPC_OK)
        *ret_reply = x.kept;
    else if (x.kept != NULL)
        protobuf_c_message_free_unpacked(x.kept, memory);
    return code;
}

enum fab_grpc_code fab_client_stream(struct fab_client *c, const char *method,
                                     const ProtobufCMessage *request,
                                     const ProtobufCMessageDescriptor *reply, fab_client_each *each,
                                     void *ctx, struct fab_client_error *ret_error)
{
    struct exchange x = {.client = c, .reply = reply, .each = each, .ctx = ctx};
    return call(&x, method, request, 0, ret_error);
}

static int session_new(nghttp2_session **ret)
{
    nghttp2_session_callbacks *cb = NULL;
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
    };
    if (nghttp2_session_callbacks_new(&cb) != 0)
        return FAB_E_NOMEM;
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    int rc = nghttp2_session_client_new(ret, cb, NULL);
    nghttp2_session_callbacks_del(cb);
    if (rc != 0 || nghttp2_submit_settings(*ret, NGHTTP2_FLAG_NONE, settings, 2) != 0 ||
        nghttp2_session_set_local_window_size(*ret, NGHTTP2_FLAG_NONE, 0, WINDOW) != 0)
        return FAB_E_NOMEM;
    return FAB_OK;
}

enum fab_grpc_code fab_client_open(const struct fab_client_options *options,
                                   struct fab_client **ret, struct fab_client_error *ret_error)
{
    uint64_t deadline =
        options->timeout_ms == 0 ? CLIENT_NEVER : fab_client_now_ms() + options->timeout_ms;
    struct fab_client *c = calloc(1, sizeof *c);
    if (c == NULL)
        return fail(ret_error, FAB_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    c->timeout_ms = options->timeout_ms;
    c->local = options->local;
    if (options->reason != NULL &&
        fab_grpc_percent_encode(options->reason, c->reason, sizeof c->reason) > REASON_MAX) {
        fab_client_close(c);
        return fail(ret_error, FAB_GRPC_INVALID_ARGUMENT,
                    "the reason is too long; a short sentence is expected");
    }
    c->address = strdup(options->address);
    snprintf(ret_error->message, sizeof ret_error->message, "out of memory");
    int rc = c->address == NULL ? FAB_E_NOMEM : session_new(&c->session);
    if (rc == FAB_OK)
        rc = fab_client_socket_open(options, deadline, &c->socket, ret_error->message,
                                    sizeof ret_error->message);
    if (rc < 0) {
        fab_client_close(c);
        ret_error->code = rc == FAB_E_INVAL ? FAB_GRPC_INVALID_ARGUMENT : FAB_GRPC_UNAVAILABLE;
        return ret_error->code;
    }
    ret_error->code = FAB_GRPC_OK;
    ret_error->message[0] = '\0';
    *ret = c;
    return FAB_GRPC_OK;
}

void fab_client_interrupt(struct fab_client *c)
{
    fab_client_socket_interrupt(c->socket);
}

void fab_client_close(struct fab_client *c)
{
    if (c == NULL)
        return;
    nghttp2_session_del(c->session);
    fab_client_socket_close(c->socket);
    free(c->address);
    free(c);
}
