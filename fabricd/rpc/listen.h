/* SPDX-License-Identifier: BSD-3-Clause */
/* Listening sockets: Unix sockets and TLS addresses. Plain TCP is not supported. */
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
    /* name of the group that owns the files of Unix sockets; NULL or unknown: the group of the
     * process */
    const char *group;
};
/* Listens at an address. Replaces the file of a Unix socket on which no process answers. Returns
 * EXISTS (another process answers on the socket, or the file is not a socket), INVAL, IO or NOMEM.
 * why[] says what failed and what to do. */
int listen_open(const struct listen_input *in, const struct config_listen *at,
                struct listener **ret, char *why, size_t why_len);
/* stops listening, and removes the file of a Unix socket; `l` may be NULL */
void listen_close(struct listener *l);

#endif
