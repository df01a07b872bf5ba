/* SPDX-License-Identifier: BSD-3-Clause */
/* Where clients come in: Unix sockets and TLS addresses. Never plain TCP. */
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
    const char *group; /* of Unix sockets; NULL or unknown: the process's own */
    SSL_CTX *ssl_ctx;  /* for tls: addresses */
};
/* A socket file that nobody answers on is replaced. why[]: what failed and how to mend it. INVAL,
 * EXISTS (somebody answers), IO. */
int listen_open(const struct listen_input *in, const struct config_listen *at,
                struct listener **ret, char *why, size_t why_len);
void listen_close(struct listener *l); /* removes its socket file; NULL is fine */

#endif
