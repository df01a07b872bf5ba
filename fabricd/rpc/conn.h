/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of clients. Each has a socket (a Unix socket, or TLS) and one gRPC connection. */
#ifndef FABRICD_RPC_CONN_H
#define FABRICD_RPC_CONN_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "fabricd/base/call_counts.h"
#include "fabricd/loop/loop.h"
#include "fabricd/rpc/call.h"

struct audit;
struct majority;
/* All connections of a server. */
struct conn_set;
struct conn_set_input {
    struct loop *loop;
    const struct service *const *services; /* table of services, NULL-terminated */
    void *context;                         /* value that call_context returns to the services */
    /* gets the calls that must be recorded; NULL: no call is recorded */
    struct audit *audit;
    /* holds decisions until a majority has confirmed them; NULL: decisions do not wait */
    struct majority *majority;
    /* counts of the clients that met a limit; NULL: they are not counted */
    struct call_counts *counts;
};
/* Creates an empty set of connections. Returns NOMEM. */
int conn_set_new(const struct conn_set_input *in, struct conn_set **ret);
void conn_set_free(struct conn_set *set); /* closes all connections; `set` may be NULL */

/* The next functions take over the nonblocking socket fd as a new connection. There are three
 * limits: RPC_MAX_CONNECTIONS connections of local clients, as many of network clients, and
 * RPC_MAX_HANDSHAKES connections whose handshakes are not complete. If the new connection exceeds a
 * limit, the client with the most connections of this kind loses one: first one whose handshakes
 * are not complete, then the one that has been idle longest, then the oldest. If this is the client
 * of the new connection, and all other connections of this client have calls or unsent answers, the
 * new connection is closed.
 * `peer`: the IPv4 address of the client, or the first 64 bits of its IPv6 address, because a
 * single host may have all IPv6 addresses with the same 64 bits. */
void conn_accept_unix(struct conn_set *set, int fd);
void conn_accept_tls(struct conn_set *set, int fd, uint64_t peer); /* call conn_set_use first */

/* Counts and logs a client that met a limit before it had a connection. `who` is the name of the
 * client for the log. */
void conn_set_note(struct conn_set *set, enum call_limit limit, const char *who);

/* Closes a connection without calls, to free a descriptor. Prefers network connections, and never
 * closes the newest connection. Returns false if there is no such connection. */
bool conn_set_make_room(struct conn_set *set);

/* Sets the TLS context of new connections. The context must be valid until the next call of
 * conn_set_use or conn_set_free. Closes open connections whose client certificates the new context
 * does not accept. The first call starts the thread of the TLS handshakes; only the first call can
 * return NOMEM. */
int conn_set_use(struct conn_set *set, SSL_CTX *ssl_ctx);

/* Refuses those calls in progress that their callers may no longer make (grpc_review). */
void conn_set_review(struct conn_set *set);

#endif
