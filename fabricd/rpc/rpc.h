/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RPC server: gRPC over HTTP/2 on Unix sockets and TLS. It reads views and passes requests to
 * the subnet manager. It sends no MADs itself.
 */
#ifndef FABRICD_RPC_RPC_H
#define FABRICD_RPC_RPC_H

#include "fabricd/base/bus.h"
#include "fabricd/cc/cc.h"
#include "fabricd/config/config.h"
#include "fabricd/loop/loop.h"
#include "fabricd/pm/pm.h"
#include "fabricd/sa/sa.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/store.h"

struct rpc;
struct rpc_input {
    struct loop *loop;
    struct sm *sm;
    const struct pm *pm;
    struct cc *cc;       /* may be NULL */
    const struct sa *sa; /* may be NULL */
    struct bus *bus;
    struct store *store; /* may be NULL */
    const struct config *config;
    /* The embedded simulated fabric, for SimService; NULL: the server does not offer SimService. */
    struct fab_sim *sim;
    struct transport *sim_transport;
};
/* Listens on all addresses of the config. INVAL; EXISTS: another process serves an address; IO;
 * NOMEM. why[] says which address failed and what to do. */
int rpc_start(const struct rpc_input *in, struct rpc **ret, char *why, size_t why_len);
void rpc_stop(struct rpc *r); /* accepts NULL */

#endif
