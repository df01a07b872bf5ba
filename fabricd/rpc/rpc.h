/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RPC server: gRPC over HTTP/2 on Unix sockets and TLS. It reads views and passes requests to
 * the subnet manager. It does not send MADs.
 */
#ifndef FABRICD_RPC_RPC_H
#define FABRICD_RPC_RPC_H

#include "fabricd/base/bus.h"
#include "fabricd/base/call_counts.h"
#include "fabricd/base/tls_expiry.h"
#include "fabricd/cc/cc.h"
#include "fabricd/config/config.h"
#include "fabricd/inventory/inventory.h"
#include "fabricd/loop/loop.h"
#include "fabricd/pm/pm.h"
#include "fabricd/policy/policy.h"
#include "fabricd/replica/replica.h"
#include "fabricd/sa/sa.h"
#include "fabricd/sm/sm.h"
#include "fabricd/store/store.h"
#include "libfabmgr/base/text.h"

struct rpc;
struct rpc_input {
    struct loop *loop;
    struct sm *sm;
    const struct pm *pm;
    const struct inventory *inventory; /* NULL: not available */
    struct cc *cc;                     /* congestion control; NULL: not available */
    const struct sa *sa;               /* subnet administration; NULL: not available */
    struct policy *policy;             /* the applied policy; NULL: not available */
    struct bus *bus;
    struct store *store;      /* NULL: nothing is stored */
    struct replica *replica;  /* NULL: the state is not replicated */
    struct counters *history; /* history of counters; NULL: fabricd keeps none */
    const struct config *config;
    /* Path of fabricd.yaml, for backups; NULL: the manager has no such file. */
    const char *settings_file;
    /* counters of calls and studies; NULL: they are not counted */
    struct call_counts *counts;
    /* maximum CPU time of a study in us, set by tests only; 0: the limit in limits.h */
    uint64_t study_cpu_us;
    /* The server writes here the times at which the TLS files expire; NULL: these times are not
     * needed. */
    struct tls_expiry *expiry;
    /* Writes the page of metrics for GetDiagnostics; fabricd/metrics makes this page. NULL: there
     * is no such page. */
    void (*write_metrics)(void *ctx, struct fab_text *to);
    void *metrics_ctx;
    /* The simulated fabric in this process, for SimService. NULL: the server does not offer
     * SimService. */
    struct fab_sim *sim;
    struct transport *sim_transport;
};
/* Listens at all addresses of the configuration. Returns INVAL, DENIED (every user can read or
 * write the TLS key), EXISTS (another process serves an address), IO or NOMEM. why[] says which
 * address failed and what to do. */
int rpc_start(const struct rpc_input *in, struct rpc **ret, char *why, size_t why_len);
/* Reads the files of the TLS settings again. New connections use the new contents. Closes the open
 * connections of clients whose certificates are no longer accepted. On an error nothing changes,
 * and why[] names the file. Does nothing if no address uses TLS. Returns OK, INVAL, DENIED or
 * NOMEM. */
int rpc_reload_tls(struct rpc *r, const struct config_tls *tls, char *why, size_t why_len);
/* Refuses the calls in progress whose callers no longer have the role that these calls need. Called
 * when the setting rpc.roles may have changed. */
void rpc_reload_roles(struct rpc *r);
void rpc_stop(struct rpc *r); /* `r` may be NULL */

#endif
