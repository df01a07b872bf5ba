/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One HTTP/2 connection, the server's side: bytes in, bytes out, streams between. No socket and no
 * clock. Knows of gRPC only which request headers are worth keeping.
 */
#ifndef FABRICD_RPC_H2_H
#define FABRICD_RPC_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct h2;

/* Request headers; what is longer than its place is kept as "?". */
struct h2_request {
    char method[16], path[160], content_type[64], timeout[16], encoding[32];
};

struct h2_chunk;
struct h2_stream {
    struct h2 *h2;
    int32_t id;
    struct h2_request request;
    size_t header_bytes;
    void *user; /* of the layer above */
    /* private */
    LIST_ENTRY(h2_stream) entry;
    struct h2_chunk *first, **last; /* what is to be sent */
    bool responded, finished, ended, deferred, told;
    int code;
    char *message; /* percent-encoded, for the trailers */
};

/* What the layer above does; ctx is that of h2_new. None may free the h2. */
struct h2_ops {
    void (*open)(void *ctx, struct h2_stream *s); /* the headers are there */
    void (*data)(void *ctx, struct h2_stream *s, const uint8_t *data, size_t len);
    void (*end)(void *ctx, struct h2_stream *s);   /* the client has sent everything */
    void (*drain)(void *ctx, struct h2_stream *s); /* all written was taken: write more? */
    void (*close)(void *ctx, struct h2_stream *s); /* gone; forget it. Only after open. */
};

int h2_new(const struct h2_ops *ops, void *ctx, struct h2 **ret);
void h2_free(struct h2 *h); /* closes every stream first; NULL is fine */

/* Negative: the connection is beyond use; send what h2_produce still gives, then hang up. */
int h2_receive(struct h2 *h, const uint8_t *data, size_t len);
/* The next bytes to send, valid until the next call; 0: none now. Negative: hang up. */
ssize_t h2_produce(struct h2 *h, const uint8_t **ret_data);
bool h2_done(const struct h2 *h); /* both sides have said all: hang up */
void h2_shut(struct h2 *h);       /* no new streams; h2_done when the others have ended */

bool h2_ready(const struct h2 *h);     /* the client's preface and settings came */
size_t h2_streams(const struct h2 *h); /* open ones */
size_t h2_queued(const struct h2 *h);  /* bytes written to streams and not yet produced */

/* Answers. Headers go with the first write, or together with the trailers if there is none. */
int h2_write(struct h2_stream *s, uint8_t *data, size_t len); /* takes data (malloc'd) over */
/* Sends the headers now, before there is anything to write. */
int h2_start(struct h2_stream *s);
/* There is more to write: drain will be called. */
void h2_resume(struct h2_stream *s);
/* Ends the stream with grpc-status and grpc-message (NULL: none) after what was written. */
int h2_finish(struct h2_stream *s, int code, const char *message);
/* Answers with a bare HTTP status and no gRPC trailers. */
int h2_refuse(struct h2_stream *s, int http_status);

#endif
