/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes TLS handshakes on a separate thread. A handshake takes up to 1 ms of CPU time; while many
 * clients connect, this would delay the event loop too much.
 *
 * The connections (conn.c) limit the number of pending handshakes and their duration.
 */
#ifndef FABRICD_RPC_HANDSHAKE_H
#define FABRICD_RPC_HANDSHAKE_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "fabricd/loop/loop.h"
#include "fabricd/rpc/caller.h"

/* the handshake thread, and all its handshakes */
struct handshakes;
/* a pending handshake */
struct handshake;

struct handshake_result {
    /* false: the handshake failed */
    bool complete;
    /* The connection `fd` and its TLS state `ssl`. If the handshake is complete, the receiver of
     * the result owns both. */
    int fd;
    SSL *ssl;
    /* The client. If its certificate was refused, this is the result of caller_refused. NULL: the
     * handshake failed for another reason, or memory ran out. */
    struct caller *caller;
    /* after a failure, OpenSSL's code of the reason; 0: the client closed the connection */
    unsigned long error;
};
typedef void handshake_done(void *ctx, const struct handshake_result *r);

/* Starts the thread. Returns NOMEM, even if the reason is that no thread can be created. */
int handshakes_new(struct loop *loop, struct handshakes **ret);
/* Stops the thread, and closes the connections of all handshakes whose results the loop thread has
 * not taken. `h` may be NULL. */
void handshakes_free(struct handshakes *h);

struct handshake_input {
    int fd; /* a connected nonblocking socket */
    SSL_CTX *context;
    /* true: the thread continues this handshake before those that are not urgent */
    bool urgent;
    handshake_done *done;
    void *ctx;
};
/* Begins the handshake of a client, and takes over its socket. When the handshake is complete or
 * has failed, `done` is called on the loop thread; from then on, *ret is not valid. If the function
 * returns NOMEM, it has closed the socket. */
int handshake_begin(struct handshakes *h, const struct handshake_input *in, struct handshake **ret);
/* Ends a handshake and closes its connection, without a call of `done`. `h` may be NULL. */
void handshake_cancel(struct handshake *h);

#endif
