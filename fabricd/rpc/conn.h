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
/* All connections of a server. */
struct conn_set;
struct conn_set_input {
    struct loop *loop;
    const struct service *const *services; /* table of services, NULL-terminated */
    void *context;                         /* value that call_context returns to the services */
    struct audit *audit;        /* gets the calls that are to be recorded; NULL: none are */
    struct call_counts *counts; /* clients that meet a limit are counted here; NULL: they are not */
};
/* Creates an empty set of connections. Returns NOMEM. */
int conn_set_new(const struct conn_set_input *in, struct conn_set **ret);
void conn_set_free(struct conn_set *set); /* closes all connections; set may be NULL */

/* The next functions take over the nonblocking socket fd as a new connection. At most
 * RPC_MAX_CONNECTIONS local clients are connected, as many network clients, and RPC_MAX_HANDSHAKES
 * that have not completed their handshakes. If one more connects, the client with most of these
 * connections loses one: one whose handshakes are not complete, the one that has been idle for the
 * longest time, or the oldest. If all other connections of the newcomer's own client have calls,
 * the newcomer is closed. peer: the IPv4 address of the client, or the first 64 bits of its IPv6
 * address, since a single host may have all addresses with the same 64 bits. */
void conn_accept_unix(struct conn_set *set, int fd);
void conn_accept_tls(struct conn_set *set, int fd, uint64_t peer); /* after conn_set_use */

/* Notes a client that met a limit before it had a connection. */
void conn_set_note(struct conn_set *set, enum call_limit limit, const char *who);

/* Closes a connection that has no calls, to free a descriptor; never the newest connection. Network
 * clients go first. Returns false if there is none. */
bool conn_set_make_room(struct conn_set *set);

/* New TLS connections use this context, which must be valid until the next call of conn_set_use or
 * conn_set_free. Open connections whose client certificate it does not accept are closed. The first
 * call starts the thread of the TLS handshakes. Returns NOMEM, only at the first call. */
int conn_set_use(struct conn_set *set, SSL_CTX *ssl_ctx);

/* Refuses the calls in progress that their callers may no longer make (grpc_review). */
void conn_set_review(struct conn_set *set);

#endif
