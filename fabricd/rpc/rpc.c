/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts and stops the RPC server: services, connections and listeners.
 */
#include "fabricd/rpc/rpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/rpc/audit.h"
#include "fabricd/rpc/expiry.h"
#include "fabricd/rpc/follower.h"
#include "fabricd/rpc/health.h"
#include "fabricd/rpc/journal.h"
#include "fabricd/rpc/majority.h"
#include "fabricd/rpc/server.h"
#include "fabricd/rpc/study.h"
#include "fabricd/rpc/tls.h"
#include "fabricd/store/replicated.h"
#include "libfabmgr/base/status.h"

static void list_services(struct rpc *r)
{
    size_t n = 0;
    r->services[n++] = &service_fabric;
    r->services[n++] = &service_health;
    r->services[n++] = &service_reflection;
    r->services[n++] = &service_reflection_alpha;
    if (r->in.sim != NULL)
        r->services[n++] = &service_sim;
    r->services[n] = NULL;
    access_table_fill(&r->access, r->services);
}

static void on_event(void *ctx)
{
    struct rpc *r = ctx;
    bool wanted = !LIST_EMPTY(&r->followers) || !LIST_EMPTY(&r->health_watches);
    if (wanted && !loop_timer_pending(r->turn))
        loop_timer_set(r->turn, 0);
}

static void on_turn(void *ctx)
{
    followers_turn(ctx);
    health_turn(ctx);
}

static bool needs_tls(const struct config *c)
{
    for (size_t i = 0; i < c->listen_count; i++)
        if (c->listen[i].kind == CONFIG_LISTEN_TLS)
            return true;
    return false;
}

static int read_tls(const struct config_tls *tls, SSL_CTX **ret, char *why, size_t why_len)
{
    const struct tls_files files = {tls->cert, tls->key, tls->ca, tls->crl};
    return tls_context_new(&files, ret, why, why_len);
}

static int watch_expiry(struct rpc *r, SSL_CTX *ctx, const struct config_tls *tls)
{
    struct tls_expiry times;
    tls_expiry_of(ctx, &times);
    return expiry_set(r->expiry, &times, tls);
}

int rpc_reload_tls(struct rpc *r, const struct config_tls *tls, char *why, size_t why_len)
{
    SSL_CTX *ctx = NULL;
    if (r->ssl_ctx == NULL)
        return FAB_OK; /* no address uses TLS, so the TLS settings are not needed */
    int rc = read_tls(tls, &ctx, why, why_len);
    if (rc != FAB_OK)
        return rc;
    if (watch_expiry(r, ctx, tls) != FAB_OK) {
        SSL_CTX_free(ctx);
        snprintf(why, why_len, "out of memory");
        return FAB_E_NOMEM;
    }
    rc = conn_set_use(r->conns, ctx);
    /* the context is freed when the last open connection and pending handshake that use it have
     * ended */
    SSL_CTX_free(r->ssl_ctx);
    r->ssl_ctx = ctx;
    return rc;
}

void rpc_reload_roles(struct rpc *r)
{
    conn_set_review(r->conns);
}

static int open_listeners(struct rpc *r, char *why, size_t why_len)
{
    const struct config *c = r->in.config;
    int rc = needs_tls(c) ? read_tls(&c->tls, &r->ssl_ctx, why, why_len) : FAB_OK;
    if (rc == FAB_OK && r->ssl_ctx != NULL)
        rc = watch_expiry(r, r->ssl_ctx, &c->tls);
    if (rc == FAB_OK && r->ssl_ctx != NULL)
        rc = conn_set_use(r->conns, r->ssl_ctx);
    const struct listen_input in = {r->in.loop, r->conns, c->socket_group};
    for (size_t i = 0; i < c->listen_count && rc == FAB_OK; i++) {
        rc = listen_open(&in, &c->listen[i], &r->listeners[r->listener_count], why, why_len);
        r->listener_count += rc == FAB_OK;
        if (rc == FAB_OK)
            log_info("rpc", "listening on %s", c->listen[i].text);
    }
    return rc;
}

static void name_journal(struct rpc *r)
{
    struct sm_ha_status s;
    uint64_t number = r->in.store != NULL ? store_instance(r->in.store) : 0;
    if (number == 0)
        return;
    sm_get_ha_status(r->in.sm, &s);
    snprintf(r->journal_name, sizeof r->journal_name, "%016" PRIx64 "-%016" PRIx64, number, s.guid);
}

int rpc_start(const struct rpc_input *in, struct rpc **ret, char *why, size_t why_len)
{
    snprintf(why, why_len, "out of memory");
    struct rpc *r = calloc(1, sizeof *r);
    if (r == NULL)
        return FAB_E_NOMEM;
    r->in = *in;
    LIST_INIT(&r->followers);
    LIST_INIT(&r->health_watches);
    list_services(r);
    int rc = FAB_E_NOMEM;
    r->turn = loop_timer_new(in->loop, on_turn, r);
    r->listeners = calloc(in->config->listen_count + 1, sizeof *r->listeners);
    if (r->turn != NULL && r->listeners != NULL)
        rc = journal_new(in->bus, on_event, r, &r->journal);
    name_journal(r);
    if (rc == FAB_OK)
        rc = studies_new(r, &r->studies);
    if (rc == FAB_OK)
        rc = audit_new(in->loop, in->store, &r->audit);
    if (rc == FAB_OK)
        rc = expiry_new(in->loop, in->bus, in->expiry, &r->expiry);
    if (rc == FAB_OK)
        rc = majority_new(in->loop, in->replica, in->sm, &r->majority);
    if (rc == FAB_OK)
        rc = conn_set_new(
            &(struct conn_set_input){in->loop, r->services, r, r->audit, r->majority, in->counts},
            &r->conns);
    if (rc == FAB_OK)
        rc = open_listeners(r, why, why_len);
    if (rc < 0) {
        rpc_stop(r);
        return rc;
    }
    *ret = r;
    return FAB_OK;
}

void rpc_stop(struct rpc *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->listener_count; i++)
        listen_close(r->listeners[i]);
    free(r->listeners);
    conn_set_free(r->conns);
    studies_free(r->studies);
    backup_end(r);
    hosts_end(&r->hosts);
    expiry_free(r->expiry);
    audit_free(r->audit);
    majority_free(r->majority);
    journal_free(r->journal);
    loop_timer_free(r->turn);
    SSL_CTX_free(r->ssl_ctx);
    free(r);
}
