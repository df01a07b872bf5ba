/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One HTTP/2 connection, server side, with its streams. It has no socket and no clock: the caller
 * passes received bytes, and fetches the bytes to send. Of gRPC it only knows the request headers
 * to keep and the trailers to send.
 */
#ifndef FABRICD_RPC_H2_H
#define FABRICD_RPC_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct h2;

/* Request headers. A value that is too long for its field is replaced by "?". */
struct h2_request {
    char method[16], path[160], content_type[64], timeout[16], encoding[32];
};

struct h2_chunk;
struct h2_stream {
    struct h2 *h2;
    int32_t id;
    struct h2_request request;
    size_t header_bytes;
    void *user; /* data of the layer above (grpc.c) */
    /* private */
    LIST_ENTRY(h2_stream) entry;
    struct h2_chunk *first, **last; /* queue of chunks that were written and not sent yet */
    bool responded, finished, ended, deferred, told;
    int code;
    char *message; /* grpc-message, percent-encoded for the trailers */
};

/* Callbacks of the layer above; ctx is that of h2_new. None may free the h2. */
struct h2_ops {
    void (*open)(void *ctx, struct h2_stream *s); /* the request headers arrived */
    void (*data)(void *ctx, struct h2_stream *s, const uint8_t *data, size_t len);
    void (*end)(void *ctx, struct h2_stream *s); /* the client has sent everything */
    void (*drain)(void *ctx,
                  struct h2_stream *s); /* all written bytes were sent; more may be written */
    /* Called only after `open`. h2.c frees the stream when this function has returned. */
    void (*close)(void *ctx, struct h2_stream *s);
};

/* Creates the server side of a connection. NOMEM. */
int h2_new(const struct h2_ops *ops, void *ctx, struct h2 **ret);
void h2_free(struct h2 *h); /* closes every stream first; accepts NULL */

/* Handles received bytes. FORMAT: protocol error; the caller must send the bytes that h2_produce
 * still returns, then close the connection. */
int h2_receive(struct h2 *h, const uint8_t *data, size_t len);
/* Returns the number of the next bytes to send, which are valid until the next call; 0: none now.
 * NOMEM: the caller must close the connection. */
ssize_t h2_produce(struct h2 *h, const uint8_t **ret_data);
bool h2_done(const struct h2 *h); /* no more bytes will follow; the connection can be closed */
/* Refuses new streams. h2_done returns true once the open streams have ended. */
void h2_shut(struct h2 *h);

bool h2_ready(const struct h2 *h);     /* the client's preface and settings have arrived */
size_t h2_streams(const struct h2 *h); /* number of open streams */
size_t h2_queued(const struct h2 *h);  /* bytes written to streams and not yet produced */

/* ---- answers ---- */

/* Writes data. The response headers are sent with the first write, or with the trailers if nothing
 * is written. */
int h2_write(struct h2_stream *s, uint8_t *data,
             size_t len); /* takes over data (malloc'd); NOMEM, INVAL (after h2_finish) */
/* Sends the headers now, before there is anything to write. NOMEM. */
int h2_start(struct h2_stream *s);
/* Tells the connection that the layer above has more to write. The connection then calls `drain`.
 */
void h2_resume(struct h2_stream *s);
/* Ends the stream, after all written data, with grpc-status and grpc-message (NULL: none). NOMEM.
 */
int h2_finish(struct h2_stream *s, int code, const char *message);
/* Answers with an HTTP status only, without gRPC trailers. NOMEM. */
int h2_refuse(struct h2_stream *s, int http_status);

#endif
