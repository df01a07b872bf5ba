/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners: Unix sockets and TLS addresses, never plain TCP. */
#ifndef FABRICD_RPC_LISTEN_H
#define FABRICD_RPC_LISTEN_H

#include <stddef.h>

#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/rpc/conn.h"

struct listener;
struct listen_input {
    struct loop *loop;
    struct conn_set *conns;
    const char *group; /* owner of Unix sockets; NULL or unknown: the group of the process */
    SSL_CTX *ssl_ctx;  /* for "tls:" addresses */
};
/* Replaces a Unix socket file on which no process answers. EXISTS: another process answers on it;
 * INVAL; IO; NOMEM. why[] says what failed and what to do. */
int listen_open(const struct listen_input *in, const struct config_listen *at,
                struct listener **ret, char *why, size_t why_len);
void listen_close(struct listener *l); /* removes its socket file; accepts NULL */

#endif
