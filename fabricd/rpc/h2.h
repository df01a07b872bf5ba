/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server side of one HTTP/2 connection, with its streams. This code uses neither a socket nor a
 * clock: its caller passes received bytes and fetches the bytes to be sent. Only the request
 * headers that this code keeps and the trailers that it sends are specific to gRPC.
 */
#ifndef FABRICD_RPC_H2_H
#define FABRICD_RPC_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "fabricd/rpc/limits.h"

struct h2;

/* Request headers. A value that is too long for its field is replaced by "?". */
struct h2_request {
    char method[16], path[160], content_type[64], timeout[16], encoding[32];
    char reason[RPC_MAX_REASON + 1]; /* value of the header fabric-reason */
    char local[8];                   /* value of the header fabric-local */
};

struct h2_chunk;
struct h2_stream {
    struct h2 *h2;
    int32_t id;
    struct h2_request request;
    size_t header_bytes;
    void *user; /* data of the layer above (grpc.c) */
    /* the members from here on are only for h2.c */
    LIST_ENTRY(h2_stream) entry;
    /* queue of written chunks of data that are not sent yet */
    struct h2_chunk *first, **last;
    bool responded, finished, ended, deferred, told;
    int code;
    char *message; /* text of grpc-message, percent-encoded */
};

/* Callbacks to the gRPC layer. They get the `ctx` that was passed to h2_new, and must not free the
 * struct h2. */
struct h2_ops {
    void (*open)(void *ctx, struct h2_stream *s); /* the request headers arrived */
    void (*data)(void *ctx, struct h2_stream *s, const uint8_t *data, size_t len);
    void (*end)(void *ctx, struct h2_stream *s); /* the client has sent all its data */
    /* called when all written bytes have been sent; more bytes may then be written */
    void (*drain)(void *ctx, struct h2_stream *s);
    /* called when a stream ends for which `open` was called; h2.c then frees the stream */
    void (*close)(void *ctx, struct h2_stream *s);
};

/* Creates the server side of a connection. Returns NOMEM. */
int h2_new(const struct h2_ops *ops, void *ctx, struct h2 **ret);
/* closes every stream, and frees `h`, which may be NULL */
void h2_free(struct h2 *h);

/* Handles received bytes. Returns FORMAT after a protocol error, or LIMIT if the client has used up
 * its budget of frames (limits.h). After an error, the caller must still send the bytes that
 * h2_produce returns, and then close the connection. */
int h2_receive(struct h2 *h, const uint8_t *data, size_t len, uint64_t now_us);
/* Returns the number of bytes to send next; *ret_data points to these bytes until the next call.
 * Returns 0 if nothing is to be sent now. Returns NOMEM if memory ran out; the caller must then
 * close the connection. */
ssize_t h2_produce(struct h2 *h, const uint8_t **ret_data);
/* Returns true if no more bytes will be sent or received; the caller can then close the
 * connection. */
bool h2_done(const struct h2 *h);
/* Refuses new streams. When the open streams have ended, h2_done returns true. */
void h2_shut(struct h2 *h);

/* Returns true if the client's connection preface and settings have arrived. */
bool h2_ready(const struct h2 *h);
/* Returns the time by which the headers of a request must be complete; UINT64_MAX: no request has
 * incomplete headers. */
uint64_t h2_headers_until(const struct h2 *h);
size_t h2_streams(const struct h2 *h); /* returns the number of open streams */
/* Returns the number of bytes that were written to streams and not yet fetched by h2_produce. */
size_t h2_queued(const struct h2 *h);

/* ---- answers ---- */

/* Writes data to a stream. The response headers are sent with the first write or, if nothing is
 * written, with the trailers. Takes over `data`, which is from malloc. Returns NOMEM, or INVAL
 * after h2_finish. */
int h2_write(struct h2_stream *s, uint8_t *data, size_t len);
/* Sends the response headers now, before any data. Returns NOMEM. */
int h2_start(struct h2_stream *s);
/* Tells the stream that the gRPC layer has more data to write. The stream calls `drain` when it can
 * take this data. */
void h2_resume(struct h2_stream *s);
/* Ends the stream after all written data, with the trailers grpc-status and grpc-message (message
 * NULL: no grpc-message). Returns NOMEM. */
int h2_finish(struct h2_stream *s, int code, const char *message);
/* Answers with an HTTP status and without gRPC trailers. Returns NOMEM. */
int h2_refuse(struct h2_stream *s, int http_status);

#endif
